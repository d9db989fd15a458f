"""What a cluster's metadata log says: incarnations of topics, coordinators' leaders, brokers' versions.

The log of KRaft (``__cluster_metadata``) tells of the whole cluster, so this is shared by all that is
replayed of it: small, picklable, made once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.formats.decode import decode
from fencepost.replay.keys import METADATA_TOPIC, OFFSETS_TOPIC, TRANSACTIONS_TOPIC

_NAMES = {
    0: "RegisterBrokerRecord",
    2: "TopicRecord",
    3: "PartitionRecord",
    5: "PartitionChangeRecord",
}
REGISTER_BROKER, TOPIC, PARTITION, PARTITION_CHANGE = _NAMES
RECORD_TYPES = tuple(_NAMES)
_SAME_LEADER = -2
_COORDINATORS_TOPICS = (OFFSETS_TOPIC, TRANSACTIONS_TOPIC)


@dataclass(frozen=True, slots=True)
class MetadataRecord:
    """One record of the metadata log; ``fields`` by Kafka's names in snake_case."""

    offset: int
    timestamp_ms: int
    type: int
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Incarnation:
    """A topic between its creation and the next topic's of that name.

    ``valid_from_ms`` is None for the first one: its creation may only be in a snapshot. ``valid_to_ms`` is
    None for the last.
    """

    topic: str
    topic_id: str
    valid_from_ms: int | None
    valid_to_ms: int | None


@dataclass(frozen=True, slots=True)
class Sighting:
    """A topic id beside its topic's name, in something that was written at ``timestamp_ms``."""

    topic: str
    topic_id: str
    timestamp_ms: int


class Topics:
    """Every incarnation of every topic."""

    def __init__(self, created: Iterable[Sighting], seen: Iterable[Sighting] = ()) -> None:
        """From creations, and, where the creation is not told, from what else names the id (``seen``)."""
        created = list(created)
        known = {sighting.topic_id for sighting in created}
        first: dict[tuple[str, str], int] = {}
        for sighting in [*created, *(s for s in seen if s.topic_id not in known)]:
            key = (sighting.topic, sighting.topic_id)
            first[key] = min(first.get(key, sighting.timestamp_ms), sighting.timestamp_ms)
        by_name: dict[str, list[tuple[int, str]]] = {}
        for (topic, topic_id), ms in first.items():
            by_name.setdefault(topic, []).append((ms, topic_id))
        self._by_name: dict[str, list[Incarnation]] = {}
        # where each incarnation begins but the first, which is there from all time
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
        """What a name meant at a time; None where that is not known."""
        if topic is None or topic not in self._by_name:
            return None
        return self._by_name[topic][bisect_right(self._starts[topic], ms)].topic_id

    def name_of(self, topic_id: str | None) -> str | None:
        """The name of a topic id; None where no evidence has it."""
        return None if topic_id is None else self._names.get(topic_id)

    def incarnations(self) -> list[Incarnation]:
        """All of them, by name and time."""
        return [incarnation for each in self._by_name.values() for incarnation in each]


@dataclass(frozen=True, slots=True)
class Registration:
    """A broker's start: from when, until its next, and the highest metadata.version it supports.

    ``metadata_version`` tells the release (MetadataVersion.java); None where the broker told none.
    """

    from_ms: int
    to_ms: int | None
    metadata_version: int | None


@dataclass(frozen=True)
class ClusterMetadata:
    """What one cluster's metadata log, and its configuration, say that every replay of its logs needs.

    ``partition_counts``: of the coordinators' topics. ``elected``: {topic: {(partition, leader epoch): broker
    id}} of the same. ``releases``: {broker id: (major, minor)} of the configuration.
    """

    topics: Topics = field(default_factory=lambda: Topics(()))
    created: tuple[Sighting, ...] = ()
    partition_counts: Mapping[str, int] = field(default_factory=dict)
    elected: Mapping[str, Mapping[tuple[int, int], int]] = field(default_factory=dict)
    registrations: Mapping[int, tuple[Registration, ...]] = field(default_factory=dict)
    releases: Mapping[int, tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        records: Iterable[MetadataRecord],
        seen: Iterable[Sighting] = (),
        releases: Mapping[int, tuple[int, int]] | None = None,
    ) -> ClusterMetadata:
        """From the records of the metadata log; ``seen`` as Topics takes it."""
        image = _Image()
        for record in sorted(records, key=lambda each: (each.offset, each.timestamp_ms)):
            image.replay(record)
        return cls(
            Topics(image.created, seen),
            tuple(image.created),
            image.partition_counts(),
            {topic: image.elected(topic) for topic in _COORDINATORS_TOPICS},
            image.registrations(),
            dict(releases or {}),
        )

    def leaders(self, topic: str, partition: int) -> dict[int, int]:
        """Who was elected to lead a coordinator's log: broker ids by leader epoch."""
        elected = self.elected.get(topic, {})
        return {epoch: broker for (number, epoch), broker in elected.items() if number == partition}

    def registration(self, broker_id: int, ms: int) -> Registration | None:
        """The broker's last start before a time; None when the metadata log has none."""
        for each in reversed(self.registrations.get(broker_id, ())):
            if each.from_ms <= ms:
                return each
        return None


