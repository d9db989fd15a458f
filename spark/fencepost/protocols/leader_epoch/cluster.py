"""What the metadata log says of topics, partitions and brokers, from its first record to its last.

MetadataImage has what is so now; this keeps what was, with KIP-232's partition epochs, which Kafka never had.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from fencepost.protocols.leader_epoch.elections import Election, election_of
from fencepost.replay.histories import History, Point, begun_by
from fencepost.replay.metadata_image import (
    BrokerRegistration,
    MetadataDelta,
    MetadataImage,
    PartitionId,
    PartitionRegistration,
    PartitionStep,
)
from fencepost.replay.metadata_log import PARTITION, Commit, Hole, MetadataLog, MetadataRecord

_UNKNOWN = PartitionRegistration()


@dataclass(slots=True)
class PartitionLife:
    """One partition of one incarnation: its states, None when it is gone, and who was elected.

    ``partition_epoch`` is KIP-232's; None where its creation is in a hole.
    """

    id: PartitionId
    partition_epoch: int | None
    states: History[PartitionRegistration | None] = field(default_factory=History)
    elections: list[Election] = field(default_factory=list)

    def between(self, lowest: int, highest: int) -> list[PartitionRegistration | None]:
        """What it may have been at offsets from ``lowest`` to ``highest``; None: not there."""
        begins = self.states.begins
        first, last = begun_by(begins, lowest), begun_by(begins, highest)
        before: list[PartitionRegistration | None] = [None] if first == 0 else []
        return before + self.states.states[max(first - 1, 0) : last]


@dataclass(slots=True)
class TopicLife:
    """One incarnation. ``begins`` is where it is first seen, ``named`` where its name is known from,
    ``created`` and ``removed`` the records.
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
    """A broker's registrations, None while it has none; each with the record that made it so."""

    states: History[tuple[BrokerRegistration, str] | None] = field(default_factory=History)


