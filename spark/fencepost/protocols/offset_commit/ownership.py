"""Who owned each partition of a group, within one life and one stretch of its log."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence


class Ownership:
    """Who owned which partition, by the number of the group's record (``no``).

    A member owns a partition from the record that lists it until the member's next record that does not. The
    data about a partition grow only when it changes hands, those about a member with each of its records.
    """

    def __init__(self) -> None:
        # partition key -> member id -> number of the record since which the member owns it
        self._owners: dict[str, dict[str, int]] = {}
        # (partition key, member id) -> the member's former ownerships: numbers of first records, and of ends
        self._past: dict[tuple[str, str], tuple[list[int], list[int]]] = {}
        # partition key -> the newest end of an ownership, and the newest one of any other member
        self._ended: dict[str, list[tuple[int, str]]] = {}
        # member id -> member epoch -> numbers of the member's records at that epoch
        self._records: dict[str, dict[int, list[int]]] = {}
        # generation -> numbers of records of a classic group, which have all members
        self._generations: dict[int, list[int]] = {}
        # topic and partition -> the key that this name had when a classic generation last assigned it
        self._named: dict[tuple[str, int], str] = {}
        self.is_renamed = False
        """Whether a partition may have been owned under another key before, by its topic's name or id."""
        self.has_unnamed = False
        """Whether a partition was owned of a topic id whose name no evidence has."""

    def note_name(self, topic: str, partition: int, key: str) -> None:
        """Note the key of a partition that a classic group assigns by its topic's name."""
        self._named[topic, partition] = key

    def key_of(self, topic: str | None, partition: int) -> str | None:
        """The key that this name had when it was last assigned; None if it never was.

        A member that was assigned a name owns whichever topic has it: a topic may be deleted and created
        again within one generation.
        """
        return None if topic is None else self._named.get((topic, partition))

    def note_epoch(self, member_id: str, epoch: int, no: int) -> None:
        """Note that the member has the epoch in its record ``no``."""
        self._records.setdefault(member_id, {}).setdefault(epoch, []).append(no)

    def note_generation(self, generation: int, no: int) -> None:
        """Note that the group's record ``no`` gives each of its members this epoch."""
        self._generations.setdefault(generation, []).append(no)

    def knows(self, key: str) -> bool:
        """Whether a member ever owned the partition."""
        return key in self._owners

    def begin(self, key: str, member_id: str, no: int) -> None:
        """Note that the member owns the partition from its record ``no`` on."""
        self._owners.setdefault(key, {})[member_id] = no

    def end(self, key: str, member_id: str, no: int) -> None:
        """Note that the member's record ``no`` does not list the partition any more."""
        since = self._owners[key].pop(member_id)
        begins, ends = self._past.setdefault((key, member_id), ([], []))
        begins.append(since)
        ends.append(no)
        others = [each for each in self._ended.get(key, ()) if each[1] != member_id]
        self._ended[key] = [(no - 1, member_id), *others[:1]]

    def last_at_epoch(self, key: str, member_id: str, epoch: int) -> int | None:
        """The number of the member's last record with this epoch and this partition; None if
        there is none.
        """
        numbers = self._at_epoch(member_id, epoch)
        if not numbers:
            return None
        owners = self._owners.get(key)
        since = None if owners is None else owners.get(member_id)
        if since is not None and numbers[-1] >= since:
            return numbers[-1]
        begins, ends = self._past.get((key, member_id), ((), ()))
        at = len(numbers) - 1
        while at >= 0:
            tenure = bisect_right(begins, numbers[at]) - 1
            if tenure < 0:
                return None
            if numbers[at] < ends[tenure]:
                return numbers[at]
            at = bisect_left(numbers, ends[tenure]) - 1
        return None

    def _at_epoch(self, member_id: str, epoch: int) -> Sequence[int]:
        records = self._records.get(member_id)
        own = None if records is None else records.get(epoch)
        of_all = self._generations.get(epoch)
        # only a member that a conversion took over has both
        return sorted([*own, *of_all]) if own and of_all else own or of_all or ()

    def others_now(self, key: str, member_id: str) -> list[str]:
        """The other members that own the partition, in the order of their ids."""
        owners = self._owners.get(key)
        if not owners or (len(owners) == 1 and member_id in owners):
            return []
        return sorted(owner for owner in owners if owner != member_id)

    def last_of_others_before(self, key: str, member_id: str) -> int | None:
        """The number of the last record until which another member owned the partition that does not own it
        now; None if there is none.
        """
        for until, other in self._ended.get(key, ()):
            if other != member_id:
                return until
        return None
