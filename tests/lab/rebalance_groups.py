"""One classic group of hand-made members, with or without real ones, and the steps of its rebalances."""

from __future__ import annotations

import time
from typing import Any

from assignors import Rule, careful
from brokers import LabError
from cases import TOPIC
from lab_client import LabClient
from rebalance_members import Member
from rebalance_truth import Account
from scenario import Stage
from truth import Partition

_PATIENCE_S = 30.0
_HEARTBEAT_S = 0.3
_QUIET_S = 1.8


class RebalanceGroup:
    """A group that is driven from one thread; its case has its name.

    ``unreadable`` are subscriptions that no consumer can read. ``generation`` is the last one that the
    driver knows of.
    """

    def __init__(self, stage: Stage, group_id: str) -> None:
        self.stage = stage
        self.group_id = group_id
        self.account = Account(stage.truth, group_id)
        self.members: list[Member] = []
        self.unreadable: set[bytes] = set()
        self.generation: int | None = None
        self._clients: list[LabClient] = []

    def member(self, name: str, **more: Any) -> Member:
        """A member that has not joined yet; ``name`` completes its client id."""
        client_id = f"{self.group_id}-{name}"
        client = LabClient(self.stage.cluster, self.stage.truth, client_id, self.group_id)
        self._clients.append(client)
        self.members.append(Member(self, client, **{"topics": (TOPIC,), **more}))
        return self.members[-1]

    @property
    def partitions(self) -> frozenset[Partition]:
        """All partitions that can be assigned."""
        return frozenset((TOPIC, index) for index in range(self.stage.cluster.partitions(TOPIC)))

    def join_all(self, *members: Member) -> None:
        """Every member sends JoinGroup, newcomers or else the leader first, and is answered."""
        first = [m for m in members if m.generation < 0 or not m.member_id]
        first = first or [m for m in members if m.is_leader]
        others = [m for m in members if m not in first]
        for each in first:
            each.join()
        self.await_rebalance(*others)  # a member that joins before it has begun gets an unchanged generation
        for each in others:
            each.join()
        for each in members:
            if (error := each.joined()) != "NONE":
                raise LabError(f"{each.client.client_id}: {error}")

    def round(self, *members: Member, rule: Rule = careful) -> None:
        """One generation, led by hand, by a rule."""
        self.join_all(*members)
        (leader,) = (m for m in members if m.is_leader)
        given = rule(leader.seen, self.partitions)
        for each in sorted(members, key=lambda m: not m.is_leader):
            each.sync(given if each.is_leader else None)
        for each in members:
            if (error := each.synced()) != "NONE":
                raise LabError(f"{each.client.client_id}: {error}")

    def rebalance(self, *members: Member, rule: Rule = careful) -> None:
        """Generations until every partition has an owner."""
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            self.round(*members, rule=rule)
            if frozenset[Partition]().union(*(m.owned for m in members)) == self.partitions:
                return
            if time.monotonic() > deadline:
                raise LabError(f"{self.group_id}: the group does not settle")

    def follow(self, *members: Member) -> None:
        """Follow a real leader until nothing has happened for a while; a member that loses a partition
        rejoins, as cooperative members do.
        """
        quiet_since, deadline = time.monotonic(), time.monotonic() + _PATIENCE_S
        waiting = [m for m in members if not m.member_id or m.generation < 0]
        while time.monotonic() - quiet_since < _QUIET_S:
            if time.monotonic() > deadline:
                raise LabError(f"{self.group_id}: the group does not come to rest")
            told = [m for m in members if m not in waiting and m.heartbeat() == "REBALANCE_IN_PROGRESS"]
            first = waiting + told
            if not first:
                time.sleep(_HEARTBEAT_S)
                continue
            waiting = self._follow_once(first, [m for m in members if m not in first])
            quiet_since = time.monotonic()

    def _follow_once(self, first: list[Member], others: list[Member]) -> list[Member]:
        """One generation; returns the members that must rejoin."""
        members = [*first, *others]
        had = {id(m): m.owned for m in members}
        for each in first:
            each.join()
        self.await_rebalance(*others)
        for each in others:
            each.join()
        for each in members:
            if (error := each.joined()) != "NONE":
                raise LabError(f"{each.client.client_id}: {error}")
        for each in members:
            each.sync()
        again = []
        for each in members:
            error = each.synced()
            if error == "REBALANCE_IN_PROGRESS" or (error == "NONE" and had[id(each)] - each.owned):
                again.append(each)
            elif error != "NONE":
                raise LabError(f"{each.client.client_id}: {error}")
        return again

    def await_rebalance(self, *members: Member) -> None:
        """Heartbeat until every member has learned that a rebalance has begun."""
        deadline = time.monotonic() + _PATIENCE_S
        for each in members:
            while (error := each.heartbeat()) != "REBALANCE_IN_PROGRESS":
                if error != "NONE" or time.monotonic() > deadline:
                    raise LabError(f"{each.client.client_id}: {error}, not a rebalance")
                time.sleep(0.1)

    def close(self) -> None:
        """Write the account; the members leave, so that no rebalance waits for them."""
        for member in [m for m in self.members if m.member_id]:
            member.leave()
        for client in self._clients:
            client.close()
        self.account.close()
