"""Who claims what in one generation, and whom its assignor gave it: what KIP-792's rule speaks of."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fencepost.protocols.ownership_claim.generations import Generation, Partition
from fencepost.protocols.ownership_claim.records import MemberOfGeneration
from fencepost.protocols.ownership_claim.subscriptions import each_partition
from fencepost.protocols.ownership_claim.tables import NO_CLAIM, NO_GENERATION

COOPERATIVE = frozenset({"cooperative-sticky"})
EAGER = frozenset({"range", "roundrobin", "sticky"})
"""Kafka's assignors by their names, and the protocol they speak."""


class Claim(NamedTuple):
    """A claim of one member; ``held``: it stands in ownedPartitions."""

    generation: int
    member_id: str
    held: bool


class Others(NamedTuple):
    """The claims of others: the greatest generation of theirs (NO_CLAIM), how many have it, one who has."""

    generation: int | None
    number: int | None
    member_id: str | None


NOT_KNOWN = Others(None, None, None)


class Claims:
    """All claims of one generation."""

    def __init__(self, generation: Generation) -> None:
        """Of the members that its record has."""
        self.members = generation.record.members
        self.unread = [m for m in self.members if m.subscription is not None and m.subscription.unread]
        self._of: dict[Partition, list[Claim]] = {}
        for member in self.members:
            for partition, held in claimed(member):
                claim = Claim(_generation_of(member), member.member_id, held)
                self._of.setdefault(partition, []).append(claim)
        for claims in self._of.values():
            claims.sort(key=lambda claim: (-claim.generation, claim.member_id))
        newest = max((claims[0].generation for claims in self._of.values()), default=NO_CLAIM)
        self.greatest = None if self.unread else newest
        """The greatest generation of any claim; None where some claims could not be read."""

    @property
    def any_held(self) -> bool:
        """Whether some member kept what it had while it joined."""
        return any(claim.held for claims in self._of.values() for claim in claims)

    def others(self, partition: Partition, member_id: str, *, held_only: bool = False) -> Others:
        """The claims of a partition by other members."""
        if any(member.member_id != member_id for member in self.unread):
            return NOT_KNOWN
        found = [
            claim
            for claim in self._of.get(partition, ())
            if claim.member_id != member_id and (claim.held or not held_only)
        ]
        if not found:
            return Others(NO_CLAIM, 0, None)
        greatest = found[0].generation
        count = sum(claim.generation == greatest for claim in found)
        return Others(greatest, count, found[0].member_id)

    def own(self, partition: Partition, member_id: str) -> tuple[bool | None, int | None]:
        """Whether a member holds a partition, and the generation of that claim."""
        if any(member.member_id == member_id for member in self.unread):
            return None, None
        found = [c for c in self._of.get(partition, ()) if c.member_id == member_id and c.held]
        return (True, found[0].generation) if found else (False, NO_CLAIM)

    def digest(self) -> str | None:
        """What names who claims what, whatever the generations; None where not all is known."""
        if self.unread:
            return None
        lines = sorted(
            f"{claim.member_id}\0{topic}\0{partition}"
            for (topic, partition), claims in self._of.items()
            for claim in claims
        )
        return hashlib.sha256("\n".join(lines).encode("utf-8", "replace")).hexdigest()


def claimed(member: MemberOfGeneration) -> Iterator[tuple[Partition, bool]]:
    """Each partition that a member claims, once, and whether it holds it."""
    subscription = member.subscription
    if subscription is None:
        return
    held = each_partition(subscription.held)
    for partition in held:
        yield partition, True
    for partition in each_partition(subscription.remembered):
        if partition not in held:
            yield partition, False


def is_cooperative(protocol: str | None, claims: Claims) -> bool | None:
    """Whether members kept what they had while they joined; None where nothing tells."""
    if claims.any_held or protocol in COOPERATIVE:
        return True
    return False if protocol in EAGER and not claims.unread else None


def owners(members: Sequence[MemberOfGeneration]) -> tuple[dict[Partition, list[str]], bool]:
    """Who is assigned each partition, and whether every member's assignment could be read."""
    found: dict[Partition, list[str]] = {}
    for member in members:
        for partition in each_partition(member.assigned or ()):
            found.setdefault(partition, []).append(member.member_id)
    return found, all(member.assigned is not None for member in members)


def _generation_of(member: MemberOfGeneration) -> int:
    return NO_GENERATION if member.subscription is None else member.subscription.generation
