"""Who claims what for the newest generation: what KIP-792's rule speaks of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from typing import NamedTuple

from fencepost.protocols.ownership_claim.changes import Change, claimed
from fencepost.protocols.ownership_claim.members import MemberOfGeneration
from fencepost.protocols.ownership_claim.subscriptions import Partition
from fencepost.protocols.ownership_claim.tables import NO_CLAIM, NO_GENERATION
from fencepost.replay.keys import digest_of

COOPERATIVE = frozenset({"cooperative-sticky"})
EAGER = frozenset({"range", "roundrobin", "sticky"})
"""Kafka's assignors by their names, and the protocol they speak."""

_DIGESTS = 1 << 64


class Claim(NamedTuple):
    """A claim of one member; ``behind`` as in MemberOfGeneration, ``held``: it stands in ownedPartitions."""

    behind: int | None
    member_id: str
    held: bool

    def generation(self, now: int) -> int:
        """The generation that it names in the record of generation ``now``."""
        return NO_GENERATION if self.behind is None else now - self.behind


class Others(NamedTuple):
    """The claims of others: the greatest generation of theirs (NO_CLAIM), how many have it, one who has."""

    generation: int | None
    number: int | None
    member_id: str | None


NOT_KNOWN = Others(None, None, None)


class Claims:
    """All claims of the newest generation: those of the one before, and what changed."""

    def __init__(self) -> None:
        self.unread: set[str] = set()
        """The members whose subscription could not be read."""
        self._of: dict[Partition, dict[str, Claim]] = {}
        self._claimants: dict[int | None, set[str]] = {}
        self._held: Counter[bool] = Counter()
        self._digest = 0

    def change(self, changes: Iterable[Change]) -> None:
        """Take the next record's members."""
        for change in changes:
            if change.was is not None:
                self._remove(change.was)
            if change.now is not None:
                self._add(change.now)

    def of(self, partition: Partition) -> Collection[Claim]:
        """Every claim of a partition."""
        return self._of.get(partition, {}).values()

    @property
    def partitions(self) -> Collection[Partition]:
        """What anybody claims."""
        return self._of.keys()

    def older_than(self, usual: int) -> set[str]:
        """The members whose claims are of another generation than ``usual`` behind."""
        others = (ids for behind, ids in self._claimants.items() if behind is not None and behind != usual)
        return set().union(*others)

    def greatest(self, now: int) -> int | None:
        """The greatest generation of any claim; None where some claims could not be read."""
        if self.unread:
            return None
        behind = min((each for each in self._claimants if each is not None), default=None)
        if behind is not None:
            return now - behind
        return NO_GENERATION if self._claimants else NO_CLAIM

    @property
    def any_held(self) -> bool:
        """Whether some member kept what it had while it joined."""
        return self._held[True] > 0

    @property
    def digest(self) -> str | None:
        """What names who claims what, whatever the generations; None where not all is known."""
        return None if self.unread else f"{self._digest:016x}"

    def others(self, partition: Partition, member_id: str, now: int, *, held_only: bool = False) -> Others:
        """The claims of a partition by other members."""
        if self.unread - {member_id}:
            return NOT_KNOWN
        found = [
            (claim.generation(now), claim.member_id)
            for claim in self.of(partition)
            if claim.member_id != member_id and (claim.held or not held_only)
        ]
        if not found:
            return Others(NO_CLAIM, 0, None)
        greatest = max(generation for generation, _ in found)
        with_it = [other for generation, other in found if generation == greatest]
        return Others(greatest, len(with_it), min(with_it))

    def own(self, partition: Partition, member_id: str, now: int) -> tuple[bool | None, int | None]:
        """Whether a member holds a partition, and the generation of that claim."""
        if member_id in self.unread:
            return None, None
        claim = self._of.get(partition, {}).get(member_id)
        return (True, claim.generation(now)) if claim is not None and claim.held else (False, NO_CLAIM)

    def _add(self, member: MemberOfGeneration) -> None:
        if member.subscription is not None and member.subscription.unread is not None:
            self.unread.add(member.member_id)
        mine = claimed(member)
        for partition, held in mine.items():
            claim = Claim(member.behind, member.member_id, held)
            self._of.setdefault(partition, {})[member.member_id] = claim
            self._held[held] += 1
        if mine:
            self._claimants.setdefault(member.behind, set()).add(member.member_id)
        self._digest = (self._digest + _digest(member, mine)) % _DIGESTS

    def _remove(self, member: MemberOfGeneration) -> None:
        self.unread.discard(member.member_id)
        mine = claimed(member)
        for partition, held in mine.items():
            claims = self._of[partition]
            del claims[member.member_id]
            self._held[held] -= 1
            if not claims:
                del self._of[partition]
        if mine:
            ids = self._claimants[member.behind]
            ids.discard(member.member_id)
            if not ids:
                del self._claimants[member.behind]
        self._digest = (self._digest - _digest(member, mine)) % _DIGESTS


def is_cooperative(protocol: str | None, claims: Claims) -> bool | None:
    """Whether members kept what they had while they joined; None where nothing tells."""
    if claims.any_held or protocol in COOPERATIVE:
        return True
    return False if protocol in EAGER and not claims.unread else None


def _digest(member: MemberOfGeneration, mine: Collection[Partition]) -> int:
    return (
        0
        if not mine
        else int(digest_of(member.member_id, *(part for place in sorted(mine) for part in place))[:16], 16)
    )
