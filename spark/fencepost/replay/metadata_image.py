"""Kafka's MetadataImage: topics, partitions and brokers after the records so far. What a hole hides is
unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from fencepost.replay.keys import ZERO_ID
from fencepost.replay.metadata_log import Hole, Piece
from fencepost.replay.metadata_records import (
    BROKER_CHANGE,
    CLEAR_ELR,
    FENCE_BROKER,
    PARTITION,
    PARTITION_CHANGE,
    REGISTER_BROKER,
    REMOVE_TOPIC,
    TOPIC,
    UNFENCE_BROKER,
    UNREGISTER_BROKER,
    ZK_MIGRATION_STATE,
    MetadataRecord,
)

NO_LEADER = -1
_NO_LEADER_CHANGE = -2
_RECOVERING = 1
_MIGRATION, _PRE_MIGRATION = 1, 2
"""Values of ZkMigrationState: the controller has copied ZooKeeper's metadata; it is going to."""
_NO_DIRECTORY = frozenset({ZERO_ID, f"{ZERO_ID[:-1]}Q", f"{ZERO_ID[:-1]}g"})
"""DirectoryId.UNASSIGNED, LOST and MIGRATING, which stand for no directory."""
Brokers = tuple[int, ...]


class PartitionId(NamedTuple):
    """One partition of one incarnation."""

    topic_id: str
    partition: int


@dataclass(frozen=True, slots=True)
class PartitionRegistration:
    """A partition as the controller has it; None: not known. ``partition_epoch`` is KRaft's. ``directories``:
    the ids of the log directories of its ``replicas`` (KIP-858).
    """

    leader: int | None = None
    leader_epoch: int | None = None
    partition_epoch: int | None = None
    isr: Brokers | None = None
    replicas: Brokers | None = None
    elr: Brokers | None = None
    recovering: bool | None = None
    directories: tuple[str, ...] | None = None

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> PartitionRegistration:
        """From a PartitionRecord."""
        return cls(
            record.get("leader"),
            record.get("leader_epoch"),
            record.get("partition_epoch"),
            _brokers(record.get("isr")),
            _brokers(record.get("replicas")),
            _brokers(record.get("eligible_leader_replicas")) or (),
            record.get("leader_recovery_state") == _RECOVERING,
            _ids(record.get("directories")),
        )

    def merge(self, change: Mapping[str, Any]) -> PartitionRegistration:
        """The partition after a PartitionChangeRecord, as in Kafka's PartitionRegistration.merge: if the
        record names a leader, a new leader epoch begins.
        """
        leader = change.get("leader", _NO_LEADER_CHANGE)
        elected = leader is not None and leader != _NO_LEADER_CHANGE
        isr, replicas = _brokers(change.get("isr")), _brokers(change.get("replicas"))
        elr, recovery = _brokers(change.get("eligible_leader_replicas")), change.get("leader_recovery_state")
        directories = _ids(change.get("directories"))
        return PartitionRegistration(
            leader if elected else self.leader,
            _next(self.leader_epoch) if elected else self.leader_epoch,
            _next(self.partition_epoch),
            self.isr if isr is None else isr,
            self.replicas if replicas is None else replicas,
            self.elr if elr is None else elr,
            # LeaderRecoveryState.changeTo: -1 is no change
            self.recovering if recovery is None or recovery < 0 else recovery == _RECOVERING,
            directories or (self.directories if replicas is None else None),
        )

    def directory_of(self, broker_id: int) -> str | None:
        """The id of the log directory of a broker's replica; None if it has none, or if that is not known."""
        of_replicas = dict(zip(self.replicas or (), self.directories or (), strict=False))
        directory = of_replicas.get(broker_id)
        return None if directory in _NO_DIRECTORY else directory

    def elected_unclean(self, before: PartitionRegistration) -> bool | None:
        """Whether the leader was elected although it was not in sync ``before``; None if it is not known.

        One record ends a reassignment: it has the ISR that the leader before reported at last, and if this
        is no replica any more, the leader that was elected from that (PartitionChangeBuilder).
        """
        if self.recovering and not before.recovering:
            return True
        if self.replicas is not None and before.leader not in {None, NO_LEADER, *self.replicas}:
            return None if self.isr is None else self.leader not in self.isr
        if before.isr is None or before.elr is None or self.leader is None:
            return None
        return self.leader not in before.isr and self.leader not in before.elr


