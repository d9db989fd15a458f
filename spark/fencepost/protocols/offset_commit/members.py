"""Members of groups as the coordinator has them, and the revocation epochs that KAFKA-19779 proposes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fencepost.replay.group_coordinator.records import (
    CLASSIC_METADATA,
    GROUP_TYPES,
    ClassicMember,
    GroupRecord,
    Owned,
)
from fencepost.replay.histories import History, Point
from fencepost.replay.keys import by_name_and_id, topic_named_by

# org.apache.kafka.coordinator.group: modern.MemberState and streams.MemberState
_STATES = {0: "STABLE", 1: "UNREVOKED_PARTITIONS", 2: "UNRELEASED_PARTITIONS"}
_STREAMS_STATES = {1: "STABLE", 2: "UNREVOKED_TASKS", 3: "UNRELEASED_TASKS"}


@dataclass(slots=True)
class MemberMetadata:
    """The newest metadata of a member (record types 5, 10, 19)."""

    client_id: str | None = None
    instance_id: str | None = None
    speaks_classic: bool = False
    session_timeout_ms: int | None = None

    def replay(self, record: GroupRecord) -> None:
        """Replay the member's next metadata record. A tombstone keeps client id and instance id."""
        self.client_id = record.client_id if record.client_id is not None else self.client_id
        self.instance_id = record.instance_id if record.instance_id is not None else self.instance_id
        # a member of a consumer group may change its protocol, and then its metadata is written again
        self.speaks_classic = record.speaks_classic
        self.session_timeout_ms = record.session_timeout_ms


class Step(NamedTuple):
    """The state of one member after one record of the group.

    ``no`` is the record's number within the group, ``at`` its batch's last offset and its timestamp.
    ``protocol``: the protocol that the member uses (classic, consumer, streams, share). ``state``: Kafka's
    MemberState. ``owned``: None if the record's assignment could not be read. ``known``: the group is
    completely known after this record. ``born``: the member is known to have begun with this epoch.
    ``session_timeout_ms``: as the record of a member says that uses the classic protocol.
    """

    no: int
    at: Point
    record_type: int
    client_id: str | None
    instance_id: str | None
    protocol: str
    state: str
    member_epoch: int
    previous_member_epoch: int | None
    owned: Sequence[Owned] | None
    known: bool
    based: bool
    born: bool = False
    session_timeout_ms: int | None = None


def protocol_of(record: GroupRecord, metadata: MemberMetadata | None) -> str:
    """The protocol that a member uses whose group wrote this record of it."""
    return "classic" if metadata is not None and metadata.speaks_classic else GROUP_TYPES[record.type]


def step_of(record: GroupRecord, no: int, at: Point, metadata: MemberMetadata | None, *, known: bool) -> Step:
    """The step of a current assignment record (types 8, 14, 22), with the member's newest metadata."""
    protocol = protocol_of(record, metadata)
    names = _STREAMS_STATES if protocol == "streams" else _STATES
    return Step(
        no,
        at,
        record.type,
        None if metadata is None else metadata.client_id,
        None if metadata is None else metadata.instance_id,
        protocol,
        "UNKNOWN" if record.state is None else names.get(record.state, "UNKNOWN"),
        0 if record.member_epoch is None else record.member_epoch,
        record.previous_member_epoch,
        record.owned,
        known,
        record.based,
        session_timeout_ms=None if metadata is None else metadata.session_timeout_ms,
    )


def classic_step_of(
    record: GroupRecord,
    no: int,
    at: Point,
    member: ClassicMember,
    owned: Sequence[Owned] | None,
    *,
    known: bool,
    born: bool,
) -> Step:
    """The step of one member in the record of a classic group: its epoch is the generation."""
    return Step(
        no,
        at,
        record.type,
        member.client_id,
        member.instance_id,
        "classic",
        "STABLE",
        record.epoch or 0,
        None,
        owned,
        known,
        record.based,
        born,
        member.session_timeout_ms,
    )


class Tenure(NamedTuple):
    """An uninterrupted ownership of a partition: number and position of the record that began it, and the
    member epoch then.

    ``first_row``: the member has no readable record right before it, so it may have owned the partition
    already.
    """

    since_no: int
    since_position: int
    entered_epoch: int
    first_row: bool


class Revocation(NamedTuple):
    """A partition left the member: the member epoch that it had until then."""

    epoch: int
    at: Point


class Changes(NamedTuple):
    """How a step changed what a member owns: partition keys that it got and that it lost."""

    got: list[str]
    lost: list[str]
    given_up: list[str]
    """The lost ones, and those that were pending revocation and are assigned again: with KAFKA-19449 the
    member gets them back in one step.
    """
    renamed: bool = False
    """Whether some were known by their topic's name before, and may be known by its id now, or the other way
    round, as when a group is converted and no metadata log tells ids.
    """


