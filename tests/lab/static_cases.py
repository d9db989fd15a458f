"""Hand-made cases of static members: a process ends, another one starts with its instance id."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streams
from cases import TOPIC, Case
from classic import await_rebalance, join_all, member, rebalance, sync_all
from classic_cases import alone
from commits import OLDER
from members import Group, Member


def classic(group: Group) -> None:
    """A classic static member is away within its session; its successor gets a new member id."""
    a = member(group, "a", [TOPIC], instance_id="instance-a")
    rebalance(a)
    b = member(group, "b", [TOPIC], instance_id="instance-b")
    rebalance(a, b)
    theirs = sorted(a.owned)
    a.commit("static_owner", a.generation, a.owned, "owner")
    # The process dies without LeaveGroup: the group does not notice, and its commits in flight still count.
    a.commit("static_away", a.generation, theirs[:1], "owner")
    successor = member(group, "a-again", [TOPIC], instance_id="instance-a", owned=a.owned)
    successor.send_join()
    successor.receive_join()
    successor.send_sync()
    a.was_removed()
    successor.receive_sync()
    a.commit("static_replaced", a.generation, theirs[:1], "zombie")
    a.commit("static_replaced_older_version", a.generation, theirs[1:], "zombie", version=OLDER)
    a.commit("static_replaced_without_instance", a.generation, theirs[:1], "zombie", instance_id=None)
    successor.commit("static_successor", successor.generation, successor.owned, "owner")
    successor.commit(
        "static_wrong_instance", successor.generation, theirs[:1], "owner", instance_id="instance-b"
    )
    b.commit("static_owner", b.generation, b.owned, "owner")


def classic_left(group: Group) -> None:
    """A classic static member that an administrator has removed by its instance id commits once more."""
    a = alone(group, instance_id="instance-a")
    b = member(group, "b", [TOPIC])
    rebalance(a, b)
    theirs = sorted(a.owned)
    a.leave()
    a.commit("static_removed", a.generation, theirs[:1], "not_owner", rebalancing="preparing")
    await_rebalance(b)
    everything = frozenset(b.owned | a.owned)
    join_all(b)
    sync_all({b.member_id: everything}, b)
    a.commit("static_removed_next_generation", a.generation, theirs[1:], "zombie")


def _consumer_member(group: Group, name: str) -> Member:
    return group.member(f"{group.group_id}-{name}", [TOPIC])


def _streams_member(group: Group, name: str) -> Member:
    return streams.member(group, name, {TOPIC: False})


def _replaced(group: Group, new: Callable[[Group, str], Member]) -> None:
    """A static member leaves for a while (-2); its successor has another member id."""
    a = new(group, "a")
    a.instance_id = "instance-a"
    a.join()
    group.settle(a)
    b = new(group, "b")
    b.instance_id = "instance-b"
    b.join()
    group.settle(a, b)
    theirs, last = set(a.owned), a.epoch
    a.commit("static_owner", a.epoch, a.owned, "owner")
    a.go_away()
    first, second = sorted(theirs)
    a.commit("static_away", last, [first], "not_owner")
    a.commit("static_away_epoch_of_leaving", -2, [first], "unfenced")
    successor = new(group, "a-again")
    successor.instance_id = "instance-a"
    successor.join()
    group.settle(successor, b)
    group.await_held(successor, theirs)
    a.commit("static_replaced", last, [first], "zombie")
    a.commit("static_replaced_without_instance", last, [second], "zombie", instance_id=None)
    successor.commit("static_successor", successor.epoch, successor.owned, "owner")
    successor.commit("static_successor_epoch_before", last - 1, [first], "not_owner")
    b.commit("static_owner", b.epoch, b.owned, "owner")


CLASSIC: dict[str, Case] = {"static-classic": classic, "static-classic-left": classic_left}
CONSUMER: dict[str, Case] = {"static-consumer": partial(_replaced, new=_consumer_member)}
STREAMS: dict[str, Case] = {"static-streams": partial(_replaced, new=_streams_member)}
"""Group id -> the case played in it, by protocol."""
