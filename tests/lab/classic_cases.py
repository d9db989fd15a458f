"""Hand-made cases of classic groups: generations instead of epochs, and a rebalance that has phases."""

from __future__ import annotations

import time

from brokers import LabError
from cases import OTHER_TOPIC, TOPIC, Case
from classic import (
    EAGER,
    ClassicMember,
    await_rebalance,
    join_all,
    member,
    rebalance,
    sync_all,
)
from commits import BY_ID, BY_NAME, OLDER, Commit
from members import Group

PREPARING, COMPLETING = "preparing", "completing"
"""Phases of a rebalance: members are joining; they have joined, and the leader has not synced yet."""


def alone(group: Group, name: str = "a", **more: object) -> ClassicMember:
    """A member that owns all of the topic."""
    a = member(group, name, [TOPIC], **more)
    rebalance(a)
    return a


def bump(group: Group, *members: ClassicMember) -> ClassicMember:
    """A new generation in which nothing moves: a member joins for another topic."""
    bystander = member(group, "bystander", [OTHER_TOPIC])
    bystander.send_join()
    await_rebalance(*members)
    for each in members:
        each.send_join()
    for each in (*members, bystander):
        each.receive_join()
    given = {m.member_id: m.owned for m in members}
    sync_all({**given, bystander.member_id: frozenset({(OTHER_TOPIC, 0)})}, *members, bystander)
    return bystander


def late_kept(group: Group) -> None:
    """There is a new generation, the partition stayed: the classic rule refuses the owner."""
    a = alone(group)
    old = a.generation
    a.commit("classic_owner", old, a.owned, "owner")
    bump(group, a)
    first, second, third, *_ = sorted(a.owned)
    a.commit("classic_late_kept", old, [first], "owner")
    a.commit("classic_late_kept_older_version", old, [second], "owner", version=OLDER)
    a.commit("classic_late_kept_by_id", old, [third], "owner", version=BY_ID)
    a.commit("classic_current", a.generation, [first], "owner")
    a.commit("classic_current_older_version", a.generation, [second], "owner", version=OLDER)
    a.commit("classic_current_by_id", a.generation, [third], "owner", version=BY_ID)


def late_moved(group: Group) -> None:
    """The zombie of a classic group, while its partition moves and after that."""
    a = alone(group)
    old, everything = a.generation, set(a.owned)
    b = member(group, "b", [TOPIC])
    rebalance(a, b)
    kept, moved = sorted(a.owned), sorted(everything - a.owned)
    a.commit("classic_late_moved", old, moved[:1], "zombie")
    a.commit("classic_late_moved_older_version", old, moved[1:], "zombie", version=OLDER)
    a.commit("classic_late_kept", old, kept[:1], "owner")
    a.commit("classic_late_mixed_request", old, [kept[0], moved[0]], ["owner", "zombie"])
    a.commit("classic_current_anothers_partition", a.generation, moved[:1], "not_owner")
    b.commit("classic_current", b.generation, b.owned, "owner")


def late_moved_eager(group: Group) -> None:
    """The same with an eager assignor: a partition moves within one rebalance."""
    a = alone(group, strategy=EAGER)
    old, everything = a.generation, set(a.owned)
    b = member(group, "b", [TOPIC], strategy=EAGER)
    rebalance(a, b)
    moved = sorted(everything - a.owned)
    a.commit("classic_late_moved", old, moved, "zombie")
    a.commit("classic_late_kept", old, sorted(a.owned)[:1], "owner")
    b.commit("classic_current", b.generation, b.owned, "owner")


def between_generations(group: Group) -> None:
    """The cooperative generation in between: revoked from one member, not yet assigned to the other."""
    a = alone(group)
    old, everything = a.generation, a.owned
    b = member(group, "b", [TOPIC])
    join_all(a, b)
    kept = frozenset(sorted(everything)[:2])
    sync_all({a.member_id: kept, b.member_id: frozenset()}, a, b)
    free = sorted(everything - kept)
    a.commit("classic_revoked_older_generation", old, free[:1], "not_owner")
    a.commit("classic_revoked_current_generation", a.generation, free[:1], "not_owner")
    rebalance(a, b)
    b.commit("classic_current", b.generation, b.owned, "owner")


