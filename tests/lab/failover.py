"""The scenario ``failover``: groups whose coordinator moves to another broker, and back, while they commit.

Every case is a generator: at each ``yield`` the coordinator moves. A member sends its state from before the
move to the coordinator that has loaded the group from the log.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import classic
import streams_cases
from brokers import Plan
from cases import OTHER_TOPIC, TOPIC
from commits import BY_ID, BY_NAME, Commit
from members import Group, Member
from messages import WireError
from scenario import Scenario, Stage, prepare
from transactions import begin, committed_offset, end

Case = Callable[[Group], Iterator[None]]

_PAUSE_S = 0.05
_SEGMENT_MS = "5000"


def consumer(group: Group) -> Iterator[None]:
    """Owners, late owners and zombies, with epochs from before the move."""
    a = group.member(f"{group.group_id}-a", [TOPIC]).join()
    group.settle(a)
    first = a.epoch
    b = group.member(f"{group.group_id}-b", [TOPIC]).join()
    before = a.owned
    group.settle(a, b)
    group.await_held(b, set(before - a.owned))
    kept, moved = sorted(a.owned), sorted(before - a.owned)
    a.commit("failover_owner_before", a.epoch, a.owned, "owner")
    a.commit("failover_late_kept_before", first, kept[:1], "owner", version=BY_NAME)
    a.commit("failover_late_moved_before", first, moved[:1], "zombie", version=BY_ID)
    _elsewhere(group, a, "failover_not_coordinator_before")
    yield
    group.follow(a, b)
    a.commit("failover_owner_after", a.epoch, a.owned, "owner")
    a.commit("failover_late_kept_after", first, kept[:1], "owner", version=BY_ID)
    a.commit("failover_late_moved_after", first, moved[:1], "zombie", version=BY_NAME)
    group.settle(a, b)
    second, held = a.epoch, a.owned
    c = group.member(f"{group.group_id}-c", [TOPIC]).join()
    group.settle(a, b, c)
    a.commit("failover_late_kept_epoch_before_move", second, sorted(a.owned)[:1], "owner")
    for partition in sorted(held - a.owned):
        a.commit("failover_late_moved_epoch_before_move", second, [partition], "zombie")
    for member in (a, b, c):
        member.commit("failover_owner_after", member.epoch, member.owned, "owner")
    third = c.epoch
    b.leave()
    yield
    group.follow(a, b, c)
    group.settle(a, c)
    c.commit("failover_owner_moved_back", c.epoch, c.owned, "owner")
    b.commit("failover_left_before_move", third, [min(moved)], _left(group, b, third, min(moved)))
    _elsewhere(group, a, "failover_not_coordinator_after")


def _left(group: Group, b: Member, epoch: int, partition: tuple[str, int]) -> str:
    return group.ownership.truth(b.member_id, epoch, partition)


def _elsewhere(group: Group, a: Member, case: str) -> None:
    """The same commit to a broker that does not coordinate the group."""
    other = next(b.broker_id for b in group.cluster.brokers if b.broker_id != group.broker_id)
    connection = group.cluster.connect(a.connection.client_id, other)
    group.commit(connection, a.member_id, Commit(case, a.epoch, [min(a.owned)], ["owner"]))
    connection.close()


def pending(group: Group) -> Iterator[None]:
    """A revocation that one coordinator requests and that is acknowledged to the next."""
    a = group.member(f"{group.group_id}-a", [TOPIC]).join()
    group.settle(a)
    b = group.member(f"{group.group_id}-b", [TOPIC]).join()
    a.heartbeat()
    leaving = sorted(a.owned - a.assigned)
    a.commit("failover_pending_before", a.epoch, leaving, "owner")
    yield
    group.follow(a, b)
    a.commit("failover_pending_after", a.epoch, leaving, "owner")
    last = a.epoch
    a.give_up_revoked()
    group.await_held(b, set(leaving))
    a.commit("failover_pending_moved", last, leaving[:1], "zombie")
    b.commit("failover_owner_after", b.epoch, b.owned, "owner")
    yield
    group.follow(a, b)
    group.settle(a, b)
    a.commit("failover_owner_moved_back", a.epoch, a.owned, "owner")


def by_generations(group: Group) -> Iterator[None]:
    """A classic group: its generation survives the failover."""
    a = classic.member(group, "a", [TOPIC])
    classic.rebalance(a)
    first, before = a.generation, a.owned
    b = classic.member(group, "b", [TOPIC])
    classic.rebalance(a, b)
    kept, moved = sorted(a.owned), sorted(before - a.owned)
    a.commit("failover_classic_before", a.generation, a.owned, "owner")
    a.commit("failover_classic_late_kept_before", first, kept[:1], "owner")
    for member in (a, b):
        member.heartbeat()
    yield
    group.follow(a, b)
    a.commit("failover_classic_after", a.generation, a.owned, "owner")
    a.commit("failover_classic_late_kept_after", first, kept[:1], "owner")
    a.commit("failover_classic_late_moved_after", first, moved[:1], "zombie")
    second = a.generation
    b.leave()
    classic.await_rebalance(a)
    classic.rebalance(a)
    b.commit("failover_classic_left", b.generation, moved[:1], "zombie")
    a.commit("failover_classic_late_kept_generation_before_move", second, kept[:1], "owner")
    a.commit("failover_classic_after", a.generation, a.owned, "owner")
    yield
    group.follow(a, b)
    a.commit("failover_classic_moved_back", a.generation, a.owned, "owner")


def streams(group: Group) -> Iterator[None]:
    """A streams group."""
    a = streams_cases.alone(group)
    first = a.epoch
    b, kept, moved = streams_cases.share(group, a)
    a.commit("failover_streams_before", a.epoch, a.owned, "owner")
    yield
    group.follow(a, b)
    a.commit("failover_streams_after", a.epoch, a.owned, "owner")
    a.commit("failover_streams_late_kept_after", first, kept[:1], "owner")
    a.commit("failover_streams_late_moved_after", first, moved[:1], "zombie")
    yield
    group.follow(a, b)
    group.settle(a, b)
    b.commit("failover_streams_moved_back", b.epoch, b.owned, "owner")


def transaction(group: Group) -> Iterator[None]:
    """Transactions that are begun under one coordinator and ended under the next."""
    a = group.member(f"{group.group_id}-a", [TOPIC]).join()
    group.settle(a)
    p0, p1, p2, p3 = sorted(a.owned)
    kept = begin(group, f"{group.group_id}-committed")
    dropped = begin(group, f"{group.group_id}-aborted")
    a.commit("failover_txn_before", a.epoch, [p0], "owner", transaction=kept)
    a.commit("failover_txn_aborted", a.epoch, [p1], "owner", transaction=dropped)
    yield
    group.follow(a)
    a.commit("failover_txn_after", a.epoch, [p2], "owner", transaction=kept)
    end(group, kept)
    end(group, dropped, committed=False)
    across = begin(group, f"{group.group_id}-committed")
    a.commit("failover_txn_moved_back", a.epoch, [p3], "owner", transaction=across)
    yield
    group.follow(a)
    end(group, across)


CASES: dict[str, tuple[str, Case]] = {
    "failover-consumer": ("consumer", consumer),
    "failover-pending": ("consumer", pending),
    "failover-classic": ("classic", by_generations),
    "failover-streams": ("streams", streams),
    "failover-transaction": ("consumer", transaction),
}
"""Group id -> the group's protocol and the case played in it."""


