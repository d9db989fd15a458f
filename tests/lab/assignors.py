"""Claims as a leader receives them, and the rules by which drivers assign: KIP-792's, and two
that break it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from group_requests import read_previous
from messages import Message
from truth import Partition

Given = dict[str, frozenset[Partition]]
"""Member id -> its assignment."""


@dataclass(frozen=True)
class Claims:
    """The partitions that one member claims to own, their generation (-1: it sends none), and where that
    generation is.

    ``previous``: the partitions that an eager sticky member had: a wish, not a claim. A subscription that
    cannot be read claims nothing.
    """

    instance_id: str | None = None
    version: int | None = None
    partitions: frozenset[Partition] = frozenset()
    generation: int = -1
    source: str = "unreadable"
    previous: frozenset[Partition] | None = None

    @staticmethod
    def of(instance_id: str | None, strategy: str, said: Message | None) -> Claims:
        """By the rule of Kafka's assignors: the generation of the subscription, or that of the user data."""
        if said is None:
            return Claims(instance_id)
        data: bytes | None = said["user_data"]
        if said["generation"] is not None:
            generation, source = said["generation"], "generation_id"
        elif strategy == "cooperative-sticky" and data is not None:
            generation, source = struct.unpack(">i", data)[0], "user_data"
        else:
            generation, source = -1, "none"
        previous = read_previous(data) if strategy == "sticky" else None
        return Claims(instance_id, said["version"], said["claims"], generation, source, previous)


Rule = Callable[[Mapping[str, Claims], frozenset[Partition]], Given]
"""Computes an assignment from the members' claims and all partitions."""


def verdict(member_id: str, partition: Partition, seen: Mapping[str, Claims]) -> tuple[str, list[str]]:
    """``valid``, ``stale`` (a later generation claims it) or ``contradicted`` (the same one), and by whom."""
    mine = seen[member_id].generation
    rivals = [m for m, c in seen.items() if m != member_id and partition in c.partitions]
    later = [m for m in rivals if seen[m].generation > mine]
    same = [m for m in rivals if seen[m].generation == mine]
    if later:
        return "stale", sorted(later)
    return ("contradicted", sorted(same)) if same else ("valid", [])


def careful(seen: Mapping[str, Claims], partitions: frozenset[Partition]) -> Given:
    """Evenly. Valid claims are kept; partitions that an owner must revoke, or that two members claim, wait a
    generation.
    """
    owner: dict[Partition, str] = {}
    contradicted: set[Partition] = set()
    for member_id, claims in sorted(seen.items()):
        for partition in claims.partitions & partitions:
            found, _ = verdict(member_id, partition, seen)
            if found == "valid":
                owner[partition] = member_id
            elif found == "contradicted":
                contradicted.add(partition)
    share = -(-len(partitions) // len(seen))
    given: dict[str, list[Partition]] = {member_id: [] for member_id in seen}
    for partition in sorted(owner):
        if len(given[owner[partition]]) < share:
            given[owner[partition]].append(partition)
    for partition in sorted(partitions - owner.keys() - contradicted):
        least = min(given, key=lambda m: (len(given[m]), m))
        given[least].append(partition)
    return {member_id: frozenset(got) for member_id, got in given.items()}


def hasty(seen: Mapping[str, Claims], partitions: frozenset[Partition]) -> Given:
    """Evenly by member id, whoever owns what: partitions are handed over before they are revoked."""
    order = sorted(seen)
    return {
        member_id: frozenset(p for n, p in enumerate(sorted(partitions)) if n % len(order) == place)
        for place, member_id in enumerate(order)
    }


def credulous(seen: Mapping[str, Claims], partitions: frozenset[Partition]) -> Given:
    """Accepts every claim, the older one first; the members with the fewest partitions get the rest."""
    given: dict[str, list[Partition]] = {member_id: [] for member_id in seen}
    free = set(partitions)
    for member_id in sorted(seen, key=lambda m: (seen[m].generation, m)):
        got = seen[member_id].partitions & free
        given[member_id].extend(got)
        free -= got
    for partition in sorted(free):
        min(given.values(), key=len).append(partition)
    return {member_id: frozenset(got) for member_id, got in given.items()}