def rebalancing(group: Group) -> None:
    """Commits in the phases of a rebalance, at the old and at the new generation."""
    a = alone(group)
    old = a.generation
    bystander = member(group, "bystander", [OTHER_TOPIC])
    bystander.send_join()
    await_rebalance(a)
    first, second, *_ = sorted(a.owned)
    a.commit("preparing_current_generation", old, [first], "owner", rebalancing=PREPARING)
    a.commit("preparing_older_version", old, [second], "owner", version=OLDER, rebalancing=PREPARING)
    a.commit("preparing_by_id", old, [second], "owner", version=BY_ID, rebalancing=PREPARING)
    a.commit("preparing_older_generation", old - 1, [first], "not_owner", rebalancing=PREPARING)
    a.send_join()
    a.receive_join()
    bystander.receive_join()
    a.keep_on()
    a.commit("completing_new_generation", a.generation, [first], "owner", rebalancing=COMPLETING)
    a.commit("completing_older_generation", old, [first], "owner", rebalancing=COMPLETING)
    connection = group.connect(f"{group.group_id}-nobody")
    stranger = Commit(
        "completing_stranger", a.generation, [(TOPIC, 0)], ["not_owner"], BY_NAME, rebalancing=COMPLETING
    )
    group.commit(connection, "nobody", stranger)
    sync_all({a.member_id: a.owned, bystander.member_id: frozenset({(OTHER_TOPIC, 0)})}, a, bystander)
    a.commit("classic_current", a.generation, [first], "owner")


def left(group: Group) -> None:
    """A member that has left commits before the next generation is written, and after."""
    a = alone(group)
    b = member(group, "b", [TOPIC])
    rebalance(a, b)
    theirs = sorted(a.owned)
    a.leave()
    a.commit("left_before_next_generation", a.generation, theirs[:1], "not_owner", rebalancing=PREPARING)
    rebalance(b)
    a.commit("left_after_next_generation", a.generation, theirs[1:], "zombie")
    b.commit("classic_current", b.generation, b.owned, "owner")
    last = sorted(b.owned)
    b.leave()
    b.commit("left_empty_group", b.generation, last[:1], "not_owner")


def expired(group: Group) -> None:
    """A member whose session has expired continues to commit."""
    a = alone(group, session_timeout_ms=1500)
    b = member(group, "b", [TOPIC])
    rebalance(a, b)
    theirs = sorted(a.owned)
    deadline = time.monotonic() + 10
    while b.heartbeat() == "NONE":
        if time.monotonic() > deadline:
            raise LabError("the session did not expire")
        time.sleep(0.2)
    a.was_removed()
    a.commit("expired_before_next_generation", a.generation, theirs[:1], "not_owner", rebalancing=PREPARING)
    rebalance(b)
    a.commit("expired_after_next_generation", a.generation, theirs[1:], "zombie")
    b.commit("classic_current", b.generation, b.owned, "owner")


def foreign(group: Group) -> None:
    """A generation from the future, and a member that the group never had."""
    a = alone(group)
    a.commit("classic_future_generation", a.generation + 5, sorted(a.owned)[:1], "not_owner")
    connection = group.connect(f"{group.group_id}-nobody")
    stranger = Commit("classic_never_a_member", a.generation, [(TOPIC, 0)], ["not_owner"], BY_NAME)
    group.commit(connection, "nobody", stranger)
    a.commit("classic_current_nobodys_partition", a.generation, [(OTHER_TOPIC, 0)], "not_owner")


def admin(group: Group) -> None:
    """A commit without generation and member: while the group has members, and when it has none."""
    a = alone(group)
    connection = group.connect(f"{group.group_id}-admin")
    for case in ("classic_admin_while_active", "classic_admin_when_empty"):
        for version in (BY_NAME, OLDER, BY_ID):
            group.commit(connection, "", Commit(case, -1, [(TOPIC, 0)], ["unfenced"], version))
        if case == "classic_admin_while_active":
            a.commit("classic_current", a.generation, a.owned, "owner")
            a.leave()


def lives(group: Group) -> None:
    """Three lives of one group id; each begins with a first generation."""
    for life in ("classic_first_life", "classic_second_life", "classic_third_life"):
        a = alone(group)
        b = member(group, "b", [TOPIC])
        rebalance(a, b)
        a.commit(life, a.generation, a.owned, "owner")
        b.commit(life, b.generation, b.owned, "owner")
        a.commit(f"{life}_older_generation", a.generation - 1, sorted(a.owned)[:1], "owner")
        a.leave()
        b.leave()
        group.delete()


CASES: dict[str, Case] = {
    "classic-late-kept": late_kept,
    "classic-late-moved": late_moved,
    "classic-late-moved-eager": late_moved_eager,
    "classic-between-generations": between_generations,
    "classic-rebalancing": rebalancing,
    "classic-left": left,
    "classic-expired": expired,
    "classic-foreign": foreign,
    "classic-admin": admin,
    "classic-lives": lives,
}
"""Group id -> the case played in it."""
