"""Generates the logs of a cluster: many groups' coordinators, simulated into the files that a broker writes.

    python bench/fencing/generate.py FOLDER [commits] [groups] [members] [release] [seed]

``FOLDER`` gets ``fencepost.toml``, ``broker-1/log_dir`` (segments of ``__consumer_offsets`` and of the
metadata log), ``broker-1/kafka-request.log`` and ``ground_truth.parquet``: per request and partition the
broker's answer, the owner of the partition, and the answer of every policy, as the coordinator knew them at
that time.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from random import Random

import encoding
import pyarrow as pa
import pyarrow.parquet as pq
from coordinator import POLICIES, RELEASES, Group, Release
from crowd import Crowd, CrowdedGroup
from encoding import Record, uuid_text
from walk import Clients, Decided, Mix

OFFSETS_PARTITIONS = 50
START_MS = 1_795_132_800_000
SPREAD_MS = 600_000
_HEARTBEAT_MS, _NO_OP_MS = 2_000, 500
"""How often a broker sends a heartbeat, and an idle controller writes a record (KIP-835)."""
SEGMENT_BYTES = 4 << 20


@dataclass(frozen=True)
class Size:
    """How much to generate: ``commits`` counts requests, ``coordinators`` partitions with groups,
    ``partitions`` those of each of the ``topics``. ``crowd``: so many members that not all of them act
    between two changes of their group (crowd.Crowd).
    """

    commits: int = 200_000
    groups: int = 1_000
    members: int = 10_000
    coordinators: int = 8
    topics: int = 40
    partitions: int = 10
    crowd: bool = False


@dataclass(frozen=True)
class Generated:
    """The numbers of generated requests and their partitions, of the group's records, and of the kinds of
    commits.
    """

    requests: int
    commits: int
    members: int
    records: int
    bytes: int
    kinds: Counter[str]

    @property
    def interesting(self) -> float:
        """The share of commits that were not an owner's, or were refused."""
        return 1 - self.kinds["owner, NONE"] / self.commits


def generate(
    folder: Path,
    size: Size,
    *,
    seed: int = 1,
    release: str = "4.3",
    name: str = "generated",
    mix: Mix | None = None,
) -> Generated:
    """Write the files of a cluster into ``folder``; the same seed gives the same bytes."""
    rng = Random(seed)
    topics = [(f"events.{number:02}", rng.randbytes(16)) for number in range(size.topics)]
    homes = frozenset(rng.sample(range(OFFSETS_PARTITIONS), size.coordinators))
    logs: dict[int, list[tuple[int, list[Record]]]] = {home: [] for home in homes}
    decided: list[Decided] = []
    members = 0
    group_class, walk = (CrowdedGroup, Crowd) if size.crowd else (Group, Clients)
    for index, group_name in enumerate(_group_names(size.groups, homes)):
        own = Random(f"{seed} {index}")
        subscribed = {topic: (raw, size.partitions) for topic, raw in own.sample(topics, 2)}
        group = group_class(group_name, subscribed, RELEASES[release], own)
        many = _share(size.members, size.groups, index)
        clients = walk(group, many, START_MS + 60_000 + own.randrange(SPREAD_MS), own, mix or Mix())
        written = clients.run(_share(size.commits, size.groups, index))
        logs[coordinator_of(group_name)] += written.batches
        decided += written.decided
        members += clients.named
    log_dir = folder / "broker-1" / "log_dir"
    log_dir.mkdir(parents=True)
    offsets_id, disk = rng.randbytes(16), rng.randbytes(16)
    ends = {home: _write_partition(log_dir, home, log, offsets_id) for home, log in logs.items()}
    _close(log_dir, ends)
    counts = {name: (raw, size.partitions) for name, raw in topics}
    counts["__consumer_offsets"] = (offsets_id, OFFSETS_PARTITIONS)
    decided.sort(key=lambda each: each.done_ms)
    idle_from = _write_metadata(log_dir, RELEASES[release], counts, disk, rng, until_ms=decided[-1].done_ms)
    _write_requests(folder / "broker-1" / "kafka-request.log", decided, dict(topics), idle_from)
    _write_truth(folder / "ground_truth.parquet", decided)
    (folder / "fencepost.toml").write_text(_CONFIGURATION.format(name=name))
    kinds = Counter(f"{part.truth}, {each.error_name}" for each in decided for part in each.parts)
    written_bytes = sum(file.stat().st_size for file in log_dir.rglob("*.log"))
    return Generated(len(decided), kinds.total(), members, sum(ends.values()), written_bytes, kinds)


