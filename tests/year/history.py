"""What a cluster writes in a year, by the generators of bench, whose clocks are stretched.

Broker 1 is the controller, and the only coordinator; topics of consumers are on all brokers.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from typing import Any
from unittest.mock import patch

import encoding
import rebalance_group
import rebalance_lines
import transaction_files
import transaction_walk
import walk
from calendar_of import BEGIN_MS, DAY_MS, HOUR_MS, Calendar
from consumers import Consumer, Consumers
from consumers import Mix as ConsumersMix
from controller import Controller, Incarnation
from coordinator import RELEASES, Group
from files import commit_batch
from generate import OFFSETS_PARTITIONS, commit_line, coordinator_of
from rebalance_bytes import group_batch
from rebalance_files import GROUP, RECORD_AFTER_MS, Encoded, assignments_of
from releases import NEW, OLD, Release, as_of
from request_lines import CREATE, DELETE, HEARTBEAT, Line

COORDINATOR = 1
OFFSETS, STATE, METADATA = "__consumer_offsets", "__transaction_state", "__cluster_metadata"
_METADATA_ID = b"\0" * 15 + b"\1"
_ROUND_MS = 6 * HOUR_MS
_TOPICS, _PARTITIONS = 4, 3
_TICKS = 0.3
"""Roughly how often time advances in the walk of a group for each request."""
_DATED = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),(\d{3})\]")


@dataclass
class Log:
    """A partition of one incarnation of a topic; ``batches``: time, leader epoch, records, bytes without
    offset.
    """

    topic: str
    raw_id: bytes
    number: int
    everywhere: bool = False
    created_ms: int = BEGIN_MS
    deleted_ms: int | None = None
    batches: list[tuple[int, int, int, bytes]] = field(default_factory=list)

    @property
    def folder(self) -> str:
        """The name of its folder."""
        return f"{self.topic}-{self.number}"


@dataclass(frozen=True)
class Rate:
    """So much happens on each day."""

    reads: int = 120
    commits: int = 100
    transactions: int = 24
    rebalances: int = 4


class History:
    """All logs and lines of a year; ``lines``: time, broker and text of each, in the order of time."""

    def __init__(self, calendar: Calendar, rate: Rate | None = None, seed: int = 1) -> None:
        self.calendar, self._rate, self._rng = calendar, rate or Rate(), Random(seed)
        self.logs: dict[tuple[str, bytes, int], Log] = {}
        self.lines: list[tuple[int, int, str]] = []
        self._cluster = Controller([1, 2, 3], self._rng, metadata_version=OLD.metadata_version)
        self._operator = 0
        self._releases: dict[int, list[tuple[int, Release]]] = {}
        self._generate()
        self.lines.sort(key=lambda each: each[0])
        for log in self.logs.values():
            log.batches = sorted(
                (each for each in log.batches if each[0] < calendar.end_ms), key=lambda each: each[0]
            )

    def brokers(self, ms: int) -> list[int]:
        """The ids of the brokers at a moment."""
        return [1, 2, 3 if ms < self.calendar.replaced_ms else 4]

    def release(self, broker_id: int, ms: int) -> Release:
        """What a broker runs."""
        hour = {1: 8, 2: 0, 3: 4}.get(broker_id, -1)
        return OLD if ms < self.calendar.upgrade_ms + hour * HOUR_MS else NEW

    # --- the cluster ----------------------------------------------------------------------------------------

    def _generate(self) -> None:
        cluster, begin = self._cluster, BEGIN_MS
        cluster.begin(begin)
        cluster.raise_feature("group.version", 0, begin)
        self._created(OFFSETS, OFFSETS_PARTITIONS, on=[COORDINATOR])
        self._created(STATE, OFFSETS_PARTITIONS, on=[COORDINATOR])
        for topic in transaction_files.TOPICS:
            self._created(topic, transaction_files.TOPICS[topic], on=[COORDINATOR])
        events = {name: self._created(name, 4, on=[COORDINATOR]) for name in ("events.00", "events.01")}
        rebalances = self._rate.rebalances * self.calendar.days
        classic = rebalance_group.Group(
            rebalance_group.Size(6, 12, rebalances, rebalances), rebalance_group.Mix(), self._rng
        )
        for topic in classic.topics:
            self._created(topic, 12, on=[COORDINATOR])
        self._topics()
        self._classic_group(classic, rebalances)
        self._member_groups(events)
        self._transactions()
        metadata = self._log(METADATA, _METADATA_ID, 0)
        metadata.batches = [
            (ms, 1, len(records), encoding.batch(records, ms, control=control, leader_epoch=1))
            for ms, records, control in cluster.batches
        ]

    def _created(self, topic: str, partitions: int, on: list[int]) -> Incarnation:
        raw_id = transaction_files._IDS.get(topic)
        return self._cluster.create(topic, partitions, BEGIN_MS + 1, on, raw_id)

    def _topics(self) -> None:
        """Consumers of topics that come and go, brokers that come and go, in rounds."""
        cluster, calendar = self._cluster, self.calendar
        names = [f"orders.{number:05}" for number in range(_TOPICS)]
        for name in names:
            self._create(name, BEGIN_MS + 1_000)
        clients = [
            Consumer(
                number,
                f"group-{number // 3:04}",
                [(name, number % _PARTITIONS) for name in names[number // 3 :: 2]],
                number % 2 == 0,
            )
            for number in range(6)
        ]
        consumers = Consumers(clients, cluster, self._rng, ConsumersMix(behind=0.0))
        upgrades = [
            (calendar.upgrade_ms + at * HOUR_MS, broker_id) for at, broker_id in ((0, 2), (4, 3), (8, 1))
        ]
        replaced = calendar.replaced_ms
        for ms in range(BEGIN_MS + HOUR_MS, calendar.end_ms, HOUR_MS):
            while upgrades and upgrades[0][0] <= ms:
                self._restart(upgrades.pop(0)[1], ms)
                if not upgrades:
                    for name, level in (
                        ("metadata.version", 30),
                        ("group.version", 1),
                        ("transaction.version", 2),
                    ):
                        cluster.raise_feature(name, level, ms + 5_000)
            if replaced is not None and replaced <= ms:
                cluster.replace_broker(3, 4, ms)
                replaced = None
            self._hour(names, consumers, ms)
        for line in consumers.lines:
            self._say(line)
        for each in consumers.stored:
            log = self._coordinator(OFFSETS, each.group)
            log.batches.append((each.ms, 0, 1, commit_batch(each)))

    def _hour(self, names: list[str], consumers: Consumers, ms: int) -> None:
        if ms % _ROUND_MS == 0:
            self._change(names, ms + 60_000)
            share = self._rate.reads * _ROUND_MS // DAY_MS
            consumers.ask(share, (ms + 30 * 60_000, ms + _ROUND_MS - 30 * 60_000), {}, None)
        if ms % (2 * HOUR_MS) == 0:
            self._cluster.idle(ms + 20 * 60_000)
            self._hear(ms + 20 * 60_000 + 1_000)

    def _restart(self, broker_id: int, ms: int) -> None:
        """A broker starts as one of the newer release."""
        cluster = self._cluster
        cluster.metadata_version = NEW.metadata_version
        if broker_id == COORDINATOR:
            cluster.register(broker_id, ms + 1_000)
            return
        cluster.fence(broker_id, ms)
        cluster.register(broker_id, ms + 30_000)
        cluster.unfence(ms + 31_000)
        self._written(ms + 40_000)

    def _change(self, names: list[str], ms: int) -> None:
        rng, cluster = self._rng, self._cluster
        if rng.random() < 0.1:
            name = rng.choice(names)
            self._delete(name, ms)
            self._create(name, ms + 2_000)
        if rng.random() < 0.5:
            cluster.elect(rng.choice(names), rng.randrange(_PARTITIONS), ms + 10_000)
        self._written(ms + 20_000)

    def _create(self, name: str, ms: int) -> None:
        made = self._cluster.create(name, _PARTITIONS, ms)
        for number in range(_PARTITIONS):
            log = self._log(name, made.raw_id, number)
            log.everywhere, log.created_ms = True, ms
        self._asked(CREATE, "topics", made, ms)
        self._written(ms + 500)

    def _delete(self, name: str, ms: int) -> None:
        of = self._cluster.delete(name, ms)
        for number in range(_PARTITIONS):
            self._log(name, of.raw_id, number).deleted_ms = ms
        self._asked(DELETE, "responses", of, ms)

    def _written(self, ms: int) -> None:
        """A batch in each partition of consumers."""
        for (topic, _, number), log in self.logs.items():
            if log.everywhere and log.deleted_ms is None:
                epoch = self._cluster.live[topic].partitions[number].leader_epoch
                data = encoding.batch([(None, b"x")], ms, leader_epoch=epoch)
                log.batches.append((ms, epoch, 1, data))

    def _hear(self, ms: int) -> None:
        for broker_id in self._cluster.brokers:
            line = Line(
                1, HEARTBEAT, self._number(), str(broker_id), f"10.0.0.1:9093-10.0.0.{broker_id}:4712-0-1", ms
            )
            line.say({"brokerId": broker_id, "currentMetadataOffset": self._cluster.newest}, {"errorCode": 0})
            self._say(line)

    def _asked(self, api: tuple[int, str, int], answers: str, of: Incarnation, ms: int) -> None:
        line = Line(1, api, self._number(), "operator", "10.0.0.1:9092-10.9.0.1:4711-0-1", ms + 1)
        rows = {"name": of.topic, "topicId": of.topic_id, "errorCode": 0}
        line.say({"topics": [{"name": of.topic}], "timeoutMs": 30_000}, {answers: [rows]})
        self._say(line)

    def _number(self) -> int:
        self._operator += 1
        return self._operator

    # --- groups and producers -------------------------------------------------------------------------------

    def _classic_group(self, group: rebalance_group.Group, rebalances: int) -> None:
        encoded = Encoded(group.topics)
        lines = rebalance_lines.Lines(GROUP, _Sink(self), encoded.subscription)
        log = self._coordinator(OFFSETS, GROUP)
        every = self.calendar.days * DAY_MS // max(1, rebalances)
        for number, each in enumerate(group.rebalances()):
            begun = BEGIN_MS + number * every + 3 * HOUR_MS
            assigned = assignments_of(each)
            members = [encoded.member(client, assigned[client]) for client in each.members]
            ms = begun + RECORD_AFTER_MS
            log.batches.append(
                (ms, 0, 1, group_batch(GROUP, each.generation, each.leader.member_id, members, ms))
            )
            lines.write(each, begun, {client: encoded.assignment(assigned[client]) for client in assigned})

    def _member_groups(self, topics: dict[str, Incarnation]) -> None:
        """Groups of KIP-848, as soon as brokers are of the new release."""
        span = self.calendar.end_ms - self.calendar.upgraded_ms
        groups = ("service-00001", "service-00002")
        wanted = int(self._rate.commits * span / DAY_MS / len(groups))
        for index, name in enumerate(groups):
            rng = Random(f"{name} {index}")
            subscribed = {topic: (of.raw_id, len(of.partitions)) for topic, of in topics.items()}
            group = Group(name, subscribed, RELEASES["4.3"], rng)
            gap = int(span / (_TICKS * wanted))
            with patch.object(walk, "GAP_MS", gap):
                clients = walk.Clients(group, 4, self.calendar.upgraded_ms + 60_000, rng, walk.Mix())
                written = clients.run(wanted)
            log = self._coordinator(OFFSETS, name)
            log.batches += [
                (ms, 0, len(records), encoding.batch(records, ms, sequence=0))
                for ms, records in written.batches
            ]
            ids = {topic: of.topic_id for topic, of in topics.items()}
            for each in written.decided:
                self.add_line(COORDINATOR, commit_line(each, ids))

    def _transactions(self) -> None:
        ids, rate = 4, self._rate.transactions
        places = [
            (topic, number) for topic, count in transaction_files.TOPICS.items() for number in range(count)
        ]
        producers = [
            transaction_walk.Producer(
                f"payment-{number:05}", 1_000 + number, tuple(self._rng.sample(places, 3))
            )
            for number in range(ids)
        ]
        begin = self.calendar.upgraded_ms + 120_000
        count = int((self.calendar.end_ms - begin) / DAY_MS * rate)
        pause = int(DAY_MS * ids / rate / 3)
        with patch.object(transaction_walk, "_PAUSE_MS", pause):
            run = transaction_walk.Walk(producers, _Files(self), begin, self._rng, transaction_walk.Mix())
            run.run(transaction_walk.Size(count, ids, count))

    # --- what is written ------------------------------------------------------------------------------------

    def _say(self, line: Line) -> None:
        text = as_of(self.release(line.broker_id, line.done_ms), line)
        self.add_line(line.broker_id, text)

    def add_line(self, broker_id: int, text: str) -> None:
        """A line of a broker's request log, which is dated by its clock."""
        ms = logged_ms(text)
        if ms >= self.calendar.end_ms:
            return
        if ahead := self.calendar.wrong_clock_ms(broker_id, ms):
            text = f"[{_stamp(ms + ahead)}]{text[25:]}"
        self.lines.append((ms, broker_id, text))

    def _log(self, topic: str, raw_id: bytes, number: int) -> Log:
        return self.logs.setdefault((topic, raw_id, number), Log(topic, raw_id, number))

    def _coordinator(self, topic: str, entity: str) -> Log:
        return self.partition(topic, coordinator_of(entity))

    def partition(self, topic: str, number: int) -> Log:
        """A partition of a topic that is never deleted."""
        return self._log(topic, self._cluster.live[topic].raw_id, number)


