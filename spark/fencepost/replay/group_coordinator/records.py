"""Decoded records of ``__consumer_offsets``: the input of the replay of a group coordinator's log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import pyarrow as pa

from fencepost.replay.keys import TASK, key_of

CLASSIC_METADATA, CONSUMER_METADATA, CONSUMER_MEMBER, STREAMS_ASSIGNMENT, STREAMS_TOPOLOGY = 2, 3, 5, 22, 23
EPOCH_TYPES = {CLASSIC_METADATA: "classic", CONSUMER_METADATA: "consumer", 11: "share", 17: "streams"}
TARGET_TYPES = {6: "consumer", 12: "share", 20: "streams"}
MEMBER_TYPES = {CONSUMER_MEMBER: "consumer", 10: "share", 19: "streams"}
ASSIGNMENT_TYPES = {8: "consumer", 14: "share", STREAMS_ASSIGNMENT: "streams"}
GROUP_TYPES = {
    **EPOCH_TYPES, **TARGET_TYPES, **MEMBER_TYPES, **ASSIGNMENT_TYPES, STREAMS_TOPOLOGY: "streams"
}  # fmt: skip
"""The record types about groups, and the group type to which each belongs."""

COMMIT_TYPES = (0, 1)

_NAME = pa.dictionary(pa.int32(), pa.string())
COMMIT_RECORDS = pa.schema(
    {
        **dict.fromkeys(("offset", "base_offset", "last_offset"), pa.int64()),
        "leader_epoch": pa.int32(),
        "timestamp_ms": pa.int64(),
        **dict.fromkeys(("group_id", "topic"), _NAME),
        "partition": pa.int32(),
        "topic_id": _NAME,
        "committed_offset": pa.int64(),
        "committed_leader_epoch": pa.int32(),
        "producer_id": pa.int64(),
        "producer_epoch": pa.int32(),
        **dict.fromkeys(("is_transactional", "tombstone"), pa.bool_()),
    }
)
"""Stored offset commits and their tombstones (OffsetCommitKey, OffsetCommitValue). They are most of a
coordinator's log, so they are rows, not objects. Names are dictionary-encoded. ``offset`` to
``timestamp_ms`` are as in Record. ``topic_id`` is null if the broker wrote none, ``committed_offset`` in a
tombstone. ``committed_leader_epoch`` is -1 for none.
"""

MARKERS = {0: "aborted", 1: "committed"}
"""Types of control records that end a transaction (org.apache.kafka.common.record.ControlRecordType)."""


def group_of(key: bytes) -> bytes:
    """The group's id in a key, which begins with an int16 type and the int16 length of the id."""
    return key[4 : 4 + int.from_bytes(key[2:4], "big")]


class Owned(NamedTuple):
    """A partition that a member owns (assigned or pending revocation), or an active task of a streams group.

    ``partition_key`` joins ownership and commits. ``recorded``: the record itself has the assignment epoch.
    """

    partition_key: str
    topic_id: str | None
    subtopology_id: str | None
    partition: int
    pending_revocation: bool
    assignment_epoch: int
    recorded: bool


class ClassicMember(NamedTuple):
    """A member in the record of a classic group. ``topics``: the partitions that it was assigned, by topic
    name; None if the assignment could not be read. ``session_timeout_ms`` is None if it is not known.
    """

    member_id: str
    instance_id: str | None
    client_id: str | None
    topics: Sequence[tuple[str, Sequence[int]]] | None
    session_timeout_ms: int | None = None


class Subtopology(NamedTuple):
    """A subtopology of a streams group, and the topics whose offsets its active tasks commit.

    StreamsTopology.sourceTopicMap: its source topics, and the repartition topics it reads.
    """

    subtopology_id: str
    topics: frozenset[str]


@dataclass(slots=True, eq=False)
class Record:
    """Where and when a record was written. ``last_offset`` is that of its batch, which made it observable.

    ``stretch`` and ``based`` are set when the record is placed in its log. ``based``: compaction left the
    record.
    """

    offset: int
    base_offset: int
    last_offset: int
    leader_epoch: int
    timestamp_ms: int
    stretch: int = 0
    based: bool = False