_CONFIGURATION = """\
[[clusters]]
name = "{name}"

[[clusters.brokers]]
id = 1
log_dirs = ["broker-1/log_dir"]
request_logs = ["broker-1/kafka-request.log*"]
timezone = "UTC"
"""


@cache
def coordinator_of(group: str) -> int:
    """The partition of __consumer_offsets with the records of a group: Java's hash of its (plain) name."""
    code = 0
    for letter in group:
        code = (code * 31 + ord(letter)) & 0xFFFFFFFF
    signed = code - (1 << 32) if code >= 1 << 31 else code
    return abs(signed) % OFFSETS_PARTITIONS


def _share(total: int, parts: int, index: int) -> int:
    return total // parts + (index < total % parts)


def _group_names(count: int, homes: frozenset[int]) -> Iterator[str]:
    """Names of groups whose records are in these partitions."""
    number = 0
    while count:
        name = f"service-{number:05}"
        if coordinator_of(name) in homes:
            count -= 1
            yield name
        number += 1


# --- segments ----------------------------------------------------------------------------------------------


def _write_partition(log_dir: Path, number: int, log: list[tuple[int, list[Record]]], topic_id: bytes) -> int:
    """Write the batches of all groups in the order of time; returns the number of records."""
    log.sort(key=lambda each: each[0])
    folder = _partition_folder(log_dir, f"__consumer_offsets-{number}", topic_id)
    batches = ((len(records), encoding.batch(records, at, sequence=0)) for at, records in log)
    return _write_segments(folder, batches)


def _write_segments(folder: Path, batches: Iterable[tuple[int, bytes]]) -> int:
    offset, segment = 0, bytearray()
    base = 0
    for count, data in batches:
        if segment and len(segment) + len(data) > SEGMENT_BYTES:
            (folder / f"{base:020}.log").write_bytes(segment)
            base, segment = offset, bytearray()
        segment += encoding.placed(offset, data)
        offset += count
    (folder / f"{base:020}.log").write_bytes(segment)
    return offset