class Member:
    """One member of a group from its first record to its tombstone.

    A new member has the revocation epoch 0. When a record raises the member epoch, and partitions left the
    member with that record or since the previous rise, the revocation epoch becomes the member epoch before
    the rise. After a hole it is None until that happens. A member that a conversion takes over from a classic
    group begins with its epoch minus one, because the coordinator knows nothing of the time before.
    ``first_epoch`` is the revocation epoch that the member began with.
    """

    __slots__ = (
        "_based", "_begun", "_born", "_left_behind", "_left_since_rise", "_rows", "_start_known",
        "ever_unread", "first_epoch", "is_away", "lives_before", "newest", "owned", "revocation_epoch",
        "revocation_epochs", "revocations", "tenures",
    )  # fmt: skip

    def __init__(self, step: Step, lives_before: int) -> None:
        """A member that begins with ``step``; ``replay`` has yet to be called with it. ``lives_before``: how
        many members had its id before.
        """
        self.newest = step
        self.is_away = False
        """Whether a static member has left for a while (member epoch -2): it owns nothing until
        it is back.
        """
        self.owned: dict[str, Owned] = {}
        self.tenures: dict[str, Tenure] = {}
        self.revocations: dict[str, Revocation] = {}
        self.revocation_epochs: History[int | None] = History()
        self.first_epoch: int | None = None
        self.revocation_epoch: int | None = None
        self.ever_unread = False
        self.lives_before = lives_before
        self._rows = 0
        self._born = step.born
        self._based = self._start_known = self._left_since_rise = False
        self._begun: int | None = None
        self._left_behind: int | None = None

    def entered_epoch(self, key: str) -> int | None:
        """The member epoch at which a partition that it owns entered its assignment; None if the partition
        may have entered earlier.
        """
        tenure = self.tenures[key]
        return tenure.entered_epoch if self._start_known or not tenure.first_row else None

    def note_revocation_epoch(self) -> None:
        """Note the revocation epoch after the last record of a batch, when it was observable."""
        epochs = self.revocation_epochs
        if not epochs.states or epochs.states[-1] != self.revocation_epoch:
            epochs.add(self.newest.at, self.revocation_epoch)

    def replay(self, step: Step) -> Changes:
        """Replay the member's next record, or the one it begins with."""
        previous = self.newest if self._rows else None
        self.newest = step
        self.is_away = step.member_epoch < 0
        self._rows += 1
        self._based = self._based or step.based
        unread = step.owned is None
        changes = self._lose_sight() if unread else self._change_owned(step, previous)
        whole_past = (step.known and not self._based) or self._born or self.lives_before > 0
        self._start_known = whole_past and not self.ever_unread
        self._raise_epochs(previous, step, changes)
        return changes

    def _lose_sight(self) -> Changes:
        """Replay a record that could not be read: it is unknown what the member owns, and what it gave up."""
        lost = list(self.owned)
        self.owned, self.tenures = {}, {}
        self.ever_unread = True
        self._begun = self._left_behind = None
        return Changes([], lost, [])

    def _change_owned(self, step: Step, previous: Step | None) -> Changes:
        before, now = self.owned, {owned.partition_key: owned for owned in step.owned or ()}
        lost = [key for key in before if key not in now]
        again = [
            key
            for key, owned in before.items()
            if owned.pending_revocation and key in now and not now[key].pending_revocation
        ]
        got = [key for key in now if key not in before]
        first = previous is None or previous.owned is None
        converted = previous is not None and (previous.record_type == CLASSIC_METADATA) != (
            step.record_type == CLASSIC_METADATA
        )
        same = by_name_and_id(lost, got) if lost and got else set()
        for key in lost:
            del self.tenures[key]
        for key in (*got, *again):
            self.tenures[key] = Tenure(step.no, step.at.position, step.member_epoch, first or key in same)
        self.owned = now
        if same:
            self.ever_unread = True
            self._begun = self._left_behind = None
        given_up = [key for key in lost if key not in same] + again
        return Changes(
            got, lost, given_up, bool(same) or (converted and any(map(topic_named_by, lost + got)))
        )

    def _raise_epochs(self, previous: Step | None, step: Step, changes: Changes) -> None:
        rises = previous is not None and step.member_epoch > previous.member_epoch
        # partitions may leave without a rise, when a new target takes them before the member's epoch can
        # rise: they count at the next rise
        self._left_since_rise = self._left_since_rise or bool(changes.given_up)
        taken_over = (
            previous is not None
            and previous.record_type == CLASSIC_METADATA
            and step.record_type != CLASSIC_METADATA
        )
        if taken_over:
            self._begun = step.member_epoch - 1
        if previous is not None and rises and self._left_since_rise:
            self._left_behind = previous.member_epoch
        elif taken_over:
            self._left_behind = self._begun
        if rises:
            self._left_since_rise = False
        at_first = 0 if self._start_known else None
        self.first_epoch = self._begun if self._begun is not None else at_first
        self.revocation_epoch = self._left_behind if self._left_behind is not None else self.first_epoch
