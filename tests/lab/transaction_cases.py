"""Hand-made cases of transactional commits: their outcomes, and who may make them.

The same cases for members of classic, consumer and streams groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import classic_cases
import streams_cases
from cases import OTHER_TOPIC, TOPIC, Case
from classic import await_rebalance, member, rebalance, sync_all
from classic_cases import COMPLETING, PREPARING
from commits import Commit, Transaction
from members import Group
from transactions import TXN_VERSION, begin, end, newest_txn_version
from truth import Partition


class Actor(Protocol):
    """A member of any kind of group."""

    @property
    def epoch(self) -> int: ...

    @property
    def owned(self) -> frozenset[Partition]: ...

    def commit(
        self, case: str, epoch: int, partitions: Iterable[Partition], expect: str | list[str], **more: Any
    ) -> list[str]:
        """Commit at any epoch; see ``Commit``."""


Start = Callable[[Group], Actor]
"""A member that owns all of the topic."""

Grow = Callable[[Group, Any], Any]
"""A second member gets its share from the first."""


def _classic_grow(group: Group, a: Any) -> None:
    rebalance(a, member(group, "b", [TOPIC]))


def _consumer_start(group: Group) -> Actor:
    a = group.member(f"{group.group_id}-a", [TOPIC]).join()
    group.settle(a)
    return a


def _consumer_grow(group: Group, a: Any) -> None:
    before = set(a.owned)
    b = group.member(f"{group.group_id}-b", [TOPIC]).join()
    group.settle(a, b)
    group.await_held(b, before - a.owned)


PLAYERS: dict[str, tuple[Start, Grow]] = {
    "classic": (classic_cases.alone, _classic_grow),
    "consumer": (_consumer_start, _consumer_grow),
    "streams": (streams_cases.alone, streams_cases.share),
}
"""Protocol -> how its groups start and grow."""


def outcomes(start: Start, older: bool = False) -> Case:
    """Every way in which an accepted transactional commit can end."""

    def play(group: Group) -> None:
        version = newest_txn_version(group) - older
        a = start(group)
        p0, p1, p2, p3 = sorted(a.owned)

        def commit(case: str, partition: Partition, transaction: Transaction) -> None:
            a.commit(case, a.epoch, [partition], "owner", transaction=transaction)

        def new(name: str) -> Transaction:
            return begin(group, f"{group.group_id}-{name}", version)

        transaction = new("committed")
        commit("txn_committed", p0, transaction)
        end(group, transaction)
        transaction = new("aborted")
        commit("txn_aborted", p1, transaction)
        commit("txn_aborted", p0, transaction)
        end(group, transaction, committed=False)
        transaction = new("twice")
        commit("txn_twice_first", p2, transaction)
        commit("txn_twice_second", p2, transaction)
        end(group, transaction)
        transaction = new("skipped")
        commit("txn_skipped", p3, transaction)
        commit("txn_not_skipped", p1, transaction)
        a.commit("txn_overtaking_plain", a.epoch, [p3], "owner")
        end(group, transaction)
        commit("txn_pending", p0, new("pending"))
        a.commit("txn_plain_while_pending", a.epoch, [p1], "owner")

    return play


def fencing(start: Start, grow: Grow) -> Case:
    """Late owners, zombies and non-members in transactions."""

    def play(group: Group) -> None:
        a = start(group)
        old, everything = a.epoch, a.owned
        grow(group, a)
        kept, moved = sorted(a.owned), sorted(everything - a.owned)
        name = f"{group.group_id}-tx"
        transaction = begin(group, name)
        refused = a.commit("txn_late_kept", old, kept[:1], "owner", transaction=transaction) != ["NONE"]
        end(group, transaction, committed=not refused)
        if refused:
            # The cost of false fencing: the whole transaction is repeated.
            transaction = begin(group, name)
            a.commit("txn_late_kept_retried", a.epoch, kept[:1], "owner", transaction=transaction)
            end(group, transaction)
        transaction = begin(group, name)
        a.commit("txn_current", a.epoch, kept[1:], "owner", transaction=transaction)
        a.commit("txn_late_moved", old, moved[:1], "zombie", transaction=transaction)
        end(group, transaction, committed=False)
        transaction = begin(group, name)
        a.commit("txn_current_anothers_partition", a.epoch, moved[:1], "not_owner", transaction=transaction)
        a.commit("txn_future_epoch", a.epoch + 5, kept[:1], "not_owner", transaction=transaction)
        end(group, transaction)
        transaction = begin(group, name)
        connection = group.connect(f"{group.group_id}-nobody")
        nobody = Commit("txn_no_member", -1, moved[1:], ["unfenced"], transaction=transaction)
        group.commit(connection, "", nobody)
        stranger = Commit("txn_never_a_member", a.epoch, kept[:1], ["not_owner"], transaction=transaction)
        group.commit(connection, "nobody", stranger)
        end(group, transaction)
        fenced = begin(group, name)
        if fenced.api_version >= TXN_VERSION:
            begin(group, name)
            a.commit("txn_fenced_producer", a.epoch, kept[:1], "owner", transaction=fenced)

    return play


def rebalancing(group: Group) -> None:
    """Transactional commits in the phases of a classic group's rebalance."""
    a = classic_cases.alone(group)
    old = a.generation
    bystander = member(group, "bystander", [OTHER_TOPIC])
    bystander.send_join()
    await_rebalance(a)
    first, second, third, _ = sorted(a.owned)
    transaction = begin(group, f"{group.group_id}-tx")
    more: dict[str, Any] = {"transaction": transaction, "rebalancing": PREPARING}
    a.commit("txn_preparing_current_generation", old, [first], "owner", **more)
    a.send_join()
    a.receive_join()
    bystander.receive_join()
    a.keep_on()
    more["rebalancing"] = COMPLETING
    a.commit("txn_completing_new_generation", a.generation, [second], "owner", **more)
    a.commit("txn_completing_older_generation", old, [third], "owner", **more)
    sync_all({a.member_id: a.owned, bystander.member_id: frozenset({(OTHER_TOPIC, 0)})}, a, bystander)
    end(group, transaction)


def cases(protocol: str) -> dict[str, Case]:
    """Group id -> the case played in it, for one protocol."""
    start, grow = PLAYERS[protocol]
    played = {
        f"txn-outcomes-{protocol}": outcomes(start),
        f"txn-outcomes-{protocol}-older": outcomes(start, older=True),
        f"txn-fencing-{protocol}": fencing(start, grow),
    }
    return {**played, "txn-rebalancing": rebalancing} if protocol == "classic" else played