def _close(log_dir: Path, ends: Mapping[int, int]) -> None:
    """Write what a broker leaves that is shut down: nothing follows the ends of these partitions of
    __consumer_offsets.
    """
    entries = [f"__consumer_offsets {number} {end}" for number, end in sorted(ends.items())]
    text = "\n".join(["0", str(len(entries)), *entries, ""])
    (log_dir / "recovery-point-offset-checkpoint").write_text(text)
    (log_dir / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":3}')


def _partition_folder(log_dir: Path, name: str, topic_id: bytes) -> Path:
    folder = log_dir / name
    folder.mkdir()
    (folder / "partition.metadata").write_text(f"version: 0\ntopic_id: {uuid_text(topic_id)}")
    (folder / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    return folder


def _write_metadata(
    log_dir: Path,
    release: Release,
    topics: dict[str, tuple[bytes, int]],
    disk: bytes,
    rng: Random,
    *,
    until_ms: int,
) -> int:
    """Write the metadata log of a node that is broker and controller, and the other files of its log
    directory. Returns the offset from which on nothing happens.
    """
    batches = [
        encoding.batch([encoding.leader_change()], START_MS, control=True),
        encoding.batch(
            [
                encoding.feature_level("metadata.version", release.metadata_version),
                encoding.feature_level("group.version", 1),
            ],
            START_MS + 1,
        ),
        encoding.batch(
            [
                encoding.register_broker(
                    release.registration_version, rng.randbytes(16), 3, release.metadata_version, disk
                )
            ],
            START_MS + 2,
        ),
    ]
    counts = [1, 2, 1]
    for name, (topic_id, size) in topics.items():
        records = [encoding.topic(name, topic_id)]
        records += [encoding.partition(topic_id, number, disk) for number in range(size)]
        batches.append(encoding.batch(records, START_MS + 3))
        counts.append(len(records))
    idle_from = sum(counts)
    for at in range(START_MS + _NO_OP_MS, until_ms + _NO_OP_MS, _NO_OP_MS):
        batches.append(encoding.batch([encoding.no_op()], at))
        counts.append(1)
    metadata_id = b"\0" * 15 + b"\1"
    folder = _partition_folder(log_dir, "__cluster_metadata-0", metadata_id)
    _write_segments(folder, zip(counts, batches, strict=True))
    (log_dir / "meta.properties").write_text(
        f"#\nnode.id=1\ndirectory.id={uuid_text(disk)}\nversion=1\ncluster.id={uuid_text(rng.randbytes(16))}\n"
    )
    return idle_from


# --- request log -------------------------------------------------------------------------------------------

_LINE = (
    "[{stamp}] DEBUG Completed request:{{"
    '"isForwarded":false,"requestHeader":{{"requestApiKey":{api_key},"requestApiVersion":{version},'
    '"correlationId":{correlation},"clientId":{client},"requestApiKeyName":"{api_name}"}},'
    '"request":{request},"response":{response},'
    '"connection":"127.0.0.1:{listens}-127.0.0.1:{port}-0-{connection}","totalTimeMs":{took},"requestQueueTimeMs":0.1,'
    '"localTimeMs":{local},"remoteTimeMs":0.0,"throttleTimeMs":0,"responseQueueTimeMs":0.05,"sendTimeMs":0.1,'
    '"securityProtocol":"PLAINTEXT","principal":"User:ANONYMOUS","listener":"{listener}",'
    '"clientInformation":{{"softwareName":"apache-kafka-java","softwareVersion":"{software}"}}}}'
    " (kafka.request.logger)\n"
)
_COMMIT = (
    '{{"groupId":{group},"generationIdOrMemberEpoch":{epoch},"memberId":{member},'
    '"groupInstanceId":null,"topics":[{asked}]}}'
)
_HEARTBEAT = (
    '{{"brokerId":1,"brokerEpoch":3,"currentMetadataOffset":{offset},"wantFence":false,"wantShutDown":false,'
    '"offlineLogDirs":[]}}'
)
_HEARTBEAT_ANSWER = (
    '{"throttleTimeMs":0,"errorCode":0,"isCaughtUp":true,"isFenced":false,"shouldShutDown":false}'
)


def _write_requests(path: Path, decided: list[Decided], topics: dict[str, bytes], idle_from: int) -> None:
    """Write the lines of commits, and of the heartbeats that the broker sends to itself as the controller."""
    ids = {name: uuid_text(raw) for name, raw in topics.items()}
    next_ms = START_MS + _HEARTBEAT_MS
    with path.open("w", encoding="utf-8") as file:
        for each in decided:
            while next_ms <= each.done_ms:
                file.write(_heartbeat_line(next_ms, idle_from))
                next_ms += _HEARTBEAT_MS
            file.write(commit_line(each, ids))


def _heartbeat_line(at_ms: int, idle_from: int) -> str:
    offset = idle_from + (at_ms - START_MS) // _NO_OP_MS - 1
    return _LINE.format(
        stamp=_stamp(at_ms),
        api_key=63,
        api_name="BROKER_HEARTBEAT",
        version=1,
        correlation=(at_ms - START_MS) // _HEARTBEAT_MS,
        client='"1"',
        request=_HEARTBEAT.format(offset=offset),
        response=_HEARTBEAT_ANSWER,
        listens=9093,
        port=39_999,
        connection=0,
        took=1.5,
        local=0.5,
        listener="CONTROLLER",
        software="4.3.1",
    )


def commit_line(decided: Decided, ids: dict[str, str]) -> str:
    """The line of an OffsetCommit; ``ids``: topics' ids by their names."""
    request = decided.request
    asked: dict[str, list[str]] = {}
    answered: dict[str, list[str]] = {}
    for (topic, number), offset in request.offsets:
        name = f'"name":"{topic}"' if decided.version == 9 else f'"topicId":"{ids[topic]}"'
        asked.setdefault(name, []).append(
            f'{{"partitionIndex":{number},"committedOffset":{offset},"committedLeaderEpoch":-1,'
            '"committedMetadata":""}'
        )
        answered.setdefault(name, []).append(f'{{"partitionIndex":{number},"errorCode":{decided.error}}}')
    return _LINE.format(
        stamp=_stamp(decided.done_ms),
        api_key=8,
        api_name="OFFSET_COMMIT",
        version=decided.version,
        correlation=request.correlation_id,
        client=json.dumps(request.client_id),
        request=_COMMIT.format(
            group=json.dumps(decided.group),
            epoch=request.epoch,
            member=json.dumps(request.member_id),
            asked=_topics(asked),
        ),
        response=f'{{"throttleTimeMs":0,"topics":[{_topics(answered)}]}}',
        listens=9092,
        port=40_000 + decided.connection,
        connection=decided.connection,
        took=round(decided.took_ms, 3),
        local=round(decided.took_ms / 2, 3),
        listener="PLAINTEXT",
        software="4.3.1" if decided.version == 10 else "4.0.2",
    )


def _stamp(ms: int) -> str:
    at = datetime.fromtimestamp(ms // 1000, UTC)
    return f"{at:%Y-%m-%d %H:%M:%S},{ms % 1000:03}"


def _topics(by_topic: dict[str, list[str]]) -> str:
    return ",".join(f'{{{name},"partitions":[{",".join(rows)}]}}' for name, rows in by_topic.items())


# --- the truth ---------------------------------------------------------------------------------------------


def _write_truth(path: Path, decided: list[Decided]) -> None:
    """One row per request and partition; (client_id, correlation_id) is one request."""
    rows = [(each, part) for each in decided for part in each.parts]
    columns: dict[str, list[object]] = {
        "group_id": [each.group for each, _ in rows],
        "member_id": [each.request.member_id for each, _ in rows],
        "client_id": [each.request.client_id for each, _ in rows],
        "correlation_id": [each.request.correlation_id for each, _ in rows],
        "topic": [part.place[0] for _, part in rows],
        "partition": [part.place[1] for _, part in rows],
        "committed_offset": [part.offset for _, part in rows],
        "client_epoch": [each.request.epoch for each, _ in rows],
        "error": [each.error_name for each, _ in rows],
        "truth": [part.truth for _, part in rows],
        **{policy: [part.accepts[at] for _, part in rows] for at, policy in enumerate(POLICIES)},
    }
    pq.write_table(pa.table(columns), path)


def main() -> int:
    """Generate one cluster and print its contents."""
    folder, rest = Path(sys.argv[1]), sys.argv[2:]
    counts = [int(each) for each in rest[:3]]
    begun = time.monotonic()
    cluster = generate(
        folder,
        Size(*counts),
        release=rest[3] if len(rest) > 3 else "4.3",
        seed=int(rest[4]) if len(rest) > 4 else 1,
    )
    print(
        f"{cluster.requests:,} requests for {cluster.commits:,} partitions by {cluster.members:,} members, "
        f"{cluster.records:,} records ({cluster.bytes / 1e6:.0f} MB) in {time.monotonic() - begun:.1f} s; "
        f"{cluster.interesting:.1%} not an accepted owner's"
    )
    for kind, count in cluster.kinds.most_common():
        print(f"  {count:>9,} {kind}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