@dataclass(slots=True, kw_only=True, eq=False)
class GroupRecord(Record):
    """A record about a group: one of GROUP_TYPES.

    ``member_id`` is None in records of the group itself. ``epoch`` is the group epoch (types 3, 11, 17), the
    generation (2), or the target assignment epoch (6, 12, 20).
    """

    type: int
    group_id: str
    member_id: str | None = None
    tombstone: bool = False
    epoch: int | None = None
    classic_members: Sequence[ClassicMember] | None = None  # type 2
    topology: Sequence[Subtopology] | None = None  # type 23
    client_id: str | None = None  # types 5, 10 and 19, as instance_id and speaks_classic
    instance_id: str | None = None
    speaks_classic: bool = False  # a member of a consumer group that still uses the classic protocol
    session_timeout_ms: int | None = None  # of such a member
    member_epoch: int | None = None  # types 8, 14 and 22, as everything below
    previous_member_epoch: int | None = None
    state: int | None = None
    owned: Sequence[Owned] = ()  # empty for share groups, whose members do not own partitions

    @property
    def changes_a_member(self) -> bool:
        """Whether this record changes the state of a member of a group that is not classic."""
        return self.member_id is not None and (
            self.type in ASSIGNMENT_TYPES or (self.tombstone and self.type in MEMBER_TYPES)
        )


@dataclass(slots=True, kw_only=True, eq=False)
class Marker(Record):
    """The end of a transaction in a coordinator's log; ``outcome``: a value of MARKERS."""

    producer_id: int
    outcome: str


Assigned = Iterable[tuple[str, Sequence[int], Sequence[int] | None]]
"""The assignment in a record: (topic id or subtopology id, partitions, assignment epochs or None)."""


def owned_partitions(assigned: Assigned, pending: Assigned, member_epoch: int) -> list[Owned]:
    """The partitions in a record of a consumer group's member (ConsumerGroupCurrentMemberAssignment)."""
    return _owned(assigned, pending, member_epoch, _of_topic)


def owned_tasks(active: Assigned, pending: Assigned, member_epoch: int) -> list[Owned]:
    """The active tasks of a streams group's member (StreamsGroupCurrentMemberAssignment)."""
    return _owned(active, pending, member_epoch, _of_subtopology)


_Names = Callable[[str, int], tuple[str | None, str | None, str | None]]


def _owned(assigned: Assigned, pending: Assigned, member_epoch: int, names: _Names) -> list[Owned]:
    """The assigned partitions, followed by those that are pending revocation and not assigned again.

    A partition's assignment epoch is that of the record if it has one for each partition, otherwise the
    member epoch (0 if that is negative), as the coordinator reads it (Utils.assignmentFromTopicPartitions).
    Records of brokers before 4.3 have none.
    """
    owned = _each(assigned, max(member_epoch, 0), names, pending=False)
    revoked = _each(pending, max(member_epoch, 0), names, pending=True)
    if revoked:
        assigned_keys = {each.partition_key for each in owned}
        owned += [each for each in revoked if each.partition_key not in assigned_keys]
    return owned


def _each(listed: Assigned, member_epoch: int, names: _Names, *, pending: bool) -> list[Owned]:
    owned = []
    for name, partitions, epochs in listed:
        recorded = epochs is not None and len(epochs) == len(partitions)
        for at, partition in enumerate(partitions):
            key, topic_id, subtopology_id = names(name, partition)
            if key is not None:
                epoch = epochs[at] if epochs is not None and recorded else member_epoch
                owned.append(Owned(key, topic_id, subtopology_id, partition, pending, epoch, recorded))
    return owned


# each record of a member lists its partitions again: with the cache equal keys are the same object
@lru_cache(maxsize=1 << 16)
def _of_topic(topic_id: str, partition: int) -> tuple[str | None, str | None, str | None]:
    return key_of(topic_id, partition), topic_id, None


def _of_subtopology(subtopology_id: str, partition: int) -> tuple[str | None, str | None, str | None]:
    return key_of(f"{TASK}{subtopology_id}", partition), None, subtopology_id
