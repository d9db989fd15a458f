"""A cluster's metadata from its metadata log: incarnations of topics, coordinators' leaders, brokers'
versions.

The log of KRaft (``__cluster_metadata``) is about the whole cluster, so all replays of its logs share this.
It is small, picklable and made once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from fencepost.replay.broker_configs import BrokerConfigs, Logged, Registration
from fencepost.replay.dynamic_configs import GROUP, DynamicConfigs
from fencepost.replay.keys import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from fencepost.replay.metadata_image import (
    NO_LEADER,
    Brokers,
    MetadataDelta,
    MetadataImage,
    PartitionId,
    PartitionRegistration,
)
from fencepost.replay.metadata_log import Commit, Hole, MetadataLog, Piece
from fencepost.replay.metadata_records import REGISTER_BROKER, MetadataRecord

_COORDINATORS_TOPICS = (OFFSETS_TOPIC, TRANSACTIONS_TOPIC)


CLOCKS_DIFFER_MS = 60_000
"""The clocks of two brokers differ by less."""


@dataclass(frozen=True, slots=True)
class Incarnation:
    """A topic from its creation until the creation of the next topic with that name.

    ``valid_from_ms`` is None for the first one, whose creation may only be in a snapshot. ``valid_to_ms`` is
    None for the last one.
    """

    topic: str
    topic_id: str
    valid_from_ms: int | None
    valid_to_ms: int | None


@dataclass(frozen=True, slots=True)
class Sighting:
    """A topic id together with its topic's name, in a record that was written at ``timestamp_ms``."""

    topic: str
    topic_id: str
    timestamp_ms: int


class Topics:
    """Every incarnation of every topic."""

    def __init__(
        self, created: Iterable[Sighting], seen: Iterable[Sighting] = (), known_ms: int | None = None
    ) -> None:
        """``created``: from records that create topics; ``seen``: from other records, which count for ids
        without a known creation. ``known_ms``: until then no creation is missing behind the first known one
        of a name: an id that is seen meanwhile is that of a topic before it, as a late commit has it.
        """
        created = list(created)
        known = {sighting.topic_id for sighting in created}
        born: dict[str, int] = {}
        for each in created:
            born[each.topic] = min(born.get(each.topic, each.timestamp_ms), each.timestamp_ms)
        uncreated = (_placed(each, born, known_ms) for each in seen if each.topic_id not in known)
        first: dict[tuple[str, str], int] = {}
        for sighting in [*created, *uncreated]:
            key = (sighting.topic, sighting.topic_id)
            first[key] = min(first.get(key, sighting.timestamp_ms), sighting.timestamp_ms)
        by_name: dict[str, list[tuple[int, str]]] = {}
        for (topic, topic_id), ms in first.items():
            by_name.setdefault(topic, []).append((ms, topic_id))
        self._by_name: dict[str, list[Incarnation]] = {}
        # when each incarnation begins, except the first one, which counts from the beginning of time
        self._starts: dict[str, list[int]] = {}
        self._names: dict[str, str] = {}
        for topic, ids in sorted(by_name.items()):
            ids.sort()
            self._starts[topic] = ends = [ms for ms, _ in ids[1:]]
            self._by_name[topic] = [
                Incarnation(topic, topic_id, ms if at else None, end)
                for at, ((ms, topic_id), end) in enumerate(zip(ids, [*ends, None], strict=True))
            ]
            for _, topic_id in ids:
                self._names.setdefault(topic_id, topic)

    def id_at(self, topic: str | None, ms: int) -> str | None:
        """The id of the topic that had a name at a time; None if it is not known."""
        if topic is None or topic not in self._by_name:
            return None
        return self._by_name[topic][bisect_right(self._starts[topic], ms)].topic_id

    def id_during(self, topic: str | None, from_ms: int, to_ms: int) -> str | None:
        """The id of the topic that had a name between two times; None if several had it, or none is known."""
        if topic is None or topic not in self._by_name:
            return None
        starts = self._starts[topic]
        number = bisect_right(starts, from_ms)
        return self._by_name[topic][number].topic_id if number == bisect_right(starts, to_ms) else None

    def name_of(self, topic_id: str | None) -> str | None:
        """The name of a topic id; None if no evidence has it."""
        return None if topic_id is None else self._names.get(topic_id)

    def incarnations(self) -> list[Incarnation]:
        """All incarnations, by name and time."""
        return [incarnation for each in self._by_name.values() for incarnation in each]


