"""A classic group that rebalances again and again, with the truth about each claim.

Members leave, return late with old claims, restart, miss their assignment, or claim another member's
partitions; static members miss a rebalance. The assignor decides by KIP-792's rule, but sometimes it accepts
an old claim, or assigns a partition that its owner has not revoked.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from rebalance_bytes import Partition

NOTHING: tuple[Partition, ...] = ()


@dataclass(frozen=True)
class Size:
    """``logged``: the number of last rebalances that are in the request log."""

    members: int
    partitions: int
    rebalances: int
    logged: int


@dataclass(frozen=True)
class Mix:
    """The probability of events, per rebalance; ``unheard`` and ``absent``: per member of it."""

    leaves: float = 0.5
    stale: float = 0.7
    restarts: float = 0.2
    unheard: float = 0.0005
    contradicts: float = 0.02
    absent: float = 0.001
    abandoned: float = 0.02
    stale_wins: float = 0.01
    handed_over: float = 0.01
    static: float = 0.1


@dataclass(eq=False)
class Client:
    """A consumer: its partitions and their generation, and its last subscription."""

    client_id: str
    instance_id: str | None
    member_id: str
    owned: tuple[Partition, ...] = NOTHING
    owned_generation: int = -1
    sent: tuple[tuple[Partition, ...], int] = (NOTHING, -1)
    assigned: frozenset[Partition] = frozenset()
    history: tuple[list[int], list[frozenset[Partition]]] = field(default_factory=lambda: ([], []))

    def was_assigned(self, partition: Partition, generation: int) -> bool | None:
        """Whether the newest assignment up to the generation contained the partition."""
        if generation < 0:
            return None
        at = bisect_right(self.history[0], generation) - 1
        return at >= 0 and partition in self.history[1][at]

    def begin_again(self, member_id: str) -> None:
        """Restart under another member id."""
        self.member_id = member_id
        self.assigned, self.history = frozenset(), ([], [])


@dataclass(frozen=True)
class Rebalance:
    """One generation: ``members`` in the record's order, those that joined for it, and those that are new or
    have left since the previous one; ``first``: an abandoned generation before it, or itself.
    """

    generation: int
    first: int
    leader: Client
    members: tuple[Client, ...]
    joined: tuple[Client, ...]
    new: tuple[Client, ...]
    left: tuple[str, ...]
    claims: dict[Partition, list[tuple[int, Client]]]
    owners: dict[Partition, Client]


class Group:
    """Simulates the group, rebalance by rebalance."""

    def __init__(self, size: Size, mix: Mix, rng: Random) -> None:
        self._mix, self._rng = mix, rng
        self._numbers = 0
        topics = max(1, size.partitions // 100)
        self.topics = tuple(f"orders.{number}" for number in range(topics))
        self.partitions = tuple((self.topics[n % topics], n // topics) for n in range(size.partitions))
        self._quota = -(-size.partitions // size.members)
        self._clients = [self._client(number) for number in range(size.members)]
        self._away: list[Client] = []
        self._rebalances = size.rebalances
        self._generation = 0

    def rebalances(self) -> Iterator[Rebalance]:
        """All rebalances. Clients have received their assignment before the next rebalance is requested."""
        new, left = tuple(self._clients), tuple[str, ...]()
        for _ in range(self._rebalances):
            first = self._generation + 1
            self._generation = first + (self._rng.random() < self._mix.abandoned)
            joined = tuple(each for each in self._clients if each in new or self._joins(each))
            for each in joined:
                each.sent = (each.owned, each.owned_generation)
            claims = self._claims()
            owners = self._assigned(claims)
            members = tuple(self._clients)
            yield Rebalance(self._generation, first, members[0], members, joined, new, left, claims, owners)
            self._receive_assignments(owners, joined)
            new, left = self._change()

    def _client(self, number: int) -> Client:
        static = number and self._rng.random() < self._mix.static
        client_id = f"client-{number}"
        return Client(client_id, f"instance-{number}" if static else None, self._member_id(client_id))

    def _member_id(self, client_id: str) -> str:
        return f"{client_id}-{self._rng.getrandbits(128):032x}"

    def _joins(self, client: Client) -> bool:
        """Static members that do not join in time stay in the group."""
        return client.instance_id is None or self._rng.random() >= self._mix.absent

    def _claims(self) -> dict[Partition, list[tuple[int, Client]]]:
        claims: dict[Partition, list[tuple[int, Client]]] = defaultdict(list)
        for client in self._clients:
            owned, generation = client.sent
            for partition in owned:
                claims[partition].append((generation, client))
        return claims

    def _assigned(self, claims: dict[Partition, list[tuple[int, Client]]]) -> dict[Partition, Client]:
        owners: dict[Partition, Client] = {}
        counts: dict[str, int] = dict.fromkeys((each.member_id for each in self._clients), 0)
        free = []
        for partition in self.partitions:
            claimed = claims.get(partition)
            if not claimed:
                free.append(partition)
                continue
            newest = max(generation for generation, _ in claimed)
            valid = [client for generation, client in claimed if generation == newest]
            if len(claimed) > len(valid) and self._rng.random() < self._mix.stale_wins:
                owners[partition] = next(client for generation, client in claimed if generation < newest)
            elif len(valid) > 1 or counts[valid[0].member_id] > self._quota:
                # contradicted, or must be revoked first
                continue
            else:
                owners[partition] = valid[0]
            counts[owners[partition].member_id] += 1
        least = [(count, number) for number, count in enumerate(counts.values())]
        heapq.heapify(least)
        for partition in free:
            count, number = heapq.heappop(least)
            owners[partition] = self._clients[number]
            heapq.heappush(least, (count + 1, number))
        if owners and self._rng.random() < self._mix.handed_over:
            owners[self._rng.choice(self.partitions)] = self._rng.choice(self._clients)
        return owners

    def _receive_assignments(self, owners: dict[Partition, Client], joined: tuple[Client, ...]) -> None:
        by_client: dict[Client, list[Partition]] = defaultdict(list)
        for partition, client in owners.items():
            by_client[client].append(partition)
        joined_clients = set(joined)
        for client in self._clients:
            assigned = frozenset(by_client.get(client, ()))
            if assigned != client.assigned or not client.history[0]:
                client.history[0].append(self._generation)
                client.history[1].append(assigned)
                client.assigned = assigned
            if client in joined_clients and self._rng.random() >= self._mix.unheard:
                if len(client.owned) != len(assigned) or not assigned.issuperset(client.owned):
                    client.owned = tuple(sorted(assigned))
                client.owned_generation = self._generation

    def _change(self) -> tuple[tuple[Client, ...], tuple[str, ...]]:
        """Changes of members before the next rebalance: new member ids, and those that have left."""
        rng, mix, new, left = self._rng, self._mix, list[Client](), list[str]()
        if rng.random() < mix.leaves and len(self._clients) > 2:
            at = rng.randrange(1, len(self._clients))
            if self._clients[at].instance_id is None:
                client = self._clients.pop(at)
                left.append(client.member_id)
                self._away.append(client)
        if len(self._away) > 3 or (self._away and rng.random() < mix.leaves):
            client = self._away.pop(rng.randrange(len(self._away)))
            if client.member_id not in left:
                client.begin_again(self._member_id(client.client_id))
                if rng.random() >= mix.stale:
                    client.owned, client.owned_generation = NOTHING, -1
                self._clients.append(client)
                new.append(client)
            else:
                self._away.append(client)
        if rng.random() < mix.restarts:
            client = rng.choice(self._clients)
            if client not in new:
                left.append(client.member_id)
                client.begin_again(self._member_id(client.client_id))
                client.owned, client.owned_generation = NOTHING, -1
                new.append(client)
        if rng.random() < mix.contradicts:
            self._contradict()
        return tuple(new), tuple(left)

    def _contradict(self) -> None:
        one, other = self._rng.sample(self._clients, 2)
        if one.owned_generation == other.owned_generation and other.owned and one.instance_id is None:
            one.owned = tuple(sorted({*one.owned, other.owned[0]}))
