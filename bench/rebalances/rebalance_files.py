"""The files of a generated cluster with one classic group, with the truth about its claims.

``truth/`` has the rows that silver must have for each record (``claims``, ``assignments``: all, or only
unusual ones), ``generations``, the logged ``joins``, and ``counts.json``.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, BinaryIO

import encoding
import pyarrow as pa
import pyarrow.parquet as pq
from encoding import uuid_text
from rebalance_bytes import Partition, assignment, group_batch, listed, member, subscribed, subscription
from rebalance_group import Client, Group, Mix, Rebalance, Size
from rebalance_lines import Lines

GROUP = "orders-service"
START_MS = 1_767_225_600_000
EVERY_MS = 20_000
RECORD_AFTER_MS = 3_500
_SEGMENT_BYTES = 512 << 20
_DISK = b"\0" * 15 + b"\7"
_METADATA_ID, _OFFSETS_ID = b"\0" * 15 + b"\1", b"\0" * 15 + b"\2"


_CLAIMS = pa.schema(
    [
        ("record_offset", pa.int64()),
        ("member_id", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("claimed_generation", pa.int32()),
        ("greatest_claim_of_others", pa.int32()),
        ("was_assigned", pa.bool_()),
        ("assigned_to_self", pa.bool_()),
        ("assigned_to_another", pa.bool_()),
    ]
)


@dataclass(frozen=True)
class Made:
    """The numbers of what was generated."""

    requests: int
    records: int
    bytes: int
    claims: int
    out_of_the_ordinary: int


def generate(folder: Path, size: Size, *, mix: Mix | None = None, seed: int = 1, whole: bool = False) -> Made:
    """Write the cluster and its truth; ``whole``: also the truth about ordinary claims and assignments."""
    group = Group(size, mix or Mix(), Random(seed))
    log_dir = folder / "broker-1" / "log_dir"
    log_dir.mkdir(parents=True)
    (folder / "truth").mkdir()
    _write_metadata(log_dir, group.topics, size.partitions)
    truth = _Truth(whole=whole)
    encoded = Encoded(group.topics)
    with (
        _Segments(_partition(log_dir, "__consumer_offsets-0", _OFFSETS_ID)) as log,
        (folder / "broker-1" / "kafka-request.log").open("w") as requests,
    ):
        lines = Lines(GROUP, requests, encoded.subscription)
        for number, each in enumerate(group.rebalances()):
            begun = START_MS + number * EVERY_MS
            assigned_partitions = assignments_of(each)
            members = [encoded.member(client, assigned_partitions[client]) for client in each.members]
            ms = begun + RECORD_AFTER_MS
            log.append(group_batch(GROUP, each.generation, each.leader.member_id, members, ms))
            logged = number >= size.rebalances - size.logged
            if logged:
                lines.write(
                    each,
                    begun,
                    {
                        client: encoded.assignment(assigned_partitions[client])
                        for client in assigned_partitions
                    },
                )
            truth.note(number, each, assigned_partitions)
    truth.write(folder / "truth", lines.joins)
    (folder / "fencepost.toml").write_text(
        '[[clusters]]\nname = "generated"\n\n[[clusters.brokers]]\nid = 1\nlog_dirs = ["broker-1/log_dir"]\n'
        'request_logs = ["broker-1/kafka-request.log*"]\ntimezone = "UTC"\n'
    )
    return Made(lines.count, size.rebalances, log.bytes, truth.claims, len(truth.rows["claims"]))


def assignments_of(each: Rebalance) -> dict[Client, tuple[Partition, ...]]:
    """What each member is assigned."""
    by_client: dict[Client, list[Partition]] = {client: [] for client in each.members}
    for partition, client in each.owners.items():
        by_client[client].append(partition)
    return {client: tuple(sorted(partitions)) for client, partitions in by_client.items()}


class Encoded:
    """A cache of bytes that are often the same."""

    def __init__(self, topics: Sequence[str]) -> None:
        self._topics = subscribed(topics)
        self._listed: dict[tuple[Partition, ...], bytes] = {}
        self._members: dict[str, bytes] = {}

    def member(self, client: Client, assigned_partitions: tuple[Partition, ...]) -> bytes:
        """A member of the record."""
        head = self._members.get(client.member_id)
        if head is None:
            head = member(client.member_id, client.instance_id, client.client_id)
            self._members[client.member_id] = head
        subscription_bytes, assigned = self.subscription(client), self.assignment(assigned_partitions)
        return b"".join(
            (
                head,
                len(subscription_bytes).to_bytes(4, "big"),
                subscription_bytes,
                len(assigned).to_bytes(4, "big"),
                assigned,
            )
        )

    def subscription(self, client: Client) -> bytes:
        """Its last subscription."""
        owned, claimed_generation = client.sent
        return subscription(self._topics, self._partitions(owned), claimed_generation)

    def assignment(self, assigned_partitions: tuple[Partition, ...]) -> bytes:
        """Its assignment."""
        return assignment(self._partitions(assigned_partitions))

    def _partitions(self, partitions: tuple[Partition, ...]) -> bytes:
        cached = self._listed.get(partitions)
        if cached is None:
            cached = self._listed[partitions] = listed(partitions)
        return cached


class _Truth:
    """Collects the truth about every record as rows."""

    def __init__(self, *, whole: bool) -> None:
        self._whole = whole
        self._before: dict[Partition, str] = {}
        self._members: set[str] = set()
        self._generation = -1
        self.claims = self.assignments = 0
        self.standings: Counter[str] = Counter()
        self.rows: dict[str, list[dict[str, Any]]] = defaultdict(list)

    def note(
        self, offset: int, each: Rebalance, assigned_partitions: dict[Client, tuple[Partition, ...]]
    ) -> None:
        """Add the next record."""
        for partition, claims in each.claims.items():
            for claimed_generation, client in claims:
                self._claim(offset, each, partition, claims, (claimed_generation, client))
        now = {partition: client.member_id for partition, client in each.owners.items()}
        self.assignments += len(now)
        for partition, owner in now.items():
            added = self._before.get(partition) != owner
            if added or self._whole:
                row = {"record_offset": offset, "member_id": owner, "topic": partition[0]}
                row |= {"partition": partition[1], "is_added": added}
                self.rows["assignments"].append({**row, "previous_owner": self._before.get(partition)})
        members = {client.member_id for client in each.members}
        self.rows["generations"].append(
            {
                "record_offset": offset,
                "generation": each.generation,
                "previous_generation": self._generation,
                "members": len(members),
                "partitions": len(now),
                "members_joined": sorted(members - self._members),
                "members_left": sorted(self._members - members),
                "without": sum(not partitions for partitions in assigned_partitions.values()),
            }
        )
        self._before, self._members, self._generation = now, members, each.generation

    def _claim(
        self,
        offset: int,
        each: Rebalance,
        partition: Partition,
        claims: Sequence[tuple[int, Client]],
        own: tuple[int, Client],
    ) -> None:
        claimed_generation, client = own
        others = max((other for other, by in claims if by is not client), default=-2)
        standing = (
            "stale"
            if claimed_generation < others
            else "contradicted"
            if claimed_generation == others
            else "valid"
        )
        owner = each.owners.get(partition)
        to_self, to_another = owner is client, owner is not None and owner is not client
        was_assigned = client.was_assigned(partition, claimed_generation)
        self.claims += 1
        self.standings[standing] += 1
        ordinary = standing == "valid" and to_self and was_assigned and claimed_generation == self._generation
        if self._whole or not ordinary:
            self.rows["claims"].append(
                {
                    "record_offset": offset,
                    "member_id": client.member_id,
                    "topic": partition[0],
                    "partition": partition[1],
                    "claimed_generation": claimed_generation,
                    "greatest_claim_of_others": others,
                    "was_assigned": was_assigned,
                    "assigned_to_self": to_self,
                    "assigned_to_another": to_another,
                }
            )

    def write(self, folder: Path, joins: Sequence[dict[str, Any]]) -> None:
        """Everything."""
        for name in ("generations", "assignments"):
            pq.write_table(pa.Table.from_pylist(self.rows[name]), folder / f"{name}.parquet")
        pq.write_table(pa.Table.from_pylist(list(joins)), folder / "joins.parquet")
        # there may be no unusual ones
        pq.write_table(pa.Table.from_pylist(self.rows["claims"], schema=_CLAIMS), folder / "claims.parquet")
        counts = {"whole": self._whole, "claims": self.claims, "assignments": self.assignments}
        (folder / "counts.json").write_text(json.dumps({**counts, "standings": self.standings}))


class _Segments:
    """The segments of a partition: batches one after the other."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: BinaryIO | None = None
        self._size = 0
        self.bytes = self._offset = 0

    def __enter__(self) -> _Segments:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def append(self, batch: bytes, records: int = 1) -> None:
        """The next batch."""
        if self._file is None or self._size > _SEGMENT_BYTES:
            self.__exit__()
            self._file, self._size = (self._folder / f"{self._offset:020}.log").open("wb"), 0
        data = encoding.placed(self._offset, batch)
        self._file.write(data)
        self._offset += records
        self._size += len(data)
        self.bytes += len(data)


