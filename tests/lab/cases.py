"""Hand-made cases: one function for each way in which a commit can coincide with a rebalance, each in its
own group.

Every function says which truth it expects for every commit; the driver's account of ownership must agree
before the commit is sent. The broker's answer is recorded, not expected: captures are for that.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from brokers import LabError, kafka_uuid
from commits import BY_ID, BY_NAME, Commit
from members import Group, Member
from transactions import TXN_VERSION, begin, end
from truth import Partition

TOPIC, OTHER_TOPIC = "orders", "audit"
"""The topic that members share, and one that they do not."""

Case = Callable[[Group], None]


def _alone(group: Group, name: str = "a") -> Member:
    """A member that owns all of the topic."""
    member = group.member(f"{group.group_id}-{name}", [TOPIC]).join()
    group.settle(member)
    return member


def _bump(group: Group, *members: Member) -> Member:
    """Raise the group epoch without moving a partition: a member joins for another topic."""
    bystander = group.member(f"{group.group_id}-bystander", [OTHER_TOPIC]).join()
    group.settle(*members, bystander)
    return bystander


def _share(group: Group, first: Member, name: str = "b") -> tuple[Member, set[Partition], set[Partition]]:
    """A second member joins and gets its share; returns it, the partitions that the first kept and those
    that moved.
    """
    before = set(first.owned)
    second = group.member(f"{group.group_id}-{name}", [TOPIC]).join()
    group.settle(first, second)
    return second, set(first.owned), before - set(first.owned)


def late_kept(group: Group) -> None:
    """The epoch rose, nothing was revoked: commits in flight at the older epoch are the owner's."""
    a = _alone(group)
    old = a.epoch
    _bump(group, a)
    first, *rest = sorted(a.owned)
    a.commit("late_kept_by_id", old, [first], "owner", version=BY_ID)
    a.commit("late_kept_by_name", old, [first], "owner", version=BY_NAME)
    a.commit("late_kept_several_partitions", old, rest, "owner")
    a.commit("current_kept", a.epoch, a.owned, "owner")


def late_kept_others_revoked(group: Group) -> None:
    """Another partition of the same member was revoked meanwhile; this one was kept throughout."""
    a = _alone(group)
    old = a.epoch
    b, kept, _ = _share(group, a)
    a.commit("late_kept_others_revoked", old, sorted(kept)[:1], "owner")
    a.commit("late_kept_others_revoked_by_name", old, sorted(kept)[1:], "owner", version=BY_NAME)
    b.commit("current_owned_by_newcomer", b.epoch, b.owned, "owner")


def late_moved(group: Group) -> None:
    """The true zombie: the partition was assigned to another member since."""
    a = _alone(group)
    old = a.epoch
    _, _, moved = _share(group, a)
    a.commit("late_moved_by_id", old, sorted(moved)[:1], "zombie", version=BY_ID)
    a.commit("late_moved_by_name", old, sorted(moved)[1:], "zombie", version=BY_NAME)


def late_mixed_request(group: Group) -> None:
    """One request for a kept and a moved partition: one refused partition refuses the request."""
    a = _alone(group)
    old = a.epoch
    _, kept, moved = _share(group, a)
    chosen = sorted([min(kept), min(moved)])
    a.commit("late_mixed_request", old, chosen, ["owner" if p in kept else "zombie" for p in chosen])


def pending_revocation(group: Group) -> None:
    """Partitions that the member must revoke, before and after it does."""
    a = _alone(group)
    old = a.epoch
    _bump(group, a)
    before = a.epoch
    b = group.member(f"{group.group_id}-b", [TOPIC]).join()
    a.heartbeat()
    pending = sorted(a.owned - a.assigned)
    a.commit("pending_at_older_epoch", old, pending[:1], "owner")
    a.commit("pending_at_current_epoch", a.epoch, pending, "owner")
    a.give_up_revoked()
    a.commit("released_at_older_epoch", before, pending[:1], "not_owner")
    a.commit("released_at_current_epoch", a.epoch, pending[:1], "not_owner")
    group.await_held(b, set(pending))
    b.commit("current_owned_by_newcomer", b.epoch, b.owned, "owner")


def current_anothers(group: Group) -> None:
    """The gap of the shipped rule: the current epoch is accepted for a partition that another member owns."""
    a = _alone(group)
    b, _, _ = _share(group, a)
    theirs = sorted(b.owned)
    a.commit("current_epoch_anothers_partition", a.epoch, theirs[:1], "not_owner", version=BY_ID)
    a.commit("current_epoch_anothers_partition_by_name", a.epoch, theirs[1:], "not_owner", version=BY_NAME)