def _placed(seen: Sighting, born: Mapping[str, int], known_ms: int | None) -> Sighting:
    """A topic without a known creation where it was seen, or before the first of its name (``born``)."""
    begins = born.get(seen.topic)
    if begins is None or known_ms is None or not begins <= seen.timestamp_ms < known_ms:
        return seen
    return Sighting(seen.topic, seen.topic_id, begins - 1)


class Growth(NamedTuple):
    """A time by which a coordinators' topic got more partitions than it had ``before``: between the two
    times, by the controllers' clocks.
    """

    before: int
    earliest_ms: int
    latest_ms: int


class Moment(NamedTuple):
    """When a controller wrote a record, by its own clock; ``node_id`` is None if no record names it."""

    ms: int
    node_id: int | None


@dataclass(frozen=True, slots=True)
class CoordinatorTopic:
    """One incarnation of a coordinators' topic. ``partitions``: how many it has, if known. ``created`` is
    None if only a snapshot has its creation, ``removed`` None if no record removes it. ``is_gone``: it does
    not exist any more. ``growths``: when it got more partitions, in order.
    """

    topic_id: str
    partitions: int | None
    created: Moment | None
    removed: Moment | None
    is_gone: bool
    growths: tuple[Growth, ...] = ()


@dataclass(frozen=True)
class ClusterMetadata:
    """One cluster's metadata that every replay of its logs needs, from its metadata log and its
    configuration.

    ``partition_counts``: {topic: count} for the coordinators' topics; ``coordinators``: {topic: its
    incarnations, in order} for the same; ``elected``: {topic: {(topic id, partition, leader epoch): broker
    id}} for the same; ``replicas``: {topic: {partition: broker ids}}, at the end of the log, for the same,
    and ``replicas_of_gone``: {(topic id, partition): broker ids} of those that do not exist any more.
    ``clean``: {topic: {(topic id, partition, leader epoch)}} of the leader epochs that are known to have
    begun without an unclean election, for the same. ``broker_epochs``: {broker id: epoch} of every broker's
    last start; ``hosts``: the brokers that have a replica at the end of the log. ``releases``: {broker id:
    (major, minor)} of the configuration. ``configs``, ``group_configs``: the
    configurations of brokers, and the dynamic ones of groups. ``gone``: {topic
    id: when it was deleted, or known not to exist any more} of every topic; ``removed``: {topic id: when the
    record of its deletion was written} of those that have one. ``has_holes``: a part of the metadata log is
    missing. What is not known is left out.
    """

    topics: Topics = field(default_factory=lambda: Topics(()))
    created: tuple[Sighting, ...] = ()
    partition_counts: Mapping[str, int] = field(default_factory=dict)
    elected: Mapping[str, Mapping[tuple[str, int, int], int]] = field(default_factory=dict)
    clean: Mapping[str, Set[tuple[str, int, int]]] = field(default_factory=dict)
    replicas: Mapping[str, Mapping[int, Brokers]] = field(default_factory=dict)
    registrations: Mapping[int, tuple[Registration, ...]] = field(default_factory=dict)
    broker_epochs: Mapping[int, int] = field(default_factory=dict)
    releases: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    configs: BrokerConfigs = field(default_factory=BrokerConfigs)
    group_configs: DynamicConfigs = field(default_factory=DynamicConfigs)
    coordinators: Mapping[str, tuple[CoordinatorTopic, ...]] = field(default_factory=dict)
    replicas_of_gone: Mapping[PartitionId, Brokers] = field(default_factory=dict)
    from_beginning: bool = False
    has_holes: bool = False
    hosts: Set[int] = frozenset()
    gone: Mapping[str, int] = field(default_factory=dict)
    removed: Mapping[str, Moment] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        log: MetadataLog,
        seen: Iterable[Sighting] = (),
        releases: Mapping[int, tuple[int, int]] | None = None,
        logged: Mapping[int, Sequence[Logged]] | None = None,
    ) -> ClusterMetadata:
        """From the metadata log; ``seen`` as Topics takes it, ``logged`` as BrokerConfigs does."""
        past = _Past(log)
        registrations = past.registrations()
        return cls(
            Topics(past.created, seen, _all_known_ms(log, is_one_clock=len(registrations) == 1)),
            tuple(past.created),
            past.partition_counts(),
            {topic: past.elected(topic) for topic in _COORDINATORS_TOPICS},
            {topic: past.clean(topic) for topic in _COORDINATORS_TOPICS},
            past.replicas(),
            registrations,
            past.broker_epochs(),
            dict(releases or {}),
            BrokerConfigs(DynamicConfigs.of(log), registrations, logged or {}, log.from_beginning),
            DynamicConfigs.of(log, GROUP),
            past.coordinators(),
            past.replicas_of_gone(),
            log.from_beginning,
            past.has_holes,
            past.hosts(),
            past.gone,
            past.removed,
        )

    def leaders(self, topic: str, partition: int, topic_id: str | None = None) -> dict[int, int]:
        """Leader epoch -> the broker that was elected to lead a coordinator's log; without ``topic_id`` only
        where all incarnations of the topic agree.
        """
        named: dict[int, set[int]] = {}
        for (of, number, epoch), broker in self.elected.get(topic, {}).items():
            if number == partition and topic_id in (None, of):
                named.setdefault(epoch, set()).add(broker)
        return {epoch: min(brokers) for epoch, brokers in named.items() if len(brokers) == 1}

    def terms(self, topic: str) -> dict[tuple[str | None, int, int], int]:
        """The leaders of a coordinators' topic by topic id, partition and leader epoch; without topic id only
        where all incarnations agree.
        """
        elected = self.elected.get(topic, {})
        partitions = {partition for _, partition, _ in elected}
        terms: dict[tuple[str | None, int, int], int] = dict(elected.items())
        for partition in sorted(partitions):
            for epoch, leader in self.leaders(topic, partition).items():
                terms[None, partition, epoch] = leader
        return terms

    def clean_epochs(self, topic: str, partition: int, topic_id: str | None = None) -> set[int]:
        """The leader epochs of a coordinator's log that are known to have begun without an unclean
        election: what was in effect before is in the log.
        """
        clean = self.clean.get(topic, ())
        return {epoch for of, number, epoch in clean if number == partition and topic_id in (None, of)}

    def is_replicated(self, topic: str, partition: int | None, topic_id: str | None = None) -> bool:
        """Whether a coordinator's log has several replicas; True if that is not known."""
        if partition is None:
            return True
        gone = self.replicas_of_gone.get(PartitionId(topic_id or "", partition))
        replicas = self.replicas.get(topic, {}).get(partition) if gone is None else gone
        return replicas is None or len(replicas) != 1

    def registration(self, broker_id: int, ms: int) -> Registration | None:
        """The broker's last start before a time; None if the metadata log has none."""
        for each in reversed(self.registrations.get(broker_id, ())):
            if each.from_ms <= ms:
                return each
        return None


