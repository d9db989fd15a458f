"""The history of topics, partitions and brokers that the metadata log tells, from its first record to its
last.

MetadataImage has the current state; this keeps every past one, with KIP-232's partition epochs, which Kafka
never had. ``cluster_replay`` makes it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from fencepost.protocols.leader_epoch.elections import Election
from fencepost.replay.histories import History, Point, begun_by
from fencepost.replay.metadata_image import BrokerRegistration, PartitionId, PartitionRegistration
from fencepost.replay.metadata_log import MetadataLog
from fencepost.replay.metadata_records import MetadataRecord


@dataclass(slots=True)
class PartitionLife:
    """One partition of one incarnation: its states (None once it is gone) and its elections.

    ``partition_epoch`` is KIP-232's; None where the creation of the partition is in a hole. ``led_from``: the
    broker that led it last, and the id of the log directory in which it did.
    """

    id: PartitionId
    partition_epoch: int | None
    states: History[PartitionRegistration | None] = field(default_factory=History)
    elections: list[Election] = field(default_factory=list)
    led_from: tuple[int, str | None] | None = None

    def between(self, lowest: int, highest: int) -> list[PartitionRegistration | None]:
        """The states that it may have had at offsets from ``lowest`` to ``highest``; None: it did
        not exist.
        """
        begins = self.states.begins
        first, last = begun_by(begins, lowest), begun_by(begins, highest)
        before: list[PartitionRegistration | None] = [None] if first == 0 else []
        return before + self.states.states[max(first - 1, 0) : last]


@dataclass(slots=True)
class TopicLife:
    """One incarnation of a topic.

    ``begins``: where the log first has it; ``named``: the offset from which its name is known; ``created``
    and ``removed``: the records that did so, None where they are in a hole; ``gone``: where it was deleted,
    None while it lives; ``known``: false behind a hole that may hide its deletion; ``number``: its place
    among the incarnations of its name, from 1; ``previous``: the topic id of the one before.
    """

    topic_id: str
    topic: str | None
    begins: Point
    named: int = -1
    number: int | None = None
    previous: str | None = None
    created: MetadataRecord | None = None
    max_partition_epoch: int | None = None
    removed: MetadataRecord | None = None
    removed_partition_epoch: int | None = None
    gone: Point | None = None
    known: bool = True
    partitions: dict[int, PartitionLife] = field(default_factory=dict)


@dataclass(slots=True)
class BrokerLife:
    """A broker's registrations, None while it has none; each with the name of the record that brought it."""

    states: History[tuple[BrokerRegistration, str] | None] = field(default_factory=History)


@dataclass(slots=True)
class ClusterHistory:
    """Everything that the metadata log of a cluster tells.

    ``covered``: the ranges (an end of None: to the end of the log) in which the image is known. ``counter``:
    KIP-232's counter of partition epochs; ``from_beginning``: the counter starts at the beginning of the log,
    so its numbers, and not just their order, are the cluster's. ``by_name``: the incarnations of each name in
    the order of their creation. ``commits``: where each commit of records lies.
    """

    log: MetadataLog
    topics: dict[str, TopicLife] = field(default_factory=dict)
    by_name: dict[str, list[TopicLife]] = field(default_factory=dict)
    brokers: dict[int, BrokerLife] = field(default_factory=dict)
    counter: History[int] = field(default_factory=History)
    covered: list[tuple[Point, Point | None]] = field(default_factory=list)
    commits: list[Point] = field(default_factory=list)
    from_beginning: bool = False
    _begins: dict[str, list[Point]] = field(default_factory=dict, init=False, repr=False)

    def partitions(self) -> Iterator[tuple[TopicLife, PartitionLife]]:
        """Every partition of every incarnation."""
        for life in self.topics.values():
            for number in sorted(life.partitions):
                yield life, life.partitions[number]

    def partition(self, topic_id: str | None, partition: int) -> PartitionLife | None:
        """One partition of an incarnation; None where the log does not have it."""
        life = self.topics.get(topic_id) if topic_id is not None else None
        return life.partitions.get(partition) if life else None

    def named(self, topic: str, lowest: int, highest: int) -> Sequence[TopicLife]:
        """The incarnations of a name that may have existed at offsets ``lowest`` to ``highest``, all of which
        are covered: of those that began before, only the newest can still exist.
        """
        lives = self.by_name.get(topic, ())
        first = bisect_right(lives, lowest, key=lambda life: life.named)
        last = bisect_right(lives, highest, key=lambda life: life.named)
        return lives[max(first - 1, 0) : last]

    def only_incarnation(self, topic: str, highest: int, live_topic_id: str | None = None) -> str | None:
        """The topic id of the only incarnation that a name had up to an offset; None where it had none or
        several, or where the log before its creation, which may hide one, is not known.

        ``live_topic_id``: of the one that lived there, if that is known.
        """
        first, *others = self.by_name.get(topic) or (None,)
        if first is None or first.number != 1 or first.begins.position > highest:
            return None
        is_only = first.topic_id == live_topic_id or (
            self.is_covered(0, highest) and all(each.begins.position > highest for each in others)
        )
        return first.topic_id if is_only else None

    def next_begins(self, life: TopicLife) -> Point | None:
        """Where the next incarnation of the same name begins."""
        if life.topic is None:
            return None
        lives, begins = self.by_name.get(life.topic, ()), self._begins.get(life.topic, ())
        if len(begins) != len(lives):
            # an incarnation whose name only a snapshot tells may have begun before, in a hole
            begins = sorted((each.begins for each in lives), key=lambda point: point.position)
            self._begins[life.topic] = begins
        at = begun_by(begins, life.begins.position)
        return begins[at] if at < len(begins) else None

    def is_covered(self, lowest: int, highest: int) -> bool:
        """Whether the image is known at all offsets from ``lowest`` to ``highest``."""
        return any(
            begin.position <= lowest and highest < (self.log.known_to if end is None else end.position)
            for begin, end in self.covered
        )

    def ms_at(self, position: int) -> int | None:
        """When the commit of records at this offset was written; None where no commit begins there."""
        at = begun_by(self.commits, position - 1)
        is_commit = at < len(self.commits) and self.commits[at].position == position
        return self.commits[at].ms if is_commit else None

    def max_partition_epoch(self, position: int) -> int | None:
        """The counter of partition epochs at an offset; None before its first value."""
        at = begun_by(self.counter.begins, position)
        return self.counter.states[at - 1] if at else None
