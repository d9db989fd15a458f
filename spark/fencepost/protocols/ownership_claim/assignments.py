"""Who is, and was, assigned what: by the newest generation, and by those before it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable

from fencepost.protocols.ownership_claim.changes import Change
from fencepost.protocols.ownership_claim.generations import Generation
from fencepost.protocols.ownership_claim.subscriptions import Partition


class Owners:
    """Who is assigned each partition by the newest generation."""

    def __init__(self) -> None:
        self.unread: set[str] = set()
        """The members whose assignment could not be read."""
        self.without: set[str] = set()
        """The members that were assigned nothing."""
        self.shared: set[Partition] = set()
        """What more than one member was assigned."""
        self._of: dict[Partition, list[str]] = {}

    def change(self, changes: Iterable[Change]) -> None:
        """Take the next record's members."""
        for change in changes:
            member_id = change.member_id
            self.unread.discard(member_id)
            self.without.discard(member_id)
            for partition in (change.was.assigned or ()) if change.was is not None else ():
                self._of[partition].remove(member_id)
                self._note(partition)
            if change.now is None:
                continue
            if change.now.assigned is None:
                self.unread.add(member_id)
            elif not change.now.assigned:
                self.without.add(member_id)
            for partition in change.now.assigned or ():
                self._of.setdefault(partition, []).append(member_id)
                self._note(partition)

    def of(self, partition: Partition) -> list[str]:
        """The members that are assigned a partition."""
        return sorted(self._of.get(partition, ()))

    @property
    def partitions(self) -> Collection[Partition]:
        """What anybody is assigned."""
        return self._of.keys()

    def _note(self, partition: Partition) -> None:
        owners = self._of[partition]
        if not owners:
            del self._of[partition]
        if len(owners) > 1:
            self.shared.add(partition)
        else:
            self.shared.discard(partition)


class Past:
    """What each member was assigned, generation after generation; a member's row is kept when it changes."""

    def __init__(self) -> None:
        self._of_member: dict[str, tuple[list[int], list[frozenset[Partition] | None]]] = {}
        self._known_from: int | None = None

    def note(self, generation: Generation, changes: Iterable[Change]) -> None:
        """Take the next generation; after a hole, or in another life, nothing of before counts."""
        if generation.before is None:
            self._of_member = {}
            self._known_from = -1 if generation.first else generation.generation
        for change in changes:
            assigned = frozenset[Partition]() if change.now is None else change.now.assigned
            self._add(change.member_id, generation.generation, assigned)

    def had(self, member_id: str, partition: Partition, generation: int) -> bool | None:
        """Whether the newest generation up to this one assigned the partition to the member; None where that
        is not known.
        """
        if self._known_from is None or generation < self._known_from:
            return None
        generations, partitions = self._of_member.get(member_id, ([], []))
        at = bisect_right(generations, generation) - 1
        if at < 0:
            return False
        found = partitions[at]
        return None if found is None else partition in found

    def _add(self, member_id: str, generation: int, partitions: frozenset[Partition] | None) -> None:
        generations, kept = self._of_member.setdefault(member_id, ([], []))
        if kept and kept[-1] == partitions:
            return
        if generations and generations[-1] == generation:
            # the same generation again: what counts is the newest
            kept[-1] = partitions
            return
        generations.append(generation)
        kept.append(partitions)
