"""Generates the logs of a cluster whose topics are deleted and created again, and whose leaders change.

    python bench/incarnations/topic_lives.py FOLDER [incarnations] [partitions] [clients] [requests] [seed]

``FOLDER`` gets ``fencepost.toml``, for each broker its segments and its request log, and ``truth/*.parquet``:
by table, the rows that silver must have. All brokers have the same clock, which only their logs show.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

sys.path.append(str(Path(__file__).resolve().parents[1] / "fencing"))

from consumers import COORDINATOR, Consumer, Consumers, Mix
from controller import Controller, Incarnation
from files import configuration, write_logs, write_requests
from request_lines import CREATE, DELETE, HEARTBEAT, Line

START_MS = 1_795_132_800_000
ROUND_MS, QUIET_MS = 120_000, 10_000
BROKERS = [1, 2, 3, 4, 5, 6]
PARTITIONS_OF_A_TOPIC = 10
_OFFSETS = "__consumer_offsets"


@dataclass(frozen=True)
class Size:
    """How much to generate: ``partitions`` and ``clients`` at a time, the others in total."""

    incarnations: int = 10_000
    partitions: int = 10_000
    clients: int = 1_000
    requests: int = 200_000
    rounds: int = 50


@dataclass(frozen=True)
class Generated:
    """What was generated."""

    incarnations: int
    requests: int
    records: int
    truth: dict[str, int]


def generate(
    folder: Path, size: Size, *, seed: int = 1, name: str = "incarnations", mix: Mix | None = None
) -> Generated:
    """Write the files of a cluster into ``folder``; the same seed gives the same bytes."""
    rng = Random(seed)
    cluster = Controller(BROKERS, rng)
    cluster.begin(START_MS)
    operator = _Operator(cluster)
    offsets = cluster.create(_OFFSETS, 1, START_MS + 1, [COORDINATOR])
    topics = [f"orders.{number:05}" for number in range(max(1, size.partitions // PARTITIONS_OF_A_TOPIC))]
    for number, topic in enumerate(topics):
        operator.create(topic, START_MS + 1_000 + number)
    consumers = Consumers(_clients(size.clients, topics, rng), cluster, rng, mix or Mix())
    again = max(0, size.incarnations - len(topics))
    for number in range(size.rounds):
        begins = START_MS + ROUND_MS * (number + 1)
        behind = rng.choice(BROKERS) if number % 3 == 1 else None
        before = {topic: of.as_now() for topic, of in cluster.live.items()} if behind else {}
        _change(operator, rng, begins, _share(again, size.rounds, number), number)
        operator.hear(begins + ROUND_MS // 2 - QUIET_MS // 2, behind)
        span = (begins + ROUND_MS // 2, begins + ROUND_MS - QUIET_MS)
        consumers.ask(_share(size.requests, size.rounds, number), span, before, behind)
        cluster.idle(begins + ROUND_MS - QUIET_MS // 2)
    records = write_logs(folder, cluster, consumers.stored, offsets)
    lines = sorted([*operator.lines, *consumers.lines], key=lambda each: each.done_ms)
    write_requests(folder, BROKERS, lines)
    truth = _truth(cluster, consumers)
    _write_truth(folder / "truth", truth)
    (folder / "fencepost.toml").write_text(configuration(name, BROKERS))
    rows_by_table = {table: len(rows) for table, rows in truth.items()}
    return Generated(len(cluster.incarnations), len(lines), records, rows_by_table)


def _share(total: int, parts: int, index: int) -> int:
    return total // parts + (index < total % parts)


def _clients(count: int, topics: list[str], rng: Random) -> list[Consumer]:
    """Consumers that read a part of two topics each, in groups of ten."""
    clients = []
    for number in range(count):
        group = number // 10
        own = Random(f"topics of {group}").sample(topics, min(2, len(topics)))
        places = [(topic, number % 10) for topic in own]
        clients.append(Consumer(number, f"group-{group:04}", places, rng.random() < Mix().careless))
    return clients


@dataclass
class _Operator:
    """Creates and deletes topics through brokers in turn."""

    cluster: Controller

    def __post_init__(self) -> None:
        self.lines: list[Line] = []

    def create(self, topic: str, ms: int) -> None:
        made = self.cluster.create(topic, PARTITIONS_OF_A_TOPIC, ms)
        self._asked(CREATE, "topics", made, ms)

    def delete(self, topic: str, ms: int) -> None:
        self._asked(DELETE, "responses", self.cluster.delete(topic, ms), ms)

    def hear(self, ms: int, behind: int | None) -> None:
        """Brokers report to the controller, which is node 1, that they have its whole log; one may be
        behind.
        """
        for broker_id in BROKERS:
            if broker_id in (behind, self.cluster.fenced):
                continue
            connection = f"10.0.0.1:9093-10.0.0.{broker_id}:4712-0-1"
            line = Line(1, HEARTBEAT, len(self.lines), str(broker_id), connection, ms)
            line.say({"brokerId": broker_id, "currentMetadataOffset": self.cluster.newest}, {"errorCode": 0})
            self.lines.append(line)

    def _asked(self, api: tuple[int, str, int], answers: str, of: Incarnation, ms: int) -> None:
        number = len(self.lines)
        usable = [each for each in BROKERS if each != self.cluster.fenced]
        broker_id = usable[number % len(usable)]
        connection = f"10.0.0.{broker_id}:9092-10.9.0.1:4711-0-1"
        line = Line(broker_id, api, number, "operator", connection, ms + 1)
        rows_by_table = {"name": of.topic, "topicId": of.topic_id, "errorCode": 0}
        line.say({"topics": [{"name": of.topic}], "timeoutMs": 30_000}, {answers: [rows_by_table]})
        self.lines.append(line)


def _change(operator: _Operator, rng: Random, ms: int, again: int, number: int) -> None:
    """Change the cluster between requests: topics are created again, leaders change, brokers are fenced or
    unfenced.
    """
    cluster = operator.cluster
    topics = sorted(each for each in cluster.live if each != _OFFSETS)
    if cluster.fenced is not None:
        cluster.unfence(ms)
    elif number % 16 == 7:
        cluster.fence(rng.choice([each for each in BROKERS if each != COORDINATOR]), ms)
    for index in range(again):
        topic = rng.choice(topics)
        operator.delete(topic, ms + 100 + index * 20)
        operator.create(topic, ms + 110 + index * 20)
    late = ms + 100 + again * 20
    for index in range(len(topics) // 5):
        cluster.elect(rng.choice(topics), rng.randrange(PARTITIONS_OF_A_TOPIC), late + index)
    assert late + len(topics) < ms + ROUND_MS // 2 - QUIET_MS, "more rounds are needed"


def _truth(cluster: Controller, consumers: Consumers) -> dict[str, list[dict[str, Any]]]:
    """Rows of silver by table name, with the columns that the generator knows."""
    incarnations = [
        {
            "topic": of.topic, "topic_id": of.topic_id, "incarnation": of.number,
            "created_position": of.created, "removed_position": of.removed, "live": of.removed is None,
            "first_partition_epoch": of.partitions[0].partition_epoch,
            "max_partition_epoch": of.partitions[-1].partition_epoch,
            "removed_partition_epoch": of.removed_epoch,
        }
        for of in cluster.incarnations
    ]  # fmt: skip
    epochs = [
        {
            "topic_id": of.topic_id, "partition": number, "leader_epoch": epoch, "leader": leader,
            "start_offset": epoch, "checkpoint_agrees": True,
        }
        for of in cluster.live.values() if of.topic != _OFFSETS
        for number, each in enumerate(of.partitions)
        for epoch, leader in enumerate(each.led)
    ]  # fmt: skip
    fenced = [
        {
            "kind": "broker", "victim_broker_id": each.broker_id, "caused_position": each.position,
            "leaders_moved": each.leaders_moved, "isr_shrunk": each.isr_shrunk, "cause": "session_timeout",
        }
        for each in cluster.fencings
    ]  # fmt: skip
    return {
        "topic_incarnations": incarnations, "leader_epochs": epochs, "broker_fencings": fenced,
        "metadata_answer_partitions": consumers.truth["changes"],
        "fetch_positions": consumers.truth["positions"],
        "committed_offsets": consumers.truth["commits"], "refused": consumers.truth["refused"],
    }  # fmt: skip


def _write_truth(folder: Path, truth: dict[str, list[dict[str, Any]]]) -> None:
    folder.mkdir()
    for table, rows in truth.items():
        pq.write_table(pa.Table.from_pylist(rows), folder / f"{table}.parquet")


def main() -> int:
    """Generate one cluster and print its contents."""
    folder, rest = Path(sys.argv[1]), [int(each) for each in sys.argv[2:]]
    begun = time.monotonic()
    made = generate(folder, Size(*rest[:4]), seed=rest[4] if len(rest) > 4 else 1)
    print(f"{made} in {time.monotonic() - begun:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
