"""Hand-made cases of classic groups about ownership claims; the driver is the leader's assignor, too."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from assignors import careful, credulous, hasty
from brokers import LabError
from rebalance_groups import RebalanceGroup
from rebalance_members import COOPERATIVE, RANGE, STICKY, Member

Case = Callable[[RebalanceGroup], None]

SHORT_MS = 1500
"""A session that expires soon."""

_GENERATIONS_WITHOUT_END = 8
_OLDER_JOIN = 2
"""A JoinGroup of clients from before member ids are required."""


def _pair(group: RebalanceGroup, **more: object) -> tuple[Member, Member]:
    """Two members that share the topic; the first leads."""
    a = group.member("a", **more)
    group.account.because("join")
    group.rebalance(a)
    b = group.member("b", **more)
    group.rebalance(a, b)
    return a, b


def _await_removal(group: RebalanceGroup, *members: Member) -> None:
    """Wait until a member's session has expired."""
    group.await_rebalance(*members)


def away(group: RebalanceGroup, **more: object) -> None:
    """A member's session expires, and its partitions are assigned to the other; it returns and still claims
    them.

    Like a client, it tries with its old member id, then as a new member.
    """
    a, b = _pair(group, session_timeout_ms=SHORT_MS, **more)
    lost, since = b.owned, b.generation
    b.claim(lost, since)
    group.account.because("session_over")
    _await_removal(group, a)
    group.members.remove(b)
    group.rebalance(a)
    group.members.append(b)
    group.account.because("join")
    b.join()
    if (error := b.joined()) != "UNKNOWN_MEMBER_ID":
        raise LabError(f"{group.group_id}: {error}")
    b.forget_membership()
    rule = credulous if "credulous" in group.group_id else None
    group.round(a, b, **({"rule": rule} if rule else {}))
    b.claim(None)
    group.rebalance(a, b)


def collide(group: RebalanceGroup) -> None:
    """Two members claim one partition in the same generation: neither keeps it."""
    a, b = _pair(group)
    first = min(a.owned)
    b.claim(b.owned | {first}, b.generation)
    group.account.because("rejoin")
    group.round(a, b)
    b.claim(None)
    group.rebalance(a, b)


def collide_later(group: RebalanceGroup) -> None:
    """Two members claim one partition in different generations, and the later one is right."""
    a, b = _pair(group)
    b.claim(b.owned | {min(a.owned)}, a.generation - 1)
    group.account.because("rejoin")
    group.round(a, b)
    b.claim(None)
    group.rebalance(a, b)


def hasty_leader(group: RebalanceGroup) -> None:
    """The leader hands partitions over in the generation that revokes them."""
    a = group.member("a", strategies=("hasty",))
    group.account.because("join")
    group.rebalance(a, rule=hasty)
    b = group.member("b", strategies=("hasty",))
    group.rebalance(a, b, rule=hasty)


def endless(group: RebalanceGroup) -> None:
    """Two members insist on one partition, neither gets it, and both join again, with the same claims."""
    a, b = _pair(group, version=1, dated=False)
    contested = min(a.owned)
    a.claim(a.owned)
    b.claim(b.owned | {contested})
    group.account.because("rejoin")
    for _ in range(_GENERATIONS_WITHOUT_END):
        group.round(a, b)
    b.claim(None)
    a.claim(None)
    group.rebalance(a, b)


def interrupted(group: RebalanceGroup) -> None:
    """A member joins between JoinGroup and SyncGroup: that generation has no assignment, but claims have its
    number, as from Java consumers.
    """
    a, b = _pair(group)
    group.account.because("rejoin")
    group.join_all(a, b)
    c = group.member("c")
    group.account.because("join")
    c.join()
    group.await_rebalance(a)
    given = {a.member_id: a.owned, b.member_id: b.owned}
    leader, follower = (a, b) if a.is_leader else (b, a)
    follower.sync()
    leader.sync(given)
    if {leader.synced(), follower.synced()} != {"REBALANCE_IN_PROGRESS"}:
        raise LabError(f"{group.group_id}: the rebalance was not interrupted")
    for each in (leader, follower):
        each.join()
    for each in (a, b, c):
        each.joined()
    leader = next(m for m in (a, b, c) if m.is_leader)

    given = careful(leader.seen, group.partitions)
    for each in sorted((a, b, c), key=lambda m: not m.is_leader):
        each.sync(given if each.is_leader else None)
    for each in (a, b, c):
        each.synced()
    group.rebalance(a, b, c)


