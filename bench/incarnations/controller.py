"""A simulated controller: topics that are created and deleted, leaders that change, and its metadata log.

It counts partition epochs as KIP-232 proposed: one for each created partition, one for each deleted topic.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from random import Random

import encoding
from encoding import Record, uuid_text

REPLICAS = 3
_METADATA_VERSION = 30


@dataclass
class Partition:
    """One partition of one incarnation; ``led``: its leaders by leader epoch."""

    partition_epoch: int
    replicas: list[int]
    isr: list[int]
    led: list[int]

    @property
    def leader(self) -> int:
        """The newest."""
        return self.led[-1]

    @property
    def leader_epoch(self) -> int:
        """Of the newest leader."""
        return len(self.led) - 1


@dataclass
class Incarnation:
    """One incarnation of a topic; positions are offsets of the metadata log."""

    topic: str
    raw_id: bytes
    number: int
    created: int
    partitions: list[Partition]
    removed: int | None = None
    removed_epoch: int | None = None
    _text: str | None = None

    @property
    def topic_id(self) -> str:
        """As Kafka writes it."""
        return uuid_text(self.raw_id)

    def changed(self) -> None:
        """Note that its partitions have changed."""
        self._text = None

    def as_now(self) -> Incarnation:
        """A copy that does not change with this one."""
        partitions = [
            Partition(each.partition_epoch, each.replicas, list(each.isr), list(each.led))
            for each in self.partitions
        ]
        return replace(self, partitions=partitions)

    def answer_text(self) -> str:
        """The topic in a broker's answer (MetadataResponseTopic)."""
        if self._text is None:
            self._text = self._make_answer_text()
        return self._text

    def _make_answer_text(self) -> str:
        partitions = [
            {
                "errorCode": 0, "partitionIndex": number, "leaderId": each.leader,
                "leaderEpoch": each.leader_epoch, "replicaNodes": each.replicas, "isrNodes": each.isr,
                "offlineReplicas": [],
            }
            for number, each in enumerate(self.partitions)
        ]  # fmt: skip
        answer = {
            "errorCode": 0, "name": self.topic, "topicId": self.topic_id, "isInternal": False,
            "partitions": partitions, "topicAuthorizedOperations": -2147483648,
        }  # fmt: skip
        return json.dumps(answer, separators=(",", ":"))


@dataclass
class Fencing:
    """A broker that the controller fenced."""

    broker_id: int
    position: int
    leaders_moved: int
    isr_shrunk: int


