"""Hand-made cases of migrations: classic members in a consumer group, and back (KIP-848)."""

from __future__ import annotations

import time

import streams_cases
from brokers import LabError
from cases import TOPIC, Case
from classic import ClassicMember, await_rebalance, member, rebalance
from classic_cases import PREPARING
from commits import OLDER, release
from members import Group, Member
from transactions import begin, end

_PATIENCE_S = 15.0


def _rejoin(classic: ClassicMember) -> None:
    """A classic member of a consumer group joins again: the coordinator assigns, not the leader."""
    classic.send_join()
    classic.receive_join()
    classic.send_sync()
    classic.receive_sync()


def _settle(classics: list[ClassicMember], consumers: list[Member]) -> None:
    """All members do what the coordinator requests, until a round changes nothing."""
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        before = [(m.epoch, m.owned) for m in (*classics, *consumers)]
        told = [classic.heartbeat() for classic in classics]
        for classic, error in zip(classics, told, strict=True):
            if error == "REBALANCE_IN_PROGRESS":
                _rejoin(classic)
            elif error != "NONE":
                raise LabError(f"heartbeat of {classic.connection.client_id!r}: {error}")
        for consumer in consumers:
            consumer.heartbeat()
            consumer.give_up_revoked()
        after = [(m.epoch, m.owned) for m in (*classics, *consumers)]
        everybody = {m.epoch for m in (*classics, *consumers)}
        if before == after and set(told) == {"NONE"} and len(everybody) == 1 and consumers[0].owned:
            return
        time.sleep(0.02)
    raise LabError(f"the group did not settle: {after}")


def there_and_back(group: Group) -> None:
    """A classic group is upgraded by a consumer that joins, and downgraded when that consumer leaves."""
    a = member(group, "a", [TOPIC])
    rebalance(a)
    first, everything = a.generation, set(a.owned)
    b = member(group, "b", [TOPIC])
    rebalance(a, b)
    last_generation = a.generation
    moved = sorted(everything - a.owned)
    a.commit("migration_before", a.generation, a.owned, "owner")
    a.commit("migration_before_older_generation", first, sorted(a.owned)[:1], "owner")

    c = group.member(f"{group.group_id}-c", [TOPIC]).join()
    group.protocol = "consumer"
    before = sorted(a.owned)
    # The group's epoch has moved; this member still has the generation with which it came.
    a.commit("upgraded_not_rejoined", a.generation, before[:1], "owner")
    a.commit("upgraded_not_rejoined_older_generation", first, before[:1], "owner")
    await_rebalance(a)
    a.commit("upgraded_told_to_rejoin", a.generation, before[:1], "owner")
    _settle([a, b], [c])
    kept = sorted(a.owned)
    a.commit("upgraded_current", a.epoch, a.owned, "owner")
    a.commit("upgraded_current_older_version", a.epoch, kept[:1], "owner", version=OLDER)
    b.commit("upgraded_current", b.epoch, b.owned, "owner")
    c.commit("upgraded_current_consumer", c.epoch, c.owned, "owner")
    for who, held in ((a, kept), (b, sorted(b.owned))):
        who.commit("upgraded_late_kept", last_generation, held[:1], "owner")
    a.commit("upgraded_late_moved", first, moved[:1], "zombie")
    a.commit("upgraded_current_anothers_partition", a.epoch, moved[:1], "not_owner")
    a.commit("upgraded_future_epoch", a.epoch + 5, kept[:1], "not_owner")
    transaction = begin(group, f"{group.group_id}-tx")
    a.commit("upgraded_txn_current", a.epoch, kept[:1], "owner", transaction=transaction)
    a.commit("upgraded_txn_late_kept", last_generation, kept[:1], "owner", transaction=transaction)
    end(group, transaction)
    older = a.epoch

    c.leave()
    group.protocol = "classic"
    held = sorted(a.owned)
    a.commit("downgraded_not_rejoined", a.generation, held[:1], "owner", rebalancing=PREPARING)
    a.commit("downgraded_not_rejoined_older", last_generation, held[:1], "owner", rebalancing=PREPARING)
    await_rebalance(a, b)
    rebalance(a, b)
    a.commit("downgraded_current", a.generation, a.owned, "owner")
    b.commit("downgraded_current", b.generation, b.owned, "owner")
    a.commit("downgraded_late_kept", older, held[:1], "owner")
    a.commit("downgraded_late_kept_before_upgrade", last_generation, held[:1], "owner")
    c.commit("downgraded_left_consumer", older, held[:1], "not_owner")


def types(group: Group) -> None:
    """One group id in lives of different types; an empty group changes its type without being deleted."""
    _classic_life(group, "types_classic_first")
    group.protocol = "consumer"
    a = group.member(f"{group.group_id}-consumer", [TOPIC]).join()
    group.settle(a)
    a.commit("types_consumer", a.epoch, a.owned, "owner")
    a.commit("types_consumer_epoch_before", a.epoch - 1, sorted(a.owned)[:1], "not_owner")
    a.leave()
    a.commit("types_consumer_left", 1, [(TOPIC, 0)], "not_owner")
    group.protocol = "classic"
    _classic_life(group, "types_classic_again")
    group.delete()
    if release(group.cluster.plan.version) >= (4, 2):
        group.protocol = "streams"
        s = streams_cases.alone(group)
        s.commit("types_streams", s.epoch, s.owned, "owner")
        s.leave()


def _classic_life(group: Group, case: str) -> None:
    classic = member(group, case, [TOPIC])
    rebalance(classic)
    classic.commit(case, classic.generation, classic.owned, "owner")
    classic.leave()


CASES: dict[str, Case] = {"migration": there_and_back, "types": types}
"""Group id -> the case played in it."""