class _Past:
    """The past that MetadataImage does not keep: creations of topics, elections, and starts of brokers."""

    def __init__(self, log: MetadataLog) -> None:
        self.created: list[Sighting] = []
        self.gone: dict[str, int] = {}
        self._partitions: dict[str, set[int]] = {}
        self._growths: dict[str, tuple[Growth, ...]] = {}
        self._leaders: dict[tuple[str, int, int], int] = {}
        self._clean: set[tuple[str, int, int]] = set()
        self._newest: dict[PartitionId, PartitionRegistration] = {}
        self._coordinators: set[str] = set()
        self._created: dict[str, Moment] = {}
        self.removed: dict[str, Moment] = {}
        self._replicas: dict[PartitionId, Brokers] = {}
        self._starts: dict[int, list[Registration]] = {}
        self.has_holes = False
        self._newest_ids: dict[str, str] = {}
        image = MetadataImage(complete=log.from_beginning)
        named: set[str] = set()
        for piece in log.pieces:
            delta = image.apply(piece)
            if isinstance(piece, Hole):
                self._newest.clear()
                self.has_holes = True
            self._note_gone(piece, delta, image)
            for topic_id, record in delta.topics:
                if topic_id not in named:
                    named.add(topic_id)
                    self.created.append(Sighting(record.fields["name"], topic_id, _ms(piece, record)))
            self._note_incarnations(log, piece, delta)
            self._note_partitions(piece, delta, image)
            for broker_id, record in delta.brokers.items():
                self._note_start(piece, delta, image, broker_id, record)
        self._names = image.names
        self._image = image

    def _note_gone(self, piece: Piece, delta: MetadataDelta, image: MetadataImage) -> None:
        """Note which topics do not exist any more, also those whose deletion a hole hides: a snapshot does
        not have them, or another topic has their name.
        """
        for topic_id, record in delta.removed:
            self.gone.setdefault(topic_id, _ms(piece, record))
        for topic_id, record in delta.topics:
            before = self._newest_ids.get(record.fields["name"], topic_id)
            if before != topic_id:
                self.gone.setdefault(before, _ms(piece, record))
            self._newest_ids[record.fields["name"]] = topic_id
        if _is_snapshot(piece):
            for topic_id in image.names.keys() - image.topics.keys():
                self.gone.setdefault(topic_id, piece.ms or 0)

    def _note_start(
        self,
        piece: Piece,
        delta: MetadataDelta,
        image: MetadataImage,
        broker_id: int,
        record: MetadataRecord,
    ) -> None:
        known = image.brokers.get(broker_id)
        if known is None:
            return
        starts, ms = self._starts.setdefault(broker_id, []), _ms(piece, record)
        if record.type == REGISTER_BROKER:
            is_dated = not _is_snapshot(piece) and not delta.from_zookeeper
            starts.append(Registration(ms, known.metadata_version, known.incarnation_id, is_dated))
        if known.fenced is False and starts and starts[-1].ready_ms is None:
            starts[-1] = replace(starts[-1], ready_ms=ms)

    def _note_incarnations(self, log: MetadataLog, piece: Piece, delta: MetadataDelta) -> None:
        """Note when coordinators' topics were created, and when any topic was removed."""
        for topic_id, record in delta.topics:
            if record.fields["name"] in _COORDINATORS_TOPICS:
                self._coordinators.add(topic_id)
                if not _is_snapshot(piece) and not delta.from_zookeeper:
                    self._created.setdefault(topic_id, _moment(log, piece, record))
        for topic_id, record in delta.removed:
            self.removed[topic_id] = _moment(log, piece, record)

    def _note_partitions(self, piece: Piece, delta: MetadataDelta, image: MetadataImage) -> None:
        """Note what the coordinators' topics' partitions became, and when there were more of them."""
        before = {topic_id: len(each) for topic_id, each in self._partitions.items()}
        for place, steps in delta.partitions.items():
            if image.names.get(place.topic_id) in _COORDINATORS_TOPICS:
                for _, now in steps:
                    self._note(place, now)
        for topic_id, count in before.items():
            if len(self._partitions[topic_id]) > count:
                ms = piece.ms or 0
                growth = Growth(count, ms if image.complete and not _is_snapshot(piece) else 0, ms)
                self._growths[topic_id] = (*self._growths.get(topic_id, ()), growth)

    def _note(self, place: PartitionId, now: PartitionRegistration | None) -> None:
        if now is None:
            return
        self._partitions.setdefault(place.topic_id, set()).add(place.partition)
        before = self._newest.get(place)
        self._newest[place] = now
        if now.replicas is not None:
            self._replicas[place] = now.replicas
        if now.leader_epoch is None or now.leader is None:
            return
        if now.leader != NO_LEADER:
            self._leaders.setdefault((*place, now.leader_epoch), now.leader)
        if before is not None and before.leader_epoch == now.leader_epoch - 1 and _keeps(before, now):
            self._clean.add((*place, now.leader_epoch))

    def partition_counts(self) -> dict[str, int]:
        """How many partitions each of the coordinators' topics has, or had when it was last known."""
        counts = {topic: [each.partitions for each in of] for topic, of in self.coordinators().items()}
        return {topic: known[-1] for topic, of in counts.items() if (known := [each for each in of if each])}

    def coordinators(self) -> dict[str, tuple[CoordinatorTopic, ...]]:
        """The incarnations of the coordinators' topics."""
        incarnations: dict[str, list[CoordinatorTopic]] = {}
        for sighting in self.created:
            if sighting.topic in _COORDINATORS_TOPICS:
                topic_id = sighting.topic_id
                each = CoordinatorTopic(
                    topic_id,
                    len(self._partitions.get(topic_id, ())) or None,
                    self._created.get(topic_id),
                    self.removed.get(topic_id),
                    topic_id not in self._image.topics,
                    self._growths.get(topic_id, ()),
                )
                incarnations.setdefault(sighting.topic, []).append(each)
        return {topic: tuple(each) for topic, each in sorted(incarnations.items())}

    def elected(self, topic: str) -> dict[tuple[str, int, int], int]:
        """The leaders of a topic's partitions by topic id and leader epoch."""
        return {place: leader for place, leader in self._leaders.items() if self._names[place[0]] == topic}

    def clean(self, topic: str) -> set[tuple[str, int, int]]:
        """The leader epochs of a topic's partitions that began without an unclean election."""
        return {place for place in self._clean if self._names[place[0]] == topic}

    def replicas_of_gone(self) -> dict[PartitionId, Brokers]:
        """The last replicas of the coordinators' topics that do not exist any more."""
        return {
            place: each for place, each in self._replicas.items() if place.topic_id not in self._image.topics
        }

    def replicas(self) -> dict[str, dict[int, Brokers]]:
        """{topic: {partition: broker ids}} of the replicas at the end of the log."""
        return {
            self._names[topic_id]: {
                number: each.replicas for number, each in partitions.items() if each.replicas is not None
            }
            for topic_id, partitions in self._image.topics.items()
            if self._names.get(topic_id) in _COORDINATORS_TOPICS
        }

    def hosts(self) -> frozenset[int]:
        """The brokers that have a replica of any partition at the end of the log."""
        replicas = (each.replicas for of_topic in self._image.topics.values() for each in of_topic.values())
        return frozenset(broker_id for each in replicas for broker_id in each or ())

    def broker_epochs(self) -> dict[int, int]:
        """The epoch of every broker that is registered at the end of the log."""
        brokers = self._image.brokers.items()
        return {broker_id: each.epoch for broker_id, each in brokers if each.epoch is not None}

    def registrations(self) -> dict[int, tuple[Registration, ...]]:
        """Every start of every broker, in order."""
        return {broker: tuple(starts) for broker, starts in self._starts.items()}


def _all_known_ms(log: MetadataLog, *, is_one_clock: bool) -> int | None:
    """Until when brokers' clocks say that the log has no hole behind its beginning; None if that is not
    known.
    """
    ms = next((each.ms for each in log.pieces[1:] if isinstance(each, Hole)), log.known_ms)
    return ms if ms is None or is_one_clock else ms - CLOCKS_DIFFER_MS


def _keeps(before: PartitionRegistration, now: PartitionRegistration) -> bool:
    """Whether an election is known to keep all records that took effect."""
    return now.leader == NO_LEADER or now.elected_unclean(before) is False


def _moment(log: MetadataLog, piece: Piece, record: MetadataRecord) -> Moment:
    writers = [each for each in log.terms if each.position <= piece.position]
    return Moment(_ms(piece, record), writers[-1].controller_id if writers else None)


def _is_snapshot(piece: Piece) -> bool:
    return isinstance(piece, Commit) and piece.is_snapshot


def _ms(piece: Piece, record: MetadataRecord) -> int:
    """When a record was written; for one in a snapshot, when the snapshot was taken."""
    ms = piece.ms if _is_snapshot(piece) else record.timestamp_ms
    return 0 if ms is None else ms
