"""The claims of the newest generation, which KIP-792's rule is about."""

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
"""The names of Kafka's assignors, by the rebalance protocol that they support."""

_DIGESTS = 1 << 64


class Claim(NamedTuple):
    """A claim of one member; ``behind`` as in MemberOfGeneration, ``held``: whether it is in
    ownedPartitions.
    """

    behind: int | None
    member_id: str
    held: bool

    def generation(self, now: int) -> int:
        """The generation that the claim names in the record of generation ``now``."""
        return NO_GENERATION if self.behind is None else now - self.behind


class Others(NamedTuple):
    """The claims of other members: their greatest generation (or NO_CLAIM), how many members claim with it,
    and one of these.
    """

    generation: int | None
    number: int | None
    member_id: str | None


NOT_KNOWN = Others(None, None, None)


class Claims:
    """All claims of the newest generation, updated by the changes of each record."""

    def __init__(self) -> None:
        self.unread: set[str] = set()
        """The members whose subscription could not be read."""
        self._by_partition: dict[Partition, dict[str, Claim]] = {}
        self._claimants: dict[int | None, set[str]] = {}
        self._held: Counter[bool] = Counter()
        self._digest = 0

    def update(self, changes: Iterable[Change]) -> None:
        """Apply the changes of the next record."""
        for change in changes:
            if change.before is not None:
                self._remove(change.before)
            if change.after is not None:
                self._add(change.after)

    def of(self, partition: Partition) -> Collection[Claim]:
        """Every claim of a partition."""
        return self._by_partition.get(partition, {}).values()

    @property
    def partitions(self) -> Collection[Partition]:
        """The partitions that any member claims."""
        return self._by_partition.keys()

    def older_than(self, usual: int) -> set[str]:
        """The members whose claims are not the ``usual`` number of generations behind."""
        others = (ids for behind, ids in self._claimants.items() if behind is not None and behind != usual)
        return set().union(*others)

    def greatest(self, now: int) -> int | None:
        """The greatest generation of any claim; None if some claims could not be read."""
        if self.unread:
            return None
        behind = min((each for each in self._claimants if each is not None), default=None)
        if behind is not None:
            return now - behind
        return NO_GENERATION if self._claimants else NO_CLAIM

    @property
    def any_held(self) -> bool:
        """Whether some member kept partitions while it joined."""
        return self._held[True] > 0

    @property
    def digest(self) -> str | None:
        """A digest of all members and their claimed partitions, without generations; None if some are
        unknown.
        """
        return None if self.unread else f"{self._digest:016x}"

    def others(
        self, partition: Partition, member_id: str, generation_now: int, *, held_only: bool = False
    ) -> Others:
        """The claims of a partition by other members."""
        if self.unread - {member_id}:
            return NOT_KNOWN
        claims = [
            (claim.generation(generation_now), claim.member_id)
            for claim in self.of(partition)
            if claim.member_id != member_id and (claim.held or not held_only)
        ]
        if not claims:
            return Others(NO_CLAIM, 0, None)
        greatest = max(generation for generation, _ in claims)
        with_it = [other for generation, other in claims if generation == greatest]
        return Others(greatest, len(with_it), min(with_it))

    def own(self, partition: Partition, member_id: str, now: int) -> tuple[bool | None, int | None]:
        """Whether a member holds a partition, and the generation of that claim; None if not known."""
        if member_id in self.unread:
            return None, None
        claim = self._by_partition.get(partition, {}).get(member_id)
        return (True, claim.generation(now)) if claim is not None and claim.held else (False, NO_CLAIM)

    def _add(self, member: MemberOfGeneration) -> None:
        if member.subscription is not None and member.subscription.unread is not None:
            self.unread.add(member.member_id)
        claimed_partitions = claimed(member)
        for partition, held in claimed_partitions.items():
            claim = Claim(member.behind, member.member_id, held)
            self._by_partition.setdefault(partition, {})[member.member_id] = claim
            self._held[held] += 1
        if claimed_partitions:
            self._claimants.setdefault(member.behind, set()).add(member.member_id)
        self._digest = (self._digest + _digest(member, claimed_partitions)) % _DIGESTS

    def _remove(self, member: MemberOfGeneration) -> None:
        self.unread.discard(member.member_id)
        claimed_partitions = claimed(member)
        for partition, held in claimed_partitions.items():
            claims = self._by_partition[partition]
            del claims[member.member_id]
            self._held[held] -= 1
            if not claims:
                del self._by_partition[partition]
        if claimed_partitions:
            ids = self._claimants[member.behind]
            ids.discard(member.member_id)
            if not ids:
                del self._claimants[member.behind]
        self._digest = (self._digest - _digest(member, claimed_partitions)) % _DIGESTS


def is_cooperative(protocol: str | None, claims: Claims) -> bool | None:
    """Whether members keep their partitions while they join; None if not known."""
    if claims.any_held or protocol in COOPERATIVE:
        return True
    return False if protocol in EAGER and not claims.unread else None


def _digest(member: MemberOfGeneration, claimed_partitions: Collection[Partition]) -> int:
    return (
        0
        if not claimed_partitions
        else int(
            digest_of(member.member_id, *(part for place in sorted(claimed_partitions) for part in place))[
                :16
            ],
            16,
        )
    )
