"""What request lines tell of the order of things at different brokers, whatever their clocks say."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import NamedTuple

import pyarrow as pa

from fencepost.protocols.leader_epoch.answers import END, Answers
from fencepost.protocols.leader_epoch.clocks import Applied, Order, controller_at
from fencepost.protocols.leader_epoch.cluster import ClusterHistory
from fencepost.protocols.leader_epoch.instances import by_client, instances, software_of
from fencepost.protocols.leader_epoch.lines import (
    BROKER_HEARTBEAT,
    DESCRIBE_TOPIC_PARTITIONS,
    FETCH,
    METADATA,
    OFFSET_COMMIT,
    partition_lines,
    replica_of,
)
from fencepost.replay.columns import Columns
from fencepost.replay.logs import by_log
from fencepost.replay.requests import RequestLine, each_line, integer
from fencepost.tables import Table

ORDERS = Table(
    "orders",
    "clocks.Order: of each two brokers the one that bounds their clocks closest.",
    {"cluster": "string", "first": "int", "first_ms": "bigint", "then": "int", "then_ms": "bigint"},
    ("cluster", "first", "then", "first_ms", "then_ms"),
)

APPLIED = Table(
    "applied",
    "clocks.Applied: how much of the metadata log brokers had, by whoever told it.",
    {"cluster": "string", "broker_id": "int", "clock": "int", "ms": "bigint", "position": "bigint"},
    ("cluster", "broker_id", "clock", "ms"),
)

_ANSWERS = (METADATA, DESCRIBE_TOPIC_PARTITIONS)
ORDER_APIS = (*_ANSWERS, FETCH, OFFSET_COMMIT)
TABLES = (ORDERS, APPLIED)
_KEPT = 8


class Cluster(NamedTuple):
    """What lines are held against; ``heartbeats`` are what brokers told controllers, by broker and clock."""

    history: ClusterHistory
    answers: Answers
    heartbeats: Mapping[int, Mapping[int, tuple[list[int], list[int]]]]


def heartbeats_of(requests: pa.Table) -> pa.Table:
    """Rows of APPLIED from any rows of ``bronze.requests``: a broker's heartbeat says what it has applied."""
    rows = Columns(APPLIED)
    for (cluster,), lines in sorted(by_log(requests, "cluster").items(), key=str):
        for line in each_line(lines, (BROKER_HEARTBEAT,)):
            broker_id = integer(line.sent.get("brokerId"))
            position = integer(line.sent.get("currentMetadataOffset"), 64)
            if broker_id is not None and position is not None:
                rows.add(cluster, broker_id, line.broker_id, line.requested_ms, position)
    return rows.to_arrow()


def by_broker(told: Iterable[Applied]) -> dict[int, dict[int, tuple[list[int], list[int]]]]:
    """Of each broker and clock the offsets that it had applied, rising, and when."""
    found: dict[int, dict[int, list[tuple[int, int]]]] = {}
    for each in told:
        found.setdefault(each.broker_id, {}).setdefault(each.clock, []).append((each.ms, each.position))
    return {
        broker_id: {
            clock: (list(accumulate((at for _, at in sorted(of)), max)), [ms for ms, _ in sorted(of)])
            for clock, of in clocks.items()
        }
        for broker_id, clocks in found.items()
    }


def orders_of(requests: pa.Table, known: Mapping[str, Cluster]) -> dict[str, pa.Table]:
    """Rows of TABLES from rows of ``bronze.requests``, all that there are of each client id and host."""
    rows, images = Columns(ORDERS), Columns(APPLIED)
    for (name,), lines in sorted(by_log(requests, "cluster").items(), key=str):
        cluster = str(name)
        if cluster not in known:
            continue
        closest: dict[tuple[int, int], Order] = {}
        furthest: dict[int, int] = {}
        for each in _told(cluster, lines, known[cluster]):
            if isinstance(each, Applied):
                if each.position > furthest.get(each.broker_id, 0):
                    furthest[each.broker_id] = each.position
                    images.add(cluster, *each)
                continue
            key = (each.first, each.then)
            best = closest.get(key)
            if best is None or each.then_ms - each.first_ms < best.then_ms - best.first_ms:
                closest[key] = each
        for order in closest.values():
            rows.add(cluster, *order)
    return {ORDERS.name: rows.to_arrow(), APPLIED.name: images.to_arrow()}


def _told(cluster: str, requests: pa.Table, known: Cluster) -> Iterator[Order | Applied]:
    software = software_of(requests)
    for line in each_line(requests, _ANSWERS):
        yield from _answered(line, known)
    for key, found in by_client(requests, (FETCH, OFFSET_COMMIT), software):
        own = [line for line in found if line.api_key == OFFSET_COMMIT or replica_of(line) < 0]
        yield from _consumed(own, instances(cluster, own, key.software))


def _answered(line: RequestLine, known: Cluster) -> Iterator[Order | Applied]:
    """A broker tells what a controller has written before; and what it does not tell yet, it applies later,
    and then tells the controller so in a heartbeat (BrokerHeartbeatRequest.currentMetadataOffset).
    """
    answer, history = known.answers.of((line.answer or {}).get("topics")), known.history
    if answer is None:
        return
    ms = history.ms_at(answer.since) if answer.since > 0 else None
    if ms is not None:
        yield Order(controller_at(history, answer.since), ms, line.broker_id, line.responded_ms)
    if answer.since > 0:
        yield Applied(line.broker_id, line.broker_id, line.responded_ms, answer.since)
    if answer.until == END:
        return
    for clock, (positions, times) in known.heartbeats.get(line.broker_id, {}).items():
        at = bisect_left(positions, answer.until)
        if at < len(times):
            yield Order(line.broker_id, line.requested_ms, clock, times[at])


def _consumed(lines: list[RequestLine], of: Mapping[tuple[int, str], str | None]) -> Iterator[Order]:
    """A consumer commits an offset behind what it fetched: that fetch was before."""
    reads: dict[tuple[object, ...], deque[tuple[int, RequestLine]]] = {}
    for line in sorted(lines, key=lambda each: (each.correlation_id, each.requested_ms, each.request_id)):
        client = of.get((line.broker_id, line.connection or ""))
        if client is None:
            continue
        for each in partition_lines(line):
            # by id and by name are of different versions: a client that mixes them is not followed
            key = (client, each.asked.topic, each.asked.topic_id, each.asked.partition)
            if line.api_key == FETCH:
                if each.error == 0 and each.offset >= 0:
                    reads.setdefault(key, deque(maxlen=_KEPT)).append((each.offset, line))
                continue
            before = [fetch for offset, fetch in reads.get(key, ()) if offset < each.offset]
            if before and before[-1].broker_id != line.broker_id and each.error == 0:
                fetch = before[-1]
                yield Order(fetch.broker_id, fetch.requested_ms, line.broker_id, line.responded_ms)
