"""The assignments of the newest generation by partition, and those of earlier generations by member."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable

from fencepost.protocols.ownership_claim.changes import Change
from fencepost.protocols.ownership_claim.generations import Generation
from fencepost.protocols.ownership_claim.subscriptions import Partition
from fencepost.reasons import NOT_CAPTURED, UNREAD


class Owners:
    """The members that are assigned each partition in the newest generation."""

    def __init__(self) -> None:
        self.unread: set[str] = set()
        """The members whose assignment could not be read."""
        self.without: set[str] = set()
        """The members that were assigned nothing."""
        self.shared: set[Partition] = set()
        """The partitions that more than one member was assigned."""
        self._members_of: dict[Partition, list[str]] = {}

    def update(self, changes: Iterable[Change]) -> None:
        """Apply the changes of the next record."""
        for change in changes:
            member_id = change.member_id
            self.unread.discard(member_id)
            self.without.discard(member_id)
            for partition in (change.before.assigned or ()) if change.before is not None else ():
                self._members_of[partition].remove(member_id)
                self._note_shared(partition)
            if change.after is None:
                continue
            if change.after.assigned is None:
                self.unread.add(member_id)
            elif not change.after.assigned:
                self.without.add(member_id)
            for partition in change.after.assigned or ():
                self._members_of.setdefault(partition, []).append(member_id)
                self._note_shared(partition)

    def of(self, partition: Partition) -> list[str]:
        """The members that are assigned a partition."""
        return sorted(self._members_of.get(partition, ()))

    @property
    def partitions(self) -> Collection[Partition]:
        """The partitions that are assigned to any member."""
        return self._members_of.keys()

    def _note_shared(self, partition: Partition) -> None:
        owners = self._members_of[partition]
        if not owners:
            del self._members_of[partition]
        if len(owners) > 1:
            self.shared.add(partition)
        else:
            self.shared.discard(partition)


WasAssigned = tuple[bool | None, str | None]
"""Whether a member was assigned a partition, and why that is not known."""


class PastAssignments:
    """The assignments of each member, noted in the generations in which they changed."""

    def __init__(self) -> None:
        self._of_member: dict[str, tuple[list[int], list[frozenset[Partition] | None]]] = {}
        self._known_from: int | None = None
        self._why_not_before: str | None = NOT_CAPTURED

    def note_generation(self, generation: Generation, changes: Iterable[Change]) -> None:
        """Note the next generation; after a hole, and in another life, earlier generations are forgotten."""
        if generation.before is None:
            self._of_member = {}
            self._known_from = -1 if generation.is_first else generation.generation
            self._why_not_before = generation.why_none_before.reason
        for change in changes:
            assigned = frozenset[Partition]() if change.after is None else change.after.assigned
            self._add(change.member_id, generation.generation, assigned)

    def was_assigned(self, member_id: str, partition: Partition, generation: int) -> WasAssigned:
        """Whether the newest generation up to this one assigned the partition to the member."""
        if self._known_from is None or generation < self._known_from:
            return None, self._why_not_before
        generations, partitions = self._of_member.get(member_id, ([], []))
        at = bisect_right(generations, generation) - 1
        if at < 0:
            return False, None
        partitions_then = partitions[at]
        return (None, UNREAD) if partitions_then is None else (partition in partitions_then, None)

    def _add(self, member_id: str, generation: int, partitions: frozenset[Partition] | None) -> None:
        generations, assignments = self._of_member.setdefault(member_id, ([], []))
        if assignments and assignments[-1] == partitions:
            return
        if generations and generations[-1] == generation:
            # another record of the same generation: the newest counts
            assignments[-1] = partitions
            return
        generations.append(generation)
        assignments.append(partitions)