class _Image:
    """What the records so far say, as MetadataImage would hold it, with the past that Kafka forgets."""

    def __init__(self) -> None:
        self.created: list[Sighting] = []
        self._ids: dict[str, set[str]] = {}
        self._partitions: dict[str, set[int]] = {}
        self._leader_epoch: dict[tuple[str, int], int] = {}
        self._changes: dict[tuple[str, int], int] = {}
        self._leaders: dict[tuple[str, int, int], int] = {}
        self._starts: dict[int, list[tuple[int, int | None]]] = {}

    def replay(self, record: MetadataRecord) -> None:
        """Take the next record of the log."""
        fields = record.fields
        if record.type == TOPIC:
            topic, topic_id = fields["name"], fields["topic_id"]
            self.created.append(Sighting(topic, topic_id, record.timestamp_ms))
            self._ids.setdefault(topic, set()).add(topic_id)
        elif record.type == PARTITION:
            place = (fields["topic_id"], fields["partition_id"])
            self._partitions.setdefault(place[0], set()).add(place[1])
            if fields.get("leader_epoch") is not None:
                self._leader_epoch.setdefault(place, fields["leader_epoch"])
            self._elect(place, fields.get("leader"))
        elif record.type == PARTITION_CHANGE:
            # PartitionRegistration.merge: a change raises the leader epoch when it names a leader
            if fields.get("leader") is not None and fields["leader"] != _SAME_LEADER:
                place = (fields["topic_id"], fields["partition_id"])
                self._changes[place] = self._changes.get(place, 0) + 1
                self._elect(place, fields["leader"])
        elif record.type == REGISTER_BROKER:
            start = (record.timestamp_ms, _metadata_version(fields.get("features")))
            self._starts.setdefault(fields["broker_id"], []).append(start)

    def _elect(self, place: tuple[str, int], leader: int | None) -> None:
        first = self._leader_epoch.get(place)
        if first is not None and leader is not None and leader >= 0:
            self._leaders.setdefault((*place, first + self._changes.get(place, 0)), leader)

    def partition_counts(self) -> dict[str, int]:
        """How many partitions each of the coordinators' topics has."""
        counts = {}
        for topic in _COORDINATORS_TOPICS:
            numbers = {n for topic_id in self._ids.get(topic, ()) for n in self._partitions.get(topic_id, ())}
            if numbers:
                counts[topic] = len(numbers)
        return counts

    def elected(self, topic: str) -> dict[tuple[int, int], int]:
        """The leaders of a topic's partitions by leader epoch, where its incarnations agree."""
        named: dict[tuple[int, int], set[int]] = {}
        for (topic_id, partition, epoch), leader in self._leaders.items():
            if topic_id in self._ids.get(topic, ()):
                named.setdefault((partition, epoch), set()).add(leader)
        return {place: min(leaders) for place, leaders in named.items() if len(leaders) == 1}

    def registrations(self) -> dict[int, tuple[Registration, ...]]:
        """Every start of every broker, in order."""
        return {
            broker: tuple(
                Registration(ms, end, version)
                for (ms, version), end in zip(starts, [*(ms for ms, _ in starts[1:]), None], strict=True)
            )
            for broker, starts in self._starts.items()
        }


def _metadata_version(features: Iterable[Mapping[str, Any]] | None) -> int | None:
    for feature in features or ():
        if feature["name"] == "metadata.version":
            version: int | None = feature["max_supported_version"]
            return version
    return None


def metadata_records(records: pa.Table) -> list[MetadataRecord]:
    """The records about topics, their partitions and brokers among rows of ``bronze.records``, decoded.

    Rows of one cluster; those of other topics are left out.
    """
    wanted = pc.and_(
        pc.equal(records["topic"], METADATA_TOPIC),
        pc.is_in(records["record_type"], pa.array(RECORD_TYPES, pa.int32())),
    )
    wanted = pc.and_(wanted, pc.equal(records["decode_status"], "known"))
    rows = records.filter(pc.and_(wanted, pc.invert(records["is_control"])))
    found = []
    for number, name in _NAMES.items():
        of_type = rows.filter(pc.equal(rows["record_type"], number))
        if not of_type.num_rows:
            continue
        values = decode(name, "value", of_type["value"]).values.to_pylist()
        places = zip(of_type["record_offset"].to_pylist(), of_type["timestamp_ms"].to_pylist(), strict=True)
        found += [
            MetadataRecord(offset, ms, number, value)
            for (offset, ms), value in zip(places, values, strict=True)
            if value is not None
        ]
    return sorted(found, key=lambda record: record.offset)
