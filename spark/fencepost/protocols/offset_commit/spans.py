"""What is known of one life of a group inside one stretch of its log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fencepost.protocols.offset_commit.epochs import EpochHistory
from fencepost.protocols.offset_commit.members import Member, MemberMetadata
from fencepost.protocols.offset_commit.owned_rows import OwnedRows
from fencepost.protocols.offset_commit.ownership import Ownership
from fencepost.replay.group_coordinator.records import GroupRecord, Subtopology


@dataclass(slots=True, eq=False)
class Generation:
    """A generation of a classic group as its record has it, and what its next record says.

    ``next_*`` are None until then, and when the group was deleted or converted instead. ``followed``:
    something was written of the group after it; ``next_lost``: a hole in the log may have that.
    ``leader_epoch`` is of its own record; ``next_leader_epoch`` tells whose clock wrote ``next_ms``.
    ``next_instances``: member ids by instance id.
    """

    generation: int
    member_ids: list[str]
    leader_epoch: int
    next_generation: int | None = None
    next_member_ids: list[str] | None = None
    next_instances: Mapping[str, str] | None = None
    next_ms: int | None = None
    next_leader_epoch: int | None = None
    followed: bool = False
    next_lost: bool = False

    def follow(self, record: GroupRecord) -> None:
        """Take the next record of the classic group."""
        self.followed = True
        if not record.tombstone:
            self.next_generation = record.epoch
            members = record.classic_members or ()
            self.next_member_ids = [member.member_id for member in members]
            self.next_instances = {
                member.instance_id: member.member_id for member in members if member.instance_id is not None
            }
            self.next_ms, self.next_leader_epoch = record.timestamp_ms, record.leader_epoch


@dataclass(slots=True)
class Span:
    """One life of a group inside one stretch of its log: within it no record is missing."""

    stretch: int
    members: dict[str, Member] = field(default_factory=dict)
    owned_rows: defaultdict[str, OwnedRows] = field(default_factory=lambda: defaultdict(OwnedRows))
    holders: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))  # of instance ids
    gone: dict[str, int] = field(default_factory=dict)  # members that left, and how often
    metadata: dict[str, MemberMetadata] = field(default_factory=dict)
    ownership: Ownership = field(default_factory=Ownership)
    present: set[str] = field(default_factory=set)  # members that have a current assignment
    topology: Sequence[Subtopology] | None = None
    has_topology: bool = False
    group_epoch: int | None = None
    target_assignment_epoch: int | None = None
    epochs: EpochHistory = field(default_factory=EpochHistory)
    generation: Generation | None = None
    classic_size: int | None = None