class _Busy:
    """A member that commits continuously, and finds its coordinator again after a failover."""

    def __init__(self, stage: Stage) -> None:
        self._group = Group(stage.cluster, stage.truth, "failover-busy", 0)
        self._member = self._group.member("failover-busy-a", [TOPIC]).join()
        self._group.settle(self._member)
        self._enough = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self) -> None:
        """End the commits; raises their error if there was one."""
        self._enough.set()
        self._thread.join()
        self._group.close()
        if self._failure:
            raise self._failure

    def _run(self) -> None:
        try:
            for turn in range(10_000):
                if self._enough.wait(0.25):
                    return
                self._commit((TOPIC, turn % 4))
        except BaseException as error:  # handed to the thread that plays
            self._failure = error

    def _commit(self, partition: tuple[str, int]) -> None:
        a = self._member
        try:
            rows = self._group.send_commit(
                a.connection, a.member_id, Commit("failover_busy", a.epoch, [partition], ["owner"])
            )
            lost = self._group.receive_commit(a.connection, rows) != ["NONE"]
        except (OSError, WireError):
            lost = True
        if lost:
            self._group.follow(a)


def play(stage: Stage) -> None:
    """Run every case up to a move, move the coordinator, and continue."""
    prepare(stage, {TOPIC: 4, OTHER_TOPIC: 1}, _SEGMENT_MS)
    with ExitStack() as stack:
        busy = _Busy(stage)
        stack.callback(busy.stop)
        groups = {
            group_id: Group(stage.cluster, stage.truth, group_id, _PAUSE_S, protocol)
            for group_id, (protocol, _) in CASES.items()
        }
        plays = {group_id: CASES[group_id][1](group) for group_id, group in groups.items()}
        for group in groups.values():
            stack.callback(group.close)
        home = stage.cluster.coordinator("any")
        _all(stage, plays)
        stage.say(f"stop broker {home}")
        stage.cluster.stop_broker(home)
        for group in groups.values():
            _await_loaded(group)
        _all(stage, plays)
        stage.say(f"start broker {home}")
        stage.cluster.start_broker(home)
        stage.cluster.elect_preferred("__consumer_offsets", 0)
        for group in groups.values():
            _await_loaded(group)
        _all(stage, plays)


def _all(stage: Stage, plays: dict[str, Iterator[None]]) -> None:
    for group_id, case in plays.items():
        stage.say(group_id)
        next(case, None)


def _await_loaded(group: Group) -> None:
    group.follow()
    committed_offset(group, TOPIC, 0, stable=False)
    time.sleep(0.1)


def plan(version: str) -> Plan:
    """Three brokers, one coordinator partition and one transaction log, on all of them."""
    settings: dict[str, object] = {
        "group.streams.initial.rebalance.delay.ms": 0,
        "group.streams.min.heartbeat.interval.ms": 100,
        "transaction.state.log.replication.factor": 3,
    }
    return Plan(version, brokers=3, roll_bytes=60_000, settings=settings)


SCENARIO = Scenario(plan, play)