def _partition(log_dir: Path, name: str, topic_id: bytes) -> Path:
    folder = log_dir / name
    folder.mkdir()
    (folder / "partition.metadata").write_text(f"version: 0\ntopic_id: {uuid_text(topic_id)}")
    (folder / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    return folder


def _write_metadata(log_dir: Path, topics: Sequence[str], partitions: int) -> None:
    """One node is broker and controller; its metadata log has the topics of the group."""
    ms = START_MS - 10_000
    records: list[tuple[list[encoding.Record], bool]] = [
        ([encoding.leader_change()], True),
        ([encoding.feature_level("metadata.version", 30)], False),
        ([encoding.register_broker(3, b"\0" * 15 + b"\3", 3, 30, _DISK)], False),
    ]
    named: list[tuple[str, bytes, int]] = [("__consumer_offsets", _OFFSETS_ID, 1)]
    named += [
        (topic, (number + 16).to_bytes(16, "big"), len(range(number, partitions, len(topics))))
        for number, topic in enumerate(topics)
    ]
    for topic, topic_id, count in named:
        own = [encoding.topic(topic, topic_id)]
        own += [encoding.partition(topic_id, number, _DISK) for number in range(count)]
        records.append((own, False))
    with _Segments(_partition(log_dir, "__cluster_metadata-0", _METADATA_ID)) as log:
        for batch, control in records:
            log.append(encoding.batch(batch, ms, control=control), len(batch))
    (log_dir / "meta.properties").write_text(
        f"#\nnode.id=1\ndirectory.id={uuid_text(_DISK)}\nversion=1\ncluster.id={uuid_text(_METADATA_ID)}\n"
    )
