"""The tables of silver with the histories of groups, their members and the partitions of these."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fencepost.protocols.offset_commit.members import Member
from fencepost.protocols.offset_commit.owned_rows import Ended
from fencepost.protocols.offset_commit.tables import (
    COVERAGE,
    GROUPS,
    MEMBERS,
    OWNED_PARTITIONS,
    REVOKED_PARTITIONS,
)
from fencepost.replay.columns import Columns
from fencepost.replay.histories import Interval
from fencepost.replay.keys import topic_named_by
from fencepost.replay.metadata import Topics

if TYPE_CHECKING:
    from fencepost.protocols.offset_commit.epochs import Epochs, EpochSpan
    from fencepost.protocols.offset_commit.signs_of_life import SignsOfLife
    from fencepost.replay.group_coordinator.lives import Lives


class Histories:
    """The rows of the histories of one coordinator's log (``partition`` of ``__consumer_offsets``)."""

    def __init__(self, cluster: str, partition: int | None, topics: Topics) -> None:
        self._cluster = cluster
        self._partition = partition
        self._topics = topics
        self.groups = Columns(GROUPS)
        self.members = Columns(MEMBERS)
        self.owned = Columns(OWNED_PARTITIONS)
        self.revoked = Columns(REVOKED_PARTITIONS)
        self.covered = Columns(COVERAGE)
        self.tables = (self.groups, self.members, self.owned, self.revoked, self.covered)

    def group(self, group: Lives[Histories], epochs: Epochs, during: Interval) -> None:
        """A row of ``silver.consumer_groups``: an interval in which the group's epoch is known."""
        self.groups.add(self._cluster, group.group_id, group.life, self._partition, *epochs, *during)

    def simple_group(self, group_id: str, life: int, during: Interval, *, known: bool) -> None:
        """A group at generation 0, of which the log shows only commits.

        Its consumers assign partitions to themselves. The coordinator keeps it as an empty classic group.
        """
        self.groups.add(self._cluster, group_id, life, self._partition, "simple", 0, 0, *during)
        self.coverage(group_id, life, during, covered=known)

    def member(
        self, group: Lives[Histories], member_id: str, member: Member, beside: EpochSpan, signs: SignsOfLife
    ) -> None:
        """A row of ``silver.group_members``: one for each batch that changed the member, or the order of its
        epoch and the group's epochs. ``signs``: those of the group's members.
        """
        step = member.newest
        is_open = beside.during[1] is None
        self.members.add(
            self._cluster,
            group.group_id,
            group.life,
            self._partition,
            member_id,
            step.client_id,
            step.instance_id,
            step.protocol,
            step.state,
            step.member_epoch,
            step.previous_member_epoch,
            member.revocation_epoch,
            beside.first.group_epoch,
            beside.first.target_assignment_epoch,
            beside.last.group_epoch,
            beside.last.target_assignment_epoch,
            *(signs.of_static(member_id, step) if is_open else (None, None)),
            *beside.during,
        )

    def owned_partitions(self, group: Lives[Histories], member_id: str, rows: Iterable[Ended]) -> None:
        """Rows of ``silver.owned_partitions``: finished ones of one member."""
        of_member = (self._cluster, group.group_id, group.life, self._partition, member_id)
        for row, last_epoch, during in rows:
            owned = row.owned
            self.owned.add(
                *of_member,
                self._topics.name_of(owned.topic_id) or topic_named_by(owned.partition_key),
                owned.topic_id,
                owned.subtopology_id,
                owned.partition,
                owned.partition_key,
                owned.pending_revocation,
                owned.assignment_epoch,
                row.member_epoch,
                last_epoch,
                row.owned_since,
                *during,
            )

    def revoked_partition(
        self, group: Lives[Histories], of: tuple[str, str], epochs: tuple[int, int | None], during: Interval
    ) -> None:
        """A row of ``silver.revoked_partitions``; a new one begins when the member's own revocation epoch
        changes.

        ``of``: member id and partition key; ``epochs``: the partition's revocation epoch and the member's.
        """
        self.revoked.add(self._cluster, group.group_id, group.life, self._partition, *of, *epochs, *during)

    def coverage(self, group_id: str, life: int, during: Interval, *, covered: bool) -> None:
        """A row of ``silver.coverage``: a part of a life that is completely known, or one that is not."""
        self.covered.add(self._cluster, group_id, life, self._partition, covered, *during)
