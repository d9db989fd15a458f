"""Hand-made cases of streams groups: tasks instead of partitions, and topics outside of the topology."""

from __future__ import annotations

import time

from brokers import LabError
from cases import OTHER_TOPIC, TOPIC, Case
from commits import BY_ID, BY_NAME, Commit
from members import Group
from streams import StreamsMember, member
from truth import Partition

_ONE = {TOPIC: False}
_TWO = {TOPIC: True, OTHER_TOPIC: False}


def alone(group: Group) -> StreamsMember:
    """A member with every task."""
    a = member(group, "a", _ONE)
    a.join()
    group.settle(a)
    return a


def share(group: Group, a: StreamsMember) -> tuple[StreamsMember, list[Partition], list[Partition]]:
    """A second member gets its share; returns it, the tasks that the first kept and those that moved."""
    before = a.owned
    b = member(group, "b", _ONE)
    b.join()
    group.settle(a, b)
    group.await_held(b, set(before - a.owned))
    return b, sorted(a.owned), sorted(before - a.owned)


def late(group: Group) -> None:
    """Commits of an older epoch, for a task that stayed and for one that moved."""
    a = alone(group)
    old = a.epoch
    a.commit("streams_owner", a.epoch, a.owned, "owner")
    b, kept, moved = share(group, a)
    a.commit("streams_late_kept", old, kept[:1], "owner", version=BY_NAME)
    a.commit("streams_late_kept_by_id", old, kept[1:], "owner", version=BY_ID)
    a.commit("streams_late_moved", old, moved[:1], "zombie", version=BY_NAME)
    a.commit("streams_late_moved_by_id", old, moved[1:], "zombie", version=BY_ID)
    a.commit("streams_late_mixed_request", old, [kept[0], moved[0]], ["owner", "zombie"])
    a.commit("streams_current_anothers_task", a.epoch, moved[:1], "not_owner")
    a.commit("streams_current", a.epoch, a.owned, "owner")
    b.commit("streams_current", b.epoch, b.owned, "owner")
    a.commit("streams_future_epoch", a.epoch + 5, kept[:1], "not_owner")


def pending(group: Group) -> None:
    """Tasks that a member must revoke, before and after it does."""
    a = alone(group)
    old = a.epoch
    a.retag("again")
    deadline = time.monotonic() + 15
    while a.epoch == old:
        if time.monotonic() > deadline:
            raise LabError("the epoch was not raised")
        a.heartbeat()
        time.sleep(0.05)
    b = member(group, "b", _ONE)
    b.join()
    while not a.owned - a.assigned:
        if time.monotonic() > deadline:
            raise LabError("nothing was revoked")
        a.heartbeat()
        time.sleep(0.05)
    leaving = sorted(a.owned - a.assigned)
    a.commit("streams_pending_older_epoch", old, leaving[:1], "owner", version=BY_NAME)
    a.commit("streams_pending_older_epoch_by_id", old, leaving[1:], "owner", version=BY_ID)
    last = a.epoch
    a.commit("streams_pending_current_epoch", a.epoch, leaving, "owner")
    a.give_up_revoked()
    a.commit("streams_released_older_epoch", last, leaving[:1], "not_owner")
    a.commit("streams_released_current_epoch", a.epoch, leaving[1:], "not_owner")
    group.await_held(b, set(leaving))
    b.commit("streams_current", b.epoch, b.owned, "owner")
    c = member(group, "c", _ONE)
    c.join()
    group.settle(a, b, c)
    b.commit("streams_current", b.epoch, b.owned, "owner")


def topology(group: Group) -> None:
    """A topic that no subtopology reads, at the current and at an older epoch."""
    a = alone(group)
    old = a.epoch
    a.commit("streams_foreign_topic", a.epoch, [(OTHER_TOPIC, 0)], "not_owner")
    share(group, a)
    a.commit("streams_foreign_topic_older_epoch", old, [(OTHER_TOPIC, 0)], "not_owner")
    a.commit("streams_foreign_topic_current", a.epoch, [(OTHER_TOPIC, 0)], "not_owner")


def left(group: Group) -> None:
    """A member that left commits for tasks that another member runs now; commits without an epoch."""
    a = alone(group)
    b, kept, _ = share(group, a)
    last = a.epoch
    a.leave()
    a.commit("streams_left", last, kept[:1], "not_owner")
    group.settle(b)
    group.await_held(b, set(kept))
    a.commit("streams_left_moved", last, kept[1:], "zombie")
    b.commit("streams_current", b.epoch, b.owned, "owner")
    b.commit("streams_member_without_epoch", -1, kept[:1], "unfenced")
    admin = group.connect(f"{group.group_id}-admin")
    group.commit(admin, "", Commit("streams_admin_while_active", -1, kept[:1], ["unfenced"], BY_NAME))
    b.leave()
    group.commit(admin, "", Commit("streams_admin_when_empty", -1, kept[:1], ["unfenced"], BY_NAME))


def standby(group: Group) -> None:
    """A stateful subtopology with standby tasks: the standby's member commits for the active task."""
    group.cluster.set_group_config(group.group_id, "streams.num.standby.replicas", "1")
    a = member(group, "a", _TWO)
    a.join()
    group.settle(a)
    everything = {(TOPIC, p) for p in range(4)} | {(OTHER_TOPIC, 0)}
    group.await_held(a, everything)
    old = a.epoch
    b = member(group, "b", _TWO)
    b.join()
    group.settle(a, b)
    shadows = sorted(b.standby & a.owned)
    kept = sorted(p for p in a.owned if p[0] == TOPIC)
    if not shadows:
        raise LabError("no standby task was assigned")
    b.commit("streams_standby_current_epoch", b.epoch, shadows[:1], "not_owner")
    a.commit("streams_late_kept", old, kept[:1], "owner")
    a.commit("streams_current", a.epoch, a.owned, "owner")
    b.commit("streams_current", b.epoch, b.owned, "owner")


CASES: dict[str, Case] = {
    "streams-late": late,
    "streams-pending": pending,
    "streams-topology": topology,
    "streams-left": left,
    "streams-standby": standby,
}
"""Group id -> the case played in it."""