@dataclass
class Controller:
    """``batches``: the written batches with their times; ``incarnations`` and ``fencings`` in their order."""

    brokers: list[int]
    rng: Random
    batches: list[tuple[int, list[Record], bool]] = field(default_factory=list)
    live: dict[str, Incarnation] = field(default_factory=dict)
    incarnations: list[Incarnation] = field(default_factory=list)
    fencings: list[Fencing] = field(default_factory=list)
    counter: int = 0
    fenced: int | None = None
    metadata_version: int = _METADATA_VERSION
    _position: int = 0
    _disk: bytes = b"\7" * 16
    _epochs: dict[int, int] = field(default_factory=dict)
    _numbers: dict[str, int] = field(default_factory=dict)

    def begin(self, ms: int) -> None:
        """The log's first records: its leader, the features, the brokers."""
        self._write(ms, [encoding.leader_change()], control=True)
        self.raise_feature("metadata.version", self.metadata_version, ms)
        for broker_id in self.brokers:
            self.register(broker_id, ms)

    def register(self, broker_id: int, ms: int) -> None:
        """A broker has started; of its release is what ``metadata_version`` is now."""
        self._epochs[broker_id] = self._position
        incarnation = self.rng.randbytes(16)
        record = encoding.register_broker(
            3, incarnation, self._position, self.metadata_version, self._disk, broker_id=broker_id
        )
        self._write(ms, [record, encoding.broker_change(broker_id, self._position, fenced=False)])

    def raise_feature(self, name: str, level: int, ms: int) -> None:
        """An operator sets the level of a feature."""
        self._write(ms, [encoding.feature_level(name, level)])

    @property
    def newest(self) -> int:
        """The last offset of its log."""
        return self._position - 1

    def idle(self, ms: int) -> None:
        """Nothing has changed."""
        self._write(ms, [encoding.no_op()])

    def create(
        self,
        topic: str,
        partitions: int,
        ms: int,
        brokers: list[int] | None = None,
        raw_id: bytes | None = None,
    ) -> Incarnation:
        """Create a topic with all of its partitions, on some of ``brokers``, or else of those that are not
        fenced; with an id of its own, or with ``raw_id``.
        """
        raw_id = raw_id or self.rng.randbytes(16)
        number = self._numbers[topic] = self._numbers.get(topic, 0) + 1
        made = Incarnation(topic, raw_id, number, self._position, [])
        records = [encoding.topic(topic, raw_id)]
        usable = brokers or [each for each in self.brokers if each != self.fenced]
        for index in range(partitions):
            replicas = self.rng.sample(usable, min(REPLICAS, len(usable)))
            self.counter += 1
            made.partitions.append(Partition(self.counter, replicas, sorted(replicas), [replicas[0]]))
            records.append(encoding.partition(raw_id, index, self._disk, replicas))
        self._write(ms, records)
        self.live[topic] = made
        self.incarnations.append(made)
        return made

    def delete(self, topic: str, ms: int) -> Incarnation:
        """Delete the topic with its partitions."""
        deleted = self.live.pop(topic)
        self.counter += 1
        deleted.removed, deleted.removed_epoch = self._position, self.counter
        self._write(ms, [encoding.remove_topic(deleted.raw_id)])
        return deleted

    def elect(self, topic: str, number: int, ms: int) -> None:
        """Elect another replica in sync."""
        of = self.live[topic]
        self._write(ms, self._led_by_another(of, number, of.partitions[number].isr))

    def fence(self, broker_id: int, ms: int) -> None:
        """Fence a broker: it leaves every ISR, and other brokers lead its partitions."""
        fencing = Fencing(broker_id, self._position, 0, 0)
        records = [encoding.broker_change(broker_id, self._epochs[broker_id], fenced=True)]
        for of in self.live.values():
            for number, each in enumerate(of.partitions):
                if broker_id in each.isr:
                    of.changed()
                    each.isr = [other for other in each.isr if other != broker_id]
                    fencing.isr_shrunk += 1
                    fencing.leaders_moved += each.leader == broker_id
                    leads = each.leader == broker_id
                    records += (
                        self._led_by_another(of, number, each.isr)
                        if leads
                        else [encoding.partition_change(of.raw_id, number, isr=each.isr)]
                    )
        self._write(ms, records)
        self.fenced = broker_id
        self.fencings.append(fencing)

    def unfence(self, ms: int) -> None:
        """Unfence a broker, which is in sync again."""
        assert self.fenced is not None
        records = [encoding.broker_change(self.fenced, self._epochs[self.fenced], fenced=False)]
        for of in self.live.values():
            for number, each in enumerate(of.partitions):
                if self.fenced in each.replicas and self.fenced not in each.isr:
                    of.changed()
                    each.isr = sorted([*each.isr, self.fenced])
                    records.append(encoding.partition_change(of.raw_id, number, isr=each.isr))
        self._write(ms, records)
        self.fenced = None

    def replace_broker(self, old: int, new: int, ms: int) -> None:
        """A broker is gone for good, and another one takes its place in every partition."""
        self.fence(old, ms)
        self.fenced = None
        self.brokers[self.brokers.index(old)] = new
        self.register(new, ms + 1)
        records = []
        for of in self.live.values():
            for number, each in enumerate(of.partitions):
                if old in each.replicas:
                    of.changed()
                    each.replicas = [new if other == old else other for other in each.replicas]
                    each.isr = sorted([*each.isr, new])
                    change = encoding.partition_change(
                        of.raw_id, number, isr=each.isr, replicas=each.replicas
                    )
                    records.append(change)
        self._write(ms + 2, records)

    def _led_by_another(self, of: Incarnation, number: int, isr: list[int]) -> list[Record]:
        each = of.partitions[number]
        others = [broker for broker in isr if broker not in (each.leader, self.fenced)]
        if not others:
            return []
        of.changed()
        each.led.append(self.rng.choice(others))
        return [encoding.partition_change(of.raw_id, number, isr=isr, leader=each.leader)]

    def _write(self, ms: int, records: list[Record], *, control: bool = False) -> None:
        if records:
            self.batches.append((ms, records, control))
            self._position += len(records)