@dataclass(slots=True)
class ClusterHistory:
    """Everything that the metadata log of a cluster tells.

    ``covered``: from where to where (None: to the end) its image is known. ``counter``: KIP-232's counter;
    ``from_beginning``: it counts from the beginning of the log, so that not only its order is the cluster's.
    ``by_name``: incarnations in the order of their creation.
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
        """One of them."""
        life = self.topics.get(topic_id) if topic_id is not None else None
        return life.partitions.get(partition) if life else None

    def named(self, topic: str, lowest: int, highest: int) -> Sequence[TopicLife]:
        """The incarnations of a name that may have been there at offsets ``lowest`` to ``highest``, all of
        which are covered: of those that came before, only the newest may not have gone.
        """
        lives = self.by_name.get(topic, ())
        first = bisect_right(lives, lowest, key=lambda life: life.named)
        last = bisect_right(lives, highest, key=lambda life: life.named)
        return lives[max(first - 1, 0) : last]

    def next_begins(self, life: TopicLife) -> Point | None:
        """Where the next incarnation of the same name begins."""
        if life.topic is None:
            return None
        lives, begins = self.by_name.get(life.topic, ()), self._begins.get(life.topic, ())
        if len(begins) != len(lives):
            # what is named in a snapshot may have begun before, in a hole
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
        """When the commit of records at an offset was written; None where there is none."""
        at = begun_by(self.commits, position - 1)
        there = at < len(self.commits) and self.commits[at].position == position
        return self.commits[at].ms if there else None

    def max_partition_epoch(self, position: int) -> int | None:
        """The counter at an offset."""
        at = begun_by(self.counter.begins, position)
        return self.counter.states[at - 1] if at else None


def replay(log: MetadataLog) -> ClusterHistory:
    """Replay a metadata log."""
    return _Replay(log).run()


class _Replay:
    def __init__(self, log: MetadataLog) -> None:
        self._log = log
        self._image = MetadataImage(complete=log.from_beginning)
        self._found = ClusterHistory(log, from_beginning=log.from_beginning)
        self._count = 0
        self._whole = log.from_beginning  # nothing is hidden that came before

    def run(self) -> ClusterHistory:
        found = self._found
        if self._image.complete:
            first = next((piece.ms for piece in self._log.pieces if piece.ms is not None), None)
            self._cover(Point(0, first))
            found.counter.add(Point(0, first), 0)
        for piece in self._log.pieces:
            at = Point(piece.position, piece.ms)
            delta = self._image.apply(piece)
            if isinstance(piece, Hole):
                self._lose(at)
                continue
            found.commits.append(at)
            if piece.is_snapshot:
                self._load(at, piece, delta)
            else:
                self._apply(at, delta)
        return found

    def _cover(self, at: Point) -> None:
        if not self._found.covered or self._found.covered[-1][1] is not None:
            self._found.covered.append((at, None))

    def _lose(self, at: Point) -> None:
        """Behind a hole nothing is known of what was there before it, nor what else there is."""
        self._whole = self._found.from_beginning = False
        covered = self._found.covered
        if covered and covered[-1][1] is None:
            covered[-1] = (covered[-1][0], at)
        for life in self._found.topics.values():
            if life.gone is None:
                life.known = False
                for partition in life.partitions.values():
                    partition.states.add(at, _UNKNOWN)
        for broker in self._found.brokers.values():
            if broker.states.newest is not None:
                broker.states.add(at, (BrokerRegistration(), ""))

    def _load(self, at: Point, piece: Commit, delta: MetadataDelta) -> None:
        """A snapshot: what it does not have went in the hole before it."""
        found, image = self._found, self._image
        for life in list(found.topics.values()):
            if life.gone is None and life.topic_id not in image.topics:
                self._count += 1
                self._end(life, at)
                life.known = True
        for topic_id, _ in sorted(delta.topics, key=lambda each: (image.names[each[0]], each[0])):
            life = found.topics.get(topic_id) or self._begin(topic_id, at, None)
            if life.topic is None:
                # what was told of it in a hole had the id only
                self._name(life, at)
            life.known = True
            for number, now in sorted(image.topics[topic_id].items()):
                if number not in life.partitions:
                    self._count += 1
                    life.partitions[number] = PartitionLife(PartitionId(topic_id, number), self._count)
                life.partitions[number].states.add(at, now)
        for broker_id, broker in found.brokers.items():
            if broker_id not in image.brokers and broker.states.newest is not None:
                broker.states.add(at, None)
        self._brokers(at, delta)
        self._counted(at)
        self._cover(at)

    def _apply(self, at: Point, delta: MetadataDelta) -> None:
        found = self._found
        for topic_id, record in delta.topics:
            self._begin(topic_id, at, record)
        for place in delta.created:
            life = found.topics.get(place.topic_id) or self._begin(place.topic_id, at, None)
            if place.partition not in life.partitions:
                self._count += 1
                life.partitions[place.partition] = PartitionLife(place, self._count)
        for topic_id, record in delta.removed:
            life = found.topics.get(topic_id) or self._begin(topic_id, at, None)
            self._count += 1
            life.removed, life.removed_partition_epoch, life.known = record, self._count, True
            self._end(life, at)
        elected = []
        for place, steps in delta.partitions.items():
            life = found.topics.get(place.topic_id) or self._begin(place.topic_id, at, None)
            elected += self._steps(at, life, place, steps)
        moved = sum(each.moved for each in elected)
        for election in elected:
            election.leaders_moved = moved
        for topic_id, _ in delta.topics:
            found.topics[topic_id].max_partition_epoch = self._count
        self._brokers(at, delta)
        self._counted(at)

    def _begin(self, topic_id: str, at: Point, created: MetadataRecord | None) -> TopicLife:
        life = self._found.topics[topic_id] = TopicLife(topic_id, None, at, created=created)
        self._name(life, at)
        return life

    def _name(self, life: TopicLife, at: Point) -> None:
        life.topic, life.named = self._image.names.get(life.topic_id), at.position
        if life.topic is not None:
            before = self._found.by_name.setdefault(life.topic, [])
            life.number = len(before) + 1 if self._whole else None
            life.previous = before[-1].topic_id if before else None
            before.append(life)

    def _end(self, life: TopicLife, at: Point) -> None:
        life.gone = at
        for partition in life.partitions.values():
            partition.states.add(at, None)

    def _steps(
        self, at: Point, life: TopicLife, place: PartitionId, steps: Sequence[PartitionStep]
    ) -> list[Election]:
        """What a partition is from here on, and the elections on the way there."""
        # of a change alone nobody knows when the partition was created
        partition = life.partitions.setdefault(place.partition, PartitionLife(place, None))
        before, found = partition.states.newest, []
        for record, now in steps:
            if now is not None:
                when = Point(record.offset, record.timestamp_ms)
                election = election_of(when, before, now, created=record.type == PARTITION)
                found += [] if election is None else [election]
            before = now
        if before is not None or life.gone is None:
            partition.states.add(at, before)
        partition.elections += found
        return found

    def _brokers(self, at: Point, delta: MetadataDelta) -> None:
        for broker_id, record in delta.brokers.items():
            life = self._found.brokers.setdefault(broker_id, BrokerLife())
            registration = self._image.brokers.get(broker_id)
            life.states.add(at, None if registration is None else (registration, record.name))

    def _counted(self, at: Point) -> None:
        if self._found.counter.newest != self._count:
            self._found.counter.add(at, self._count)