def current_nobodys(group: Group) -> None:
    """The same gap, for a partition that nobody in the group owns."""
    a = _alone(group)
    a.commit("current_epoch_nobodys_partition", a.epoch, [(OTHER_TOPIC, 0)], "not_owner")


def zombie_current_epoch(group: Group) -> None:
    """A partition that a member revoked has moved, and another revocation keeps the member from its next
    epoch. From 4.2 it is still in the epoch in which it had the partition; up to 4.1 its epoch is one
    higher, and the same commit has an older epoch.
    """
    a = _alone(group)
    b = group.member(f"{group.group_id}-b", [TOPIC]).join()
    a.heartbeat()
    pending, held = a.owned - a.assigned, a.epoch
    newcomers = [b, *(group.member(f"{group.group_id}-{name}", [TOPIC]).join() for name in "cd")]
    a.give_up_revoked()
    for newcomer in newcomers:
        newcomer.heartbeat()
    moved = frozenset[Partition]().union(*(n.owned for n in newcomers)) & pending
    a.commit("moved_within_current_epoch", held, [min(moved)], "zombie")
    group.settle(a, *newcomers)


def foreign_epochs(group: Group) -> None:
    """Epochs that the member never had: from the future, and from before its time."""
    bystander = group.member(f"{group.group_id}-bystander", [OTHER_TOPIC]).join()
    group.settle(bystander)
    before = bystander.epoch
    a = _alone(group)
    a.commit("future_epoch", a.epoch + 5, sorted(a.owned)[:1], "not_owner")
    a.commit("epoch_before_joining", before, sorted(a.owned)[:1], "not_owner")


def regained(group: Group) -> None:
    """The partition was revoked and assigned again: only commits since then are the owner's."""
    a = _alone(group)
    first = a.epoch
    b, _, moved = _share(group, a)
    meanwhile = a.epoch
    b.leave()
    group.settle(a)
    group.await_held(a, moved)
    partition = sorted(moved)[:1]
    a.commit("regained_epoch_before", first, partition, "zombie")
    a.commit("regained_epoch_meanwhile", meanwhile, partition, "not_owner")
    a.commit("regained_epoch_now", a.epoch, partition, "owner")


def left_member(group: Group) -> None:
    """A member that left (its process does not know) commits for a partition that another member owns now."""
    a = _alone(group)
    last = a.epoch
    b, kept, _ = _share(group, a)
    current = a.epoch
    a.leave()
    group.settle(b)
    group.await_held(b, kept)
    a.commit("left_member_last_epoch", current, sorted(kept)[:1], "zombie")
    a.commit("left_member_older_epoch", last, sorted(kept)[1:], "zombie")


def stranger(group: Group) -> None:
    """A member id that the group never had."""
    _alone(group)
    connection = group.connect(f"{group.group_id}-nobody")
    commit = Commit("never_a_member", 1, [(TOPIC, 0)], ["not_owner"])
    group.commit(connection, kafka_uuid(), commit)


def fenced_member(group: Group) -> None:
    """A member that does not revoke its partitions in time is removed, and continues to commit."""
    a = group.member(f"{group.group_id}-a", [TOPIC], rebalance_timeout_ms=1500).join()
    group.settle(a)
    b = group.member(f"{group.group_id}-b", [TOPIC]).join()
    a.heartbeat()
    if a.owned == a.assigned:
        raise LabError("nothing was revoked")
    b.heartbeat()
    time.sleep(2.5)
    a.was_fenced()
    everything = set(a.owned)
    a.commit("fenced_before_reassignment", a.epoch, sorted(everything - set(b.owned))[:1], "not_owner")
    group.await_held(b, everything)
    a.commit("fenced_after_reassignment", a.epoch, sorted(everything)[:2], "zombie")
    b.commit("current_owned_after_fencing", b.epoch, everything, "owner")