class _Sink:
    """Where generators write lines of the coordinator."""

    def __init__(self, history: History) -> None:
        self._history = history

    def write(self, text: str) -> int:
        self._history.add_line(COORDINATOR, text)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)


class _Files:
    """What the walk of producers writes to (transaction_files.Files)."""

    def __init__(self, history: History) -> None:
        self._history, self.requests = history, _Sink(history)
        self._ends: defaultdict[tuple[str, int], int] = defaultdict(int)

    def append(self, topic: str, partition: int, batch: bytes, records: int) -> int:
        offset = self._ends[topic, partition]
        self._ends[topic, partition] += records
        ms = int.from_bytes(batch[23:31], "big")
        self._history.partition(topic, partition).batches.append((ms, 0, records, batch))
        return offset

    def append_record(self, topic: str, partition: int, record: encoding.Record, ms: int) -> int:
        return self.append(topic, partition, encoding.batch([record], ms, sequence=-1), 1)

    def next_offset(self, topic: str, partition: int) -> int:
        return self._ends[topic, partition]

    def expect_row(self, table: str, row: Any) -> None:
        pass


def logged_ms(text: str) -> int:
    """When a line was logged, by the clock of its broker."""
    found = _DATED.match(text)
    assert found is not None
    at = datetime.strptime(found[1], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    return int(at.timestamp()) * 1000 + int(found[2])


def _stamp(ms: int) -> str:
    return f"{datetime.fromtimestamp(ms // 1000, UTC):%Y-%m-%d %H:%M:%S},{ms % 1000:03}"
