"""The replay of a metadata log into the history of its cluster."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.protocols.leader_epoch.cluster import BrokerLife, ClusterHistory, PartitionLife, TopicLife
from fencepost.protocols.leader_epoch.elections import Election, election_of
from fencepost.replay.histories import Point
from fencepost.replay.metadata_image import (
    NO_LEADER,
    BrokerRegistration,
    MetadataDelta,
    MetadataImage,
    PartitionId,
    PartitionRegistration,
    PartitionStep,
)
from fencepost.replay.metadata_log import Commit, Hole, MetadataLog
from fencepost.replay.metadata_records import PARTITION, MetadataRecord

_UNKNOWN = PartitionRegistration()


def replay(log: MetadataLog) -> ClusterHistory:
    """Replay a metadata log."""
    return _Replay(log).run()


class _Replay:
    def __init__(self, log: MetadataLog) -> None:
        self._log = log
        self._image = MetadataImage(complete=log.from_beginning)
        self._history = ClusterHistory(log, from_beginning=log.from_beginning)
        self._count = 0
        self._whole = log.from_beginning  # no hole so far

    def run(self) -> ClusterHistory:
        history = self._history
        if self._image.complete:
            first = next((piece.ms for piece in self._log.pieces if piece.ms is not None), None)
            self._cover(Point(0, first))
            history.counter.add(Point(0, first), 0)
        for piece in self._log.pieces:
            at = Point(piece.position, piece.ms)
            delta = self._image.apply(piece)
            if isinstance(piece, Hole):
                self._lose(at)
                continue
            history.commits.append(at)
            if piece.is_snapshot:
                self._load(at, piece, delta)
            else:
                self._apply(at, delta)
                if self._image.complete:
                    self._cover(at)
        return history

    def _cover(self, at: Point) -> None:
        if not self._history.covered or self._history.covered[-1][1] is not None:
            self._history.covered.append((at, None))

    def _lose(self, at: Point) -> None:
        """A hole: from here on the state of nothing that existed before it is known, nor what else exists."""
        self._whole = self._history.from_beginning = False
        covered = self._history.covered
        if covered and covered[-1][1] is None:
            covered[-1] = (covered[-1][0], at)
        for life in self._history.topics.values():
            if life.gone is None:
                life.known = False
                for partition in life.partitions.values():
                    partition.states.add(at, _UNKNOWN)
        for broker in self._history.brokers.values():
            if broker.states.newest is not None:
                broker.states.add(at, (BrokerRegistration(), ""))

    def _load(self, at: Point, piece: Commit, delta: MetadataDelta) -> None:
        """A snapshot: whatever it lacks was deleted in the hole before it."""
        history, image = self._history, self._image
        for life in list(history.topics.values()):
            if life.gone is None and life.topic_id not in image.topics:
                self._count += 1
                self._end(life, at)
                life.known = True
        for topic_id, _ in sorted(delta.topics, key=lambda each: (image.names[each[0]], each[0])):
            life = history.topics.get(topic_id) or self._begin(topic_id, at, None)
            if life.topic is None:
                # records of it behind a hole have its id only
                self._name(life, at)
            life.known = True
            for number, now in sorted(image.topics[topic_id].items()):
                if number not in life.partitions:
                    self._count += 1
                    life.partitions[number] = PartitionLife(PartitionId(topic_id, number), self._count)
                life.partitions[number].states.add(at, now)
        for broker_id, broker in history.brokers.items():
            if broker_id not in image.brokers and broker.states.newest is not None:
                broker.states.add(at, None)
        self._brokers(at, delta)
        self._note_counter(at)
        self._cover(at)

    def _apply(self, at: Point, delta: MetadataDelta) -> None:
        history = self._history
        for topic_id, record in delta.topics:
            self._begin(topic_id, at, None if delta.from_zookeeper else record)
        for place in delta.created:
            life = history.topics.get(place.topic_id) or self._begin(place.topic_id, at, None)
            if place.partition not in life.partitions:
                self._count += 1
                life.partitions[place.partition] = PartitionLife(place, self._count)
        for topic_id, record in delta.removed:
            life = history.topics.get(topic_id) or self._begin(topic_id, at, None)
            self._count += 1
            life.removed, life.removed_partition_epoch, life.known = record, self._count, True
            self._end(life, at)
        elected = []
        for place, steps in delta.partitions.items():
            life = history.topics.get(place.topic_id) or self._begin(place.topic_id, at, None)
            elected += self._steps(at, life, place, steps, copied=delta.from_zookeeper)
        moved = sum(each.moved for each in elected)
        for election in elected:
            election.leaders_moved = moved
        for topic_id, _ in delta.topics:
            history.topics[topic_id].max_partition_epoch = self._count
        self._brokers(at, delta)
        self._note_counter(at)

    def _begin(self, topic_id: str, at: Point, created: MetadataRecord | None) -> TopicLife:
        life = self._history.topics[topic_id] = TopicLife(topic_id, None, at, created=created)
        self._name(life, at)
        return life

    def _name(self, life: TopicLife, at: Point) -> None:
        life.topic, life.named = self._image.names.get(life.topic_id), at.position
        if life.topic is not None:
            before = self._history.by_name.setdefault(life.topic, [])
            life.number = len(before) + 1 if self._whole else None
            life.previous = before[-1].topic_id if before else None
            before.append(life)

    def _end(self, life: TopicLife, at: Point) -> None:
        life.gone = at
        for partition in life.partitions.values():
            partition.states.add(at, None)

    def _steps(
        self, at: Point, life: TopicLife, place: PartitionId, steps: Sequence[PartitionStep], *, copied: bool
    ) -> list[Election]:
        """Apply the changes of one partition in a commit of records, and return the elections among them.
        ``copied``: it was created elsewhere.
        """
        # a PartitionChangeRecord alone does not tell when the partition was created
        partition = life.partitions.setdefault(place.partition, PartitionLife(place, None))
        before, elections = partition.states.newest, []
        for record, now in steps:
            if now is not None:
                when = Point(record.offset, record.timestamp_ms)
                election = election_of(when, before, now, created=record.type == PARTITION and not copied)
                if election is not None:
                    election.failed_log_dir = self._failed_log_dir(election, before, partition)
                    elections.append(election)
            before = now
        if before is not None or life.gone is None:
            partition.states.add(at, before)
        partition.elections += elections
        return elections

    def _failed_log_dir(
        self, election: Election, before: PartitionRegistration | None, partition: PartitionLife
    ) -> str | None:
        """Where a leader lost a log directory, the same commit of records says which ones it has left
        (ReplicationControlManager.handleDirectoriesOffline). A broker whose disk was replaced registers
        without it, and leads again what nobody else could lead meanwhile.
        """
        if before is None or before.leader is None or not election.moved:
            return None
        is_back = before.leader == NO_LEADER
        if not is_back:
            partition.led_from = (before.leader, before.directory_of(before.leader))
        led_by, directory = partition.led_from or (None, None)
        if led_by is None or directory is None or (is_back and led_by != election.leader):
            return None
        broker = self._image.brokers.get(led_by)
        # one that is fenced moves its leaders whatever its directories are
        if broker is None or broker.log_dirs is None or (broker.fenced is not False and not is_back):
            return None
        return None if directory in broker.log_dirs else directory

    def _brokers(self, at: Point, delta: MetadataDelta) -> None:
        for broker_id, record in delta.brokers.items():
            life = self._history.brokers.setdefault(broker_id, BrokerLife())
            registration = self._image.brokers.get(broker_id)
            life.states.add(at, None if registration is None else (registration, record.name))

    def _note_counter(self, at: Point) -> None:
        if self._history.counter.newest != self._count:
            self._history.counter.add(at, self._count)