def one_id_twice(group: Group) -> None:
    """Two processes use one member id: the copy continues to commit at the epoch of its copy."""
    a = _alone(group)
    copy, copied = group.connect(f"{group.group_id}-a-copy"), a.epoch
    partition = min(a.owned)
    group.commit(copy, a.member_id, Commit("copy_at_current_epoch", copied, [partition], ["owner"]))
    a.commit("original_at_current_epoch", a.epoch, [partition], "owner")
    _, kept, moved = _share(group, a)
    group.commit(copy, a.member_id, Commit("copy_late_moved", copied, [min(moved)], ["zombie"]))
    group.commit(copy, a.member_id, Commit("copy_late_kept", copied, [min(kept)], ["owner"]))
    a.commit("original_after_rebalance", a.epoch, [min(kept)], "owner")


def admin_while_active(group: Group) -> None:
    """A commit without epoch: refused while the group has members, accepted when it has none."""
    a = _alone(group)
    admin = group.connect(f"{group.group_id}-admin")
    group.commit(admin, "", Commit("admin_while_active", -1, [(TOPIC, 0)], ["unfenced"], version=BY_NAME))
    a.leave()
    group.commit(admin, "", Commit("admin_when_empty", -1, [(TOPIC, 0)], ["unfenced"], version=BY_NAME))


def racing(group: Group) -> None:
    """A commit at the old epoch races with the heartbeat that raises the member's epoch."""
    a = _alone(group)
    old = a.epoch
    bystander = group.member(f"{group.group_id}-bystander", [OTHER_TOPIC]).join()
    other = group.connect(f"{group.group_id}-a-commits")
    for case in ("racing_heartbeat", "racing_heartbeat_again"):
        commit = a.commit_request(case, a.epoch, sorted(a.owned)[:1], "owner", racing=True)
        pending = group.send_commit(other, a.member_id, commit)
        a.heartbeat()
        group.receive_commit(other, pending)
        bystander.leave()
        bystander = group.member(f"{group.group_id}-bystander-again", [OTHER_TOPIC]).join()
    group.settle(a, bystander)
    a.commit("after_the_race", a.epoch, sorted(a.owned)[:1], "owner")
    if a.epoch == old:
        raise LabError("no epoch was raced for")


def in_flight(group: Group) -> None:
    """Commits that were in flight while the epoch rose: the committing thread learns of it late."""
    a = _alone(group)
    commits = group.connect(f"{group.group_id}-a-commits")
    for rebalance in range(3):
        believed = a.epoch
        bystander = group.member(f"{group.group_id}-bystander-{rebalance}", [OTHER_TOPIC]).join()
        group.settle(a, bystander)
        for partition in sorted(a.owned)[:3]:
            time.sleep(0.05)
            commit = a.commit_request("in_flight", believed, [partition], "owner")
            group.receive_commit(commits, group.send_commit(commits, a.member_id, commit))
        time.sleep(group.pause_s)
        a.commit("in_flight_caught_up", a.epoch, a.owned, "owner")
        bystander.leave()
        group.settle(a)


def transactional(group: Group) -> None:
    """The same fencing in TxnOffsetCommit: an owner, a late owner and a zombie."""
    a = _alone(group)
    old = a.epoch
    producer = begin(group, f"{group.group_id}-tx")
    a.commit(
        "transactional_owner",
        a.epoch,
        sorted(a.owned)[:1],
        "owner",
        version=TXN_VERSION,
        transaction=producer,
    )
    end(group, producer)
    _, kept, moved = _share(group, a)
    late = begin(group, f"{group.group_id}-tx-late")
    a.commit("transactional_late_kept", old, [min(kept)], "owner", version=TXN_VERSION, transaction=late)
    a.commit("transactional_late_moved", old, [min(moved)], "zombie", version=TXN_VERSION, transaction=late)
    a.commit(
        "transactional_current_anothers",
        a.epoch,
        [min(moved)],
        "not_owner",
        version=TXN_VERSION,
        transaction=late,
    )
    end(group, late)


CASES: dict[str, Case] = {
    "late-kept": late_kept,
    "late-kept-others-revoked": late_kept_others_revoked,
    "late-moved": late_moved,
    "late-mixed-request": late_mixed_request,
    "pending-revocation": pending_revocation,
    "current-epoch-anothers": current_anothers,
    "current-epoch-nobodys": current_nobodys,
    "zombie-current-epoch": zombie_current_epoch,
    "foreign-epochs": foreign_epochs,
    "regained": regained,
    "left-member": left_member,
    "stranger": stranger,
    "fenced-member": fenced_member,
    "one-id-twice": one_id_twice,
    "admin": admin_while_active,
    "racing": racing,
    "in-flight": in_flight,
    "transactional": transactional,
}
"""Group id -> the case played in it."""
