"""What request lines tell of the order of things at different brokers, whatever their clocks say."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping

import pyarrow as pa

from fencepost.protocols.leader_epoch.answers import Answers
from fencepost.protocols.leader_epoch.clocks import Order, controller_at
from fencepost.protocols.leader_epoch.cluster import ClusterHistory
from fencepost.protocols.leader_epoch.instances import instances, software_of
from fencepost.protocols.leader_epoch.lines import (
    DESCRIBE_TOPIC_PARTITIONS,
    FETCH,
    METADATA,
    OFFSET_COMMIT,
    partition_lines,
    replica_of,
)
from fencepost.replay.columns import Columns
from fencepost.replay.logs import by_log
from fencepost.replay.requests import RequestLine, each_line, host_of
from fencepost.tables import Table

ORDERS = Table(
    "orders",
    "clocks.Order: of each two brokers the one that bounds their clocks closest.",
    {"cluster": "string", "first": "int", "first_ms": "bigint", "then": "int", "then_ms": "bigint"},
    ("cluster", "first", "then", "first_ms", "then_ms"),
)

ORDER_APIS = (METADATA, DESCRIBE_TOPIC_PARTITIONS, FETCH, OFFSET_COMMIT)
_KEPT = 8

Cluster = tuple[ClusterHistory, Answers]


def orders_of(requests: pa.Table, known: Mapping[str, Cluster]) -> pa.Table:
    """Rows of ORDERS from rows of ``bronze.requests``, all that there are of each client id and host."""
    rows = Columns(ORDERS)
    for (name,), lines in sorted(by_log(requests, "cluster").items(), key=str):
        cluster = str(name)
        if cluster not in known:
            continue
        closest: dict[tuple[int, int], Order] = {}
        for order in _orders(cluster, lines, known[cluster]):
            key = (order.first, order.then)
            best = closest.get(key)
            if best is None or order.then_ms - order.first_ms < best.then_ms - best.first_ms:
                closest[key] = order
        for order in closest.values():
            rows.add(cluster, *order)
    return rows.to_arrow()


def _orders(cluster: str, requests: pa.Table, known: Cluster) -> Iterator[Order]:
    software = software_of(requests)
    of_client: dict[tuple[str, str, str], list[RequestLine]] = {}
    for line in each_line(requests, ORDER_APIS):
        if line.api_key in (METADATA, DESCRIBE_TOPIC_PARTITIONS):
            yield from _told(line, *known)
        elif line.api_key == OFFSET_COMMIT or replica_of(line) < 0:
            named = software.get((line.broker_id, line.connection or ""), (None, None))[0] or ""
            key = (line.client_id or "", host_of(line.connection) or "", named)
            of_client.setdefault(key, []).append(line)
    for key, lines in of_client.items():
        yield from _consumed(lines, instances(cluster, lines, key[2]))


def _told(line: RequestLine, history: ClusterHistory, answers: Answers) -> Iterator[Order]:
    """A broker tells what a controller has written before."""
    answer = answers.of((line.answer or {}).get("topics"))
    if answer is None or answer.since <= 0:
        return
    ms = history.ms_at(answer.since)
    if ms is not None:
        yield Order(controller_at(history, answer.since), ms, line.broker_id, line.responded_ms)


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
