"""Who owned each partition of a group, within one life and one stretch of its log."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence


class Ownership:
    """What members' records say of partitions, by the number of the group's record (``no``).

    A partition counts as a member's from the record that lists it until the member's next record, that lists
    it or not. The account of a partition grows when it changes hands, that of a member with its records.
    """

    def __init__(self) -> None:
        # partition key -> member id -> number of the record since which it is the member's
        self._held: dict[str, dict[str, int]] = {}
        # (partition key, member id) -> when it was the member's before: its first numbers, its ends
        self._past: dict[tuple[str, str], tuple[list[int], list[int]]] = {}
        # partition key -> the newest end, and the newest end of another member than that
        self._ended: dict[str, list[tuple[int, str]]] = {}
        # member id -> member epoch -> numbers of the member's records at that epoch
        self._records: dict[str, dict[int, list[int]]] = {}
        # the same of records that have every member: who owned something then was one
        self._generations: dict[int, list[int]] = {}
        # topic and partition -> the key under which a classic generation assigned that name last
        self._named: dict[tuple[str, int], str] = {}

    def note_name(self, topic: str, partition: int, key: str) -> None:
        """A classic group assigns the partition of a topic by its name, which has this key now."""
        self._named[topic, partition] = key

    def key_of(self, topic: str | None, partition: int) -> str | None:
        """The key under which this name was assigned last; None where it never was.

        Who was assigned a name owns whatever has it: a topic may be deleted and created anew within one
        generation.
        """
        return None if topic is None else self._named.get((topic, partition))

    def note_epoch(self, member_id: str, epoch: int, no: int) -> None:
        """The member has the epoch as of its record ``no``."""
        self._records.setdefault(member_id, {}).setdefault(epoch, []).append(no)

    def note_generation(self, generation: int, no: int) -> None:
        """The group's record ``no`` gives each of its members this epoch."""
        self._generations.setdefault(generation, []).append(no)

    def begin(self, key: str, member_id: str, no: int) -> None:
        """The partition is the member's as of its record ``no``."""
        self._held.setdefault(key, {})[member_id] = no

    def end(self, key: str, member_id: str, no: int) -> None:
        """The member's record ``no`` does not list the partition any more."""
        since = self._held[key].pop(member_id)
        begins, ends = self._past.setdefault((key, member_id), ([], []))
        begins.append(since)
        ends.append(no)
        others = [each for each in self._ended.get(key, ()) if each[1] != member_id]
        self._ended[key] = [(no - 1, member_id), *others[:1]]

    def last_at_epoch(self, key: str, member_id: str, epoch: int) -> int | None:
        """The member's last record with this epoch and this partition; None when there is none."""
        numbers = self._at_epoch(member_id, epoch)
        if not numbers:
            return None
        holders = self._held.get(key)
        since = None if holders is None else holders.get(member_id)
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
        # both only of a member that a conversion took over
        return sorted([*own, *of_all]) if own and of_all else own or of_all or ()

    def others_now(self, key: str, member_id: str) -> list[str]:
        """The other members that have the partition, in order of their ids."""
        held = self._held.get(key)
        if not held or (len(held) == 1 and member_id in held):
            return []
        return sorted(holder for holder in held if holder != member_id)

    def last_of_others_before(self, key: str, member_id: str) -> int | None:
        """The last number at which any other member had the partition that does not have it now."""
        for until, other in self._ended.get(key, ()):
            if other != member_id:
                return until
        return None
