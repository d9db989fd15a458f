"""The state of a group in one life, as far as one stretch of its log shows it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from fencepost.protocols.offset_commit.epochs import EpochHistory
from fencepost.protocols.offset_commit.members import Member, MemberMetadata
from fencepost.protocols.offset_commit.owned_rows import OwnedRows
from fencepost.protocols.offset_commit.ownership import Ownership
from fencepost.replay.group_coordinator.records import GroupRecord, Subtopology


@dataclass(slots=True, eq=False)
class Generation:
    """A generation of a classic group, as its record and the group's next record show it.

    ``next_*`` are None until the next record is replayed, and if that record deletes the group. If it
    converts the group, it has the members and no generation. ``followed``: the group has a next record.
    ``next_lost``: a hole in the log may hide one. ``leader_epoch`` is that of its own record;
    ``next_leader_epoch`` shows by which broker's clock ``next_ms`` is. ``next_instances``: instance id ->
    member id. ``life_after``: the record that ended the group's life before, in which generations had the
    same numbers.
    """

    generation: int
    member_ids: list[str]
    leader_epoch: int
    life_after: GroupRecord | None = None
    next_generation: int | None = None
    next_member_ids: list[str] | None = None
    next_instances: Mapping[str, str] | None = None
    next_ms: int | None = None
    next_leader_epoch: int | None = None
    followed: bool = False
    next_lost: bool = False

    @property
    def is_followed_by_next(self) -> bool:
        """Whether the group's next record is of the next generation: none began in between."""
        return self.next_generation == self.generation + 1

    @property
    def is_written_again(self) -> bool:
        """Whether the group's next record is of the same generation, by the same coordinator (an instance was
        replaced): none began in between, since only a coordinator that loads the log anew goes back to it.
        """
        return self.next_generation == self.generation and self.next_leader_epoch == self.leader_epoch

    @property
    def is_loaded_again(self) -> bool:
        """Whether another coordinator wrote the same generation again: it does not know of one that the
        coordinator before began and did not write.
        """
        return self.next_generation == self.generation and self.next_leader_epoch != self.leader_epoch

    def follow(self, record: GroupRecord, converted: Collection[str]) -> None:
        """Note the next record of the classic group; ``converted``: the members of the consumer group to
        which it converts the group.
        """
        self.followed = True
        members = record.classic_members or ()
        if not record.tombstone:
            self.next_generation = record.epoch
            self.next_member_ids = [member.member_id for member in members]
            self.next_instances = {
                member.instance_id: member.member_id for member in members if member.instance_id is not None
            }
        elif converted:
            self.next_member_ids = sorted(converted)
        if self.next_member_ids is not None:
            self.next_ms, self.next_leader_epoch = record.timestamp_ms, record.leader_epoch


@dataclass(slots=True)
class Span:
    """A group in one life and inside one stretch of its log: no record is missing in between."""

    stretch: int
    members: dict[str, Member] = field(default_factory=dict)
    owned_rows: defaultdict[str, OwnedRows] = field(default_factory=lambda: defaultdict(OwnedRows))
    holders: defaultdict[str, set[str]] = field(
        default_factory=lambda: defaultdict(set)
    )  # instance id -> members
    first_holders: dict[str, str] = field(default_factory=dict)  # instance id -> member
    gone: dict[str, int] = field(default_factory=dict)  # member id -> how often it left
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
