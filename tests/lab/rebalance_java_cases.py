"""Cases of classic groups that a real Java consumer leads, with Kafka's own assignors and custom ones."""

from __future__ import annotations

import time

from brokers import LabError
from cases import OTHER_TOPIC, TOPIC
from group_clients import JavaMember, start
from rebalance_cases import Case
from rebalance_groups import RebalanceGroup
from rebalance_members import Member

_REST_S = 2.0
_LONG_PATTERN = "%d{yyyy-MM-dd'T'HH:mm:ss.SSSXXX} [%t] %-5p %c - %m%n"
"""A layout as applications have it; log4j 1 has no offset of the zone in it."""


def rolling(group: RebalanceGroup) -> None:
    """Three members are restarted one after the other."""
    _restart_all(group, 3, {})


def rolling_static(group: RebalanceGroup) -> None:
    """The same for two static members, which return before their sessions expire: nothing moves."""
    _restart_all(group, 2, {n: f"instance-{n}" for n in range(2)})


def _restart_all(group: RebalanceGroup, count: int, instance_ids: dict[int, str]) -> None:
    first = [_start(group, f"m{n}", instance_id=instance_ids.get(n)) for n in range(count)]
    time.sleep(_REST_S)
    again = []
    for n, member in enumerate(first):
        group.account.because("rolling_restart")
        member.stop()
        again.append(_start(group, f"m{n}-again", instance_id=instance_ids.get(n)))
    time.sleep(_REST_S)
    _stop(group, again)
    for member in first:
        member.tell()


def frozen(group: RebalanceGroup) -> None:
    """A real member does not notice at first that its session has expired; when it does, it revokes its
    partitions.
    """
    members = [_start(group, f"m{n}", session_timeout_ms=3000) for n in range(2)]
    time.sleep(_REST_S)
    group.account.because("session_over")
    members[1].freeze()
    time.sleep(4.5)
    group.account.because("join")
    members[1].thaw()
    time.sleep(2 * _REST_S)
    _stop(group, members)


def led(group: RebalanceGroup) -> None:
    """Hand-made members under Kafka's cooperative-sticky: claims that collide, and claims that are stale."""
    leader = _start(group, "leader", debug=True)
    a, b = _follow(group)
    group.account.because("rejoin")
    _insist(group, b, a)
    _insist(group, b, a, generations_back=1)
    _insist(group, a, b, generations_back=2)
    _stop(group, [leader], a, b)


def led_undated(group: RebalanceGroup) -> None:
    """The same by members whose subscriptions have no generation, only user data: which of two claims
    Kafka's assignor accepts then depends on their order."""
    leader = _start(group, "leader")
    a, b = _follow(group, version=1)
    group.account.because("rejoin")
    _insist(group, b, a, generations_back=1)
    _insist(group, a, b, generations_back=1)
    _stop(group, [leader], a, b)


def led_unequal(group: RebalanceGroup) -> None:
    """The same by members with different subscriptions, for which Kafka's assignor has another algorithm."""
    leader = _start(group, "leader")
    a = group.member("a")
    group.account.because("join")
    group.follow(a)
    b = group.member("b", topics=(TOPIC, OTHER_TOPIC))
    group.follow(a, b)
    group.account.because("rejoin")
    _insist(group, b, a, generations_back=1)
    _stop(group, [leader], a, b)


def hasty(group: RebalanceGroup) -> None:
    """A custom assignor hands partitions over too early: Kafka's consumer refuses, and ends."""
    leader = _start(group, "leader", "Hasty")
    b = group.member("b", strategies=("hasty",))
    b.join()
    b.joined()
    b.sync()
    group.account.because("leader_failed")
    if b.synced() != "REBALANCE_IN_PROGRESS" or not leader.failed():
        raise LabError(f"{group.group_id}: the leader went on")
    group.rebalance(b)
    _stop(group, [leader], b)


def credulous(group: RebalanceGroup) -> None:
    """A custom assignor accepts a stale claim: Kafka's consumer does not notice."""
    leader = _start(group, "leader", "Credulous")
    a, b = _follow(group, strategies=("credulous",))
    group.account.because("rejoin")
    _insist(group, a, b, generations_back=2)
    _stop(group, [leader], a, b)


def eager_range(group: RebalanceGroup) -> None:
    """Two eager members; one is killed."""
    _eager(group, "Range")


def eager_sticky(group: RebalanceGroup) -> None:
    """The same with the assignor that has the previous assignment in its user data."""
    _eager(group, "Sticky")


def _eager(group: RebalanceGroup, assignor: str) -> None:
    members = [_start(group, f"m{n}", assignor, session_timeout_ms=2500) for n in range(2)]
    time.sleep(_REST_S)
    group.account.because("session_over")
    members[1].crash()
    time.sleep(4)
    _stop(group, members[:1])
    members[1].tell()


def _start(group: RebalanceGroup, name: str, assignor: str = "Cooperative", **more: object) -> JavaMember:
    group.account.because("join")
    pattern = _LONG_PATTERN if group.stage.cluster.plan.version == "4.3.1" and name == "m1" else None
    member = start(group, f"{group.group_id}-{name}", assignor, pattern=pattern, **more)
    member.await_event("assigned")
    return member


def _follow(group: RebalanceGroup, **more: object) -> tuple[Member, Member]:
    a = group.member("a", **more)
    group.account.because("join")
    group.follow(a)
    b = group.member("b", **more)
    group.follow(a, b)
    return a, b


def _insist(group: RebalanceGroup, claimant: Member, owner: Member, generations_back: int = 0) -> None:
    """One member claims a partition of another in addition to its own, with an older generation,
    and joins.
    """
    wanted = min(owner.owned or owner.group.partitions)
    claimant.claim(claimant.owned | {wanted}, claimant.generation - generations_back)
    claimant.join()
    group.await_rebalance(owner)
    owner.join()
    for each in (claimant, owner):
        each.joined()
        each.sync()
    for each in (claimant, owner):
        each.synced()
    claimant.claim(None)
    group.follow(claimant, owner)


def _stop(group: RebalanceGroup, clients: list[JavaMember], *members: Member) -> None:
    group.account.because("leave")
    for member in members:
        member.leave()
    for client in clients:
        client.stop()
        client.tell()


CASES: dict[str, Case] = {
    "java-rolling": rolling,
    "java-rolling-static": rolling_static,
    "java-frozen": frozen,
    "java-led": led,
    "java-led-undated": led_undated,
    "java-led-unequal": led_unequal,
    "java-hasty": hasty,
    "java-credulous": credulous,
    "java-eager-range": eager_range,
    "java-eager-sticky": eager_sticky,
}
"""Group id -> the case played in it."""