def slow(group: RebalanceGroup) -> None:
    """A member does not join a rebalance in time, is removed, and returns with its old claims."""
    a, b = _pair(group, rebalance_timeout_ms=2500, session_timeout_ms=20_000)
    lost, since = b.owned, b.generation
    group.account.because("rejoin")
    a.join()
    a.joined()

    a.sync(careful(a.seen, group.partitions))
    a.synced()
    group.account.because("join")
    b.claim(lost, since)
    b.join()
    b.joined()
    b.forget_membership()
    group.round(a, b)
    b.claim(None)
    group.rebalance(a, b)


def static(group: RebalanceGroup) -> None:
    """A static member returns within its session, twice at once (a duplicate), and after its session."""
    a = group.member("a", instance_id="instance-a")
    group.account.because("join")
    group.rebalance(a)
    b = group.member("b", instance_id="instance-b", session_timeout_ms=3000)
    group.rebalance(a, b)
    lost, since = b.owned, b.generation
    back = group.member("b-back", instance_id="instance-b", session_timeout_ms=3000)
    back.claim(frozenset(), -1)
    back.join()
    back.joined()
    back.sync()
    back.synced()
    b.heartbeat()  # there are two processes of one instance id now: the first is fenced
    group.members.remove(b)
    group.account.because("session_over")
    _await_removal(group, a)
    group.members.remove(back)
    group.rebalance(a)
    late = group.member("b-late", instance_id="instance-b", session_timeout_ms=30_000)
    late.claim(lost, since)
    group.account.because("join")
    group.round(a, late)
    late.claim(None)
    group.rebalance(a, late)


def static_absent(group: RebalanceGroup) -> None:
    """A static member does not join a rebalance in time: the group continues with its old subscription, and
    its partitions are assigned to others while it still owns them.
    """
    a = group.member("a", rebalance_timeout_ms=2500)
    group.account.because("join")
    group.rebalance(a)
    b = group.member("b", instance_id="instance-b", rebalance_timeout_ms=2500)
    group.rebalance(a, b)
    c = group.member("c", rebalance_timeout_ms=2500)
    c.join()
    group.await_rebalance(a)
    a.join()
    for each in (a, c):
        each.joined()
    a.sync(careful(a.seen, group.partitions))
    c.sync()
    for each in (a, c):
        each.synced()
    b.heartbeat()
    group.account.because("rejoin")
    b.claim(b.owned, b.generation)
    b.generation = -1  # it does not wait to be told
    group.round(a, b, c)
    b.claim(None)
    group.rebalance(a, b, c)


def versions(group: RebalanceGroup) -> None:
    """Members of four client versions in one group: subscriptions and assignments of versions 0 to 3."""
    members: list[Member] = []
    group.account.because("join")
    for version in (3, 2, 1, 0):
        older = _OLDER_JOIN if version == 0 else 9
        members.append(group.member(f"v{version}", version=version, join_version=older))
        group.rebalance(*members)


def eager(group: RebalanceGroup, strategy: str, version: int = 3, dated: bool = True) -> None:
    """An eager group: members revoke everything before they join, and partitions that move have no owner in
    between.
    """
    a = group.member("a", strategies=(strategy,), version=version, dated=dated)
    group.account.because("join")
    group.round(a)
    b = group.member("b", strategies=(strategy,), version=version, dated=dated)
    group.round(a, b)
    group.account.because("leave")
    b.leave()
    group.await_rebalance(a)
    group.round(a)


def two_strategies(group: RebalanceGroup) -> None:
    """The first half of an upgrade from range to cooperative-sticky: everybody supports both."""
    a = group.member("a", strategies=(COOPERATIVE, RANGE))
    group.account.because("join")
    group.rebalance(a)
    b = group.member("b", strategies=(COOPERATIVE, RANGE))
    group.rebalance(a, b)
    c = group.member("c", strategies=(RANGE,))
    group.round(a, b, c)


def left(group: RebalanceGroup) -> None:
    """Members join and leave cleanly, and the group is empty in the end."""
    a, b = _pair(group)
    group.account.because("leave")
    a.leave()
    group.await_rebalance(b)
    group.rebalance(b)
    b.leave()


CASES: dict[str, Case] = {
    "away": away,
    "away-user-data": partial(away, version=1),
    "away-undated": partial(away, version=1, dated=False),
    "away-credulous": away,
    "collide": collide,
    "collide-later": collide_later,
    "hasty": hasty_leader,
    "endless": endless,
    "interrupted": interrupted,
    "slow": slow,
    "static": static,
    "static-absent": static_absent,
    "versions": versions,
    "eager-range": partial(eager, strategy=RANGE),
    "eager-sticky": partial(eager, strategy=STICKY),
    "eager-sticky-undated": partial(eager, strategy=STICKY, version=0, dated=False),
    "two-strategies": two_strategies,
    "left": left,
}
"""Group id -> the case played in it."""