PartitionStep = tuple[MetadataRecord, PartitionRegistration | None]


@dataclass(frozen=True, slots=True)
class BrokerRegistration:
    """A broker's registration; None: not known. ``metadata_version`` is the highest that it supports,
    ``log_dirs`` the ids of the log directories that are online (KIP-858).
    """

    epoch: int | None = None
    incarnation_id: str | None = None
    fenced: bool | None = None
    in_controlled_shutdown: bool | None = None
    metadata_version: int | None = None
    log_dirs: frozenset[str] | None = None


@dataclass(slots=True)
class MetadataDelta:
    """The changes by one piece of the log, in the order of the records.

    ``partitions``: each partition's states after each record that changed it, None if the record removed it.
    One batch may change a partition more than once. ``from_zookeeper``: they were copied from ZooKeeper,
    where topics had been created and leaders elected before.
    """

    topics: list[tuple[str, MetadataRecord]] = field(default_factory=list)
    removed: list[tuple[str, MetadataRecord]] = field(default_factory=list)
    created: list[PartitionId] = field(default_factory=list)
    partitions: dict[PartitionId, list[PartitionStep]] = field(default_factory=dict)
    brokers: dict[int, MetadataRecord] = field(default_factory=dict)
    from_zookeeper: bool = False


class MetadataImage:
    """The image after the records so far. ``complete``: the cluster has nothing that the image does not have.

    ``names``: topic id -> name, also of removed topics, because a RemoveTopicRecord has only the id.
    """

    def __init__(self, *, complete: bool) -> None:
        self.complete = complete
        self._in_zookeeper = False
        self.names: dict[str, str] = {}
        self.topics: dict[str, dict[int, PartitionRegistration]] = {}
        self.brokers: dict[int, BrokerRegistration] = {}

    def apply(self, piece: Piece) -> MetadataDelta:
        """Apply the next piece of the log. After a hole every value is unknown until a record gives it."""
        delta = MetadataDelta(from_zookeeper=self._in_zookeeper)
        if isinstance(piece, Hole):
            self._forget()
            return delta
        if piece.is_snapshot:
            self.complete, self.topics, self.brokers = True, {}, {}
        for record in piece.records:
            self._replay(record, delta)
        return delta

    def _forget(self) -> None:
        self.complete = self._in_zookeeper = False
        unknown = PartitionRegistration()
        self.topics = {topic_id: dict.fromkeys(each, unknown) for topic_id, each in self.topics.items()}
        self.brokers = dict.fromkeys(self.brokers, BrokerRegistration())

    def _replay(self, record: MetadataRecord, delta: MetadataDelta) -> None:
        fields = record.fields
        if record.type == PARTITION_CHANGE:
            self._change(PartitionId(fields["topic_id"], fields["partition_id"]), record, fields, delta)
        elif record.type == PARTITION:
            place = PartitionId(fields["topic_id"], fields["partition_id"])
            partitions = self.topics.setdefault(place.topic_id, {})
            if place.partition not in partitions:
                delta.created.append(place)
            partitions[place.partition] = PartitionRegistration.of(fields)
            delta.partitions.setdefault(place, []).append((record, partitions[place.partition]))
        elif record.type == TOPIC:
            self.names[fields["topic_id"]] = fields["name"]
            self.topics.setdefault(fields["topic_id"], {})
            delta.topics.append((fields["topic_id"], record))
        elif record.type == REMOVE_TOPIC:
            removed = self.topics.pop(fields["topic_id"], {})
            for number in removed:
                place = PartitionId(fields["topic_id"], number)
                delta.partitions.setdefault(place, []).append((record, None))
            delta.removed.append((fields["topic_id"], record))
        elif record.type == CLEAR_ELR:
            self._clear_elr(record, delta)
        elif record.type == ZK_MIGRATION_STATE:
            state = fields["zk_migration_state"]
            self.complete |= self._in_zookeeper and state == _MIGRATION
            self._in_zookeeper = state == _PRE_MIGRATION
            delta.from_zookeeper |= self._in_zookeeper
        else:
            self._broker(record, delta)

    def _change(
        self, place: PartitionId, record: MetadataRecord, change: Mapping[str, Any], delta: MetadataDelta
    ) -> None:
        partitions = self.topics.setdefault(place.topic_id, {})
        before = partitions.get(place.partition, PartitionRegistration())
        partitions[place.partition] = before.merge(change)
        delta.partitions.setdefault(place, []).append((record, partitions[place.partition]))

    def _clear_elr(self, record: MetadataRecord, delta: MetadataDelta) -> None:
        """As TopicDelta.replay: clear the eligible leader replicas of a topic's, or of all, partitions."""
        name = record.fields["topic_name"]
        for topic_id, partitions in self.topics.items():
            if name in ("", self.names.get(topic_id)):
                for number, each in list(partitions.items()):
                    if each.elr != ():
                        place = PartitionId(topic_id, number)
                        self._change(place, record, {"eligible_leader_replicas": ()}, delta)

    def _broker(self, record: MetadataRecord, delta: MetadataDelta) -> None:
        fields = record.fields
        broker_id = fields.get("broker_id", fields.get("id"))
        registration = self.brokers.get(broker_id, BrokerRegistration())
        if record.type == REGISTER_BROKER:
            registration = BrokerRegistration(
                fields.get("broker_epoch"),
                fields.get("incarnation_id"),
                fields.get("fenced"),
                fields.get("in_controlled_shutdown") or False,
                metadata_version_of(fields.get("features")),
                frozenset(fields.get("log_dirs") or ()) or None,
            )
        elif record.type in (FENCE_BROKER, UNFENCE_BROKER):
            registration = replace(registration, epoch=fields["epoch"], fenced=record.type == FENCE_BROKER)
        elif record.type == BROKER_CHANGE:
            # BrokerRegistrationFencingChange and InControlledShutdownChange: 0 is no change
            fenced, leaving = fields.get("fenced") or 0, fields.get("in_controlled_shutdown") or 0
            registration = replace(
                registration,
                epoch=fields["broker_epoch"],
                fenced=fenced > 0 if fenced else registration.fenced,
                in_controlled_shutdown=True if leaving else registration.in_controlled_shutdown,
                # an empty list is no change: a broker without any directory shuts down
                log_dirs=frozenset(fields.get("log_dirs") or ()) or registration.log_dirs,
            )
        elif record.type == UNREGISTER_BROKER:
            self.brokers.pop(broker_id, None)
            delta.brokers[broker_id] = record
            return
        else:
            return
        self.brokers[broker_id] = registration
        delta.brokers[broker_id] = record


def metadata_version_of(features: Sequence[Mapping[str, Any]] | None) -> int | None:
    """The highest metadata.version with which a broker registers; None if it registers without one."""
    for feature in features or ():
        if feature["name"] == "metadata.version":
            version: int | None = feature["max_supported_version"]
            return version
    return None


def _brokers(listed: Sequence[int] | None) -> Brokers | None:
    return None if listed is None else tuple(listed)


def _ids(listed: Sequence[str] | None) -> tuple[str, ...] | None:
    return tuple(listed) if listed else None


def _next(epoch: int | None) -> int | None:
    return None if epoch is None else epoch + 1
