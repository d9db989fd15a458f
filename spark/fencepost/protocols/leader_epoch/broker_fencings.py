"""Brokers that controllers fenced, with the leaderships and the places in ISRs that each then lost."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import pyarrow as pa

from fencepost.protocols.leader_epoch.cluster import ClusterHistory
from fencepost.protocols.leader_epoch.shutdowns import Shutdowns
from fencepost.protocols.leader_epoch.tables import LEADER_EPOCH_FENCINGS, NO_LINE
from fencepost.replay.columns import Columns
from fencepost.replay.histories import History, Point
from fencepost.replay.keys import digest_of
from fencepost.replay.metadata_image import BrokerRegistration

State = tuple[BrokerRegistration, str] | None


class LeadershipLoss(NamedTuple):
    """How many leaderships and places in ISRs a broker lost at an offset of the metadata log."""

    position: int
    leaders: int
    isr: int


def fenced_brokers(cluster: str, history: ClusterHistory, shutdowns: Shutdowns = frozenset()) -> pa.Table:
    """The rows of silver.leader_epoch_fencings about brokers that the metadata log shows as fenced."""
    rows = Columns(LEADER_EPOCH_FENCINGS)
    losses = _losses(history)
    for broker_id, life in sorted(history.brokers.items()):
        for row in _fencings(cluster, broker_id, life.states, losses.get(broker_id, ()), shutdowns):
            rows.add(*row)
    return rows.to_arrow()


def _fencings(
    cluster: str,
    broker_id: int,
    history: History[State],
    losses: Sequence[LeadershipLoss],
    shutdowns: Shutdowns,
) -> Iterator[tuple[Any, ...]]:
    """A row for each time that a broker became fenced, or unregistered.

    A controlled shutdown moves leaderships before the broker is fenced: these count from its beginning on.
    """
    shutdown_from: int | None = None
    steps = zip(pairwise(history.states), history.begins[1:], strict=True)
    for number, ((before, now), at) in enumerate(steps, start=1):
        if now is not None and now[0].in_controlled_shutdown and shutdown_from is None:
            shutdown_from = at.position
        if before is None or before[0].fenced is not False or (now is not None and not now[0].fenced):
            continue
        first = at.position if shutdown_from is None else shutdown_from
        lost = losses[bisect_left(losses, (first,)) : bisect_left(losses, (at.position + 1,))]
        leaders = sum(each.leaders for each in lost)
        ended, after = _ended(history, number)
        is_shut_down = (broker_id, before[0].epoch) in shutdowns
        cause = _cause(before[0], now, leaders, after, is_shut_down=is_shut_down)
        epoch = None if now is None else now[0].epoch
        yield (
            cluster, digest_of(cluster, "broker", broker_id, at.position), "broker", f"broker {broker_id}",
            broker_id, None, None, None, None, before[0].epoch, epoch, cause, at.position, at.ms, at.ms, None,
            None if ended is None else ended.ms, leaders, sum(each.isr for each in lost), *NO_LINE,
        )  # fmt: skip
        shutdown_from = None


def _ended(history: History[State], number: int) -> tuple[Point | None, BrokerRegistration | None]:
    """Where the broker was next not fenced, and its registration there; None where it never was."""
    for state, at in zip(history.states[number:], history.begins[number:], strict=True):
        if state is not None and state[0].fenced is False:
            return at, state[0]
    return None, None


def _cause(
    before: BrokerRegistration,
    now: State,
    leaders: int,
    after: BrokerRegistration | None,
    *,
    is_shut_down: bool,
) -> str | None:
    """Why a broker was fenced; ``after``: its registration when it was unfenced; ``is_shut_down``: whether
    it is known to have been shut down in good order.

    One that leads nothing may have asked to be shut down: then the controller fences it at once, and writes
    the same as for a broker that is silent (BrokerHeartbeatManager). But a broker that has shut down comes
    back with another broker epoch.
    """
    if now is None:
        return "unregistered"
    if before.in_controlled_shutdown:
        return "controlled_shutdown"
    if now[0].epoch != before.epoch:
        return "restart"
    came_back = after is not None and before.epoch is not None and after.epoch == before.epoch
    if leaders or came_back:
        return "session_timeout"
    return "controlled_shutdown" if is_shut_down else None


def _losses(history: ClusterHistory) -> Mapping[int, list[LeadershipLoss]]:
    """By broker, where it lost leaderships and places in an ISR."""
    lost: dict[int, dict[int, list[int]]] = {}
    for _, partition in history.partitions():
        states = partition.states
        for (before, now), at in zip(pairwise(states.states), states.begins[1:], strict=True):
            if before is None or now is None or before.leader is None or now.leader is None:
                continue
            if before.leader >= 0 and now.leader != before.leader:
                lost.setdefault(before.leader, {}).setdefault(at.position, [0, 0])[0] += 1
            if before.isr is not None and now.isr is not None:
                for broker in set(before.isr) - set(now.isr):
                    lost.setdefault(broker, {}).setdefault(at.position, [0, 0])[1] += 1
    return {
        broker: [LeadershipLoss(at, leaders, isr) for at, (leaders, isr) in sorted(by_position.items())]
        for broker, by_position in lost.items()
    }
