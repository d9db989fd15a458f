"""The evidence about a whole cluster, which is read before its clients and groups are replayed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.capture.plan import REQUEST_LOG
from fencepost.engines import Rows
from fencepost.protocols.leader_epoch.admin import DATED_BY, AdminRequests, orders
from fencepost.protocols.leader_epoch.answers import Answers
from fencepost.protocols.leader_epoch.client_requests import CLIENT_REQUESTS
from fencepost.protocols.leader_epoch.clocks import AppliedPosition, Clocks, Moments, Order
from fencepost.protocols.leader_epoch.cluster import ClusterHistory
from fencepost.protocols.leader_epoch.lines import BROKER_HEARTBEAT
from fencepost.protocols.leader_epoch.orders import (
    APPLIED,
    HEARTBEAT_COLUMNS,
    ORDERS,
    Cluster,
    by_broker,
    heartbeats_of,
    ordering,
    orders_of,
)
from fencepost.protocols.leader_epoch.orders import TABLES as ORDER_TABLES
from fencepost.replay.entities import bucket_of, tuples, with_entity
from fencepost.replay.evidence import Evidence
from fencepost.replay.keys import OFFSETS_TOPIC
from fencepost.tables import BATCHES, FILES, REQUESTS, TOPIC_ANSWERS, TOPIC_LISTS, Table

_BROKERS = pa.schema([("cluster", pa.string()), ("broker_id", pa.int32())])


@dataclass(frozen=True)
class ClusterEvidence:
    """What is known of a cluster: the history of its metadata log, where that log ended at times of brokers'
    clocks (``moments``), and the texts of answers. ``complete``: every broker has a request log.
    """

    history: ClusterHistory
    moments: Moments
    answers: Answers
    complete: bool = True


def cluster_evidence(
    evidence: Evidence,
    histories: Mapping[str, ClusterHistory],
    by_admin: Mapping[str, AdminRequests],
    requests: Rows,
) -> dict[str, ClusterEvidence]:
    """What is known of each cluster. Of its clients' requests (``requests``: rows of CLIENT_REQUESTS) it
    takes only in which order events at different brokers happened.
    """
    engine = evidence.engine
    lists, answers = (engine.collect(engine.scan(each)) for each in (TOPIC_LISTS, TOPIC_ANSWERS))
    dated = engine.collect(engine.scan(BATCHES, DATED_BY, [{"topic": OFFSETS_TOPIC}]))
    applied = _heartbeats(evidence, histories)
    clusters = {
        cluster: Cluster(
            history,
            Answers(_of(lists, cluster), _of(answers, cluster), history),
            by_broker(applied[cluster]),
        )
        for cluster, history in histories.items()
    }
    order_tables, logged = _orders(evidence, clusters, requests), _brokers_with_request_log(evidence)
    by_cluster = {}
    for cluster, (history, cluster_answers, _) in clusters.items():
        from_clients = [
            Order(*row) for row in tuples(_of(order_tables[ORDERS.name], cluster).drop_columns("cluster"))
        ]
        clocks = Clocks.of([*orders(history, by_admin[cluster], _of(dated, cluster)), *from_clients])
        applied_positions = [*applied[cluster], *_applied(order_tables[APPLIED.name], cluster)]
        moments = Moments(history, clocks, evidence.tolerance_ms, applied_positions)
        complete = set(history.brokers) <= logged.get(cluster, set())
        by_cluster[cluster] = ClusterEvidence(history, moments, cluster_answers, complete)
    return by_cluster


def _heartbeats(
    evidence: Evidence, histories: Mapping[str, ClusterHistory]
) -> dict[str, list[AppliedPosition]]:
    """By cluster, how much of the metadata log its brokers had applied, as their heartbeats tell
    controllers.
    """
    engine = evidence.engine
    heartbeats = engine.scan(REQUESTS, HEARTBEAT_COLUMNS, [{"api_key": BROKER_HEARTBEAT}])
    applied = engine.collect(engine.map(heartbeats, heartbeats_of, APPLIED.arrow_schema))
    return {cluster: _applied(applied, cluster) for cluster in histories}


def _applied(rows: pa.Table, cluster: str) -> list[AppliedPosition]:
    return [AppliedPosition(*row) for row in tuples(_of(rows, cluster).drop_columns("cluster"))]


def _orders(evidence: Evidence, clusters: Mapping[str, Cluster], requests: Rows) -> dict[str, pa.Table]:
    """In which order events happened, as clients' lines show: rows of orders.TABLES."""
    engine = evidence.engine
    entity = partial(bucket_of, ("cluster", "client_id"), engine.parallelism)
    brokers = engine.collect(engine.map(requests, _brokers_asked, _BROKERS))
    of_each = Counter(cluster for cluster, _ in set(tuples(brokers)))
    of_several_brokers = [cluster for cluster, count in of_each.items() if count > 1]
    requests = engine.map(
        requests, partial(ordering, clusters=of_several_brokers), CLIENT_REQUESTS.arrow_schema
    )

    def run(_: str, inputs: Mapping[str, pa.Table]) -> Iterable[tuple[Table, pa.Table]]:
        rows = orders_of(inputs["requests"], clusters)
        yield from ((table, rows[table.name]) for table in ORDER_TABLES)

    inputs = {"requests": [with_entity(engine, CLIENT_REQUESTS, requests, entity)]}
    rows = engine.replay(inputs, run, list(ORDER_TABLES))
    return {table.name: engine.collect(rows[table.name]) for table in ORDER_TABLES}


def _brokers_asked(requests: pa.Table) -> pa.Table:
    return requests.group_by(_BROKERS.names).aggregate([]).cast(_BROKERS)


def _brokers_with_request_log(evidence: Evidence) -> dict[str, set[int]]:
    """By cluster, the brokers whose request log was captured."""
    engine = evidence.engine
    by_cluster: dict[str, set[int]] = {}
    files = engine.scan(FILES, ("cluster", "broker_id"), [{"kind": REQUEST_LOG}])
    for cluster, broker_id in tuples(engine.collect(files)):
        by_cluster.setdefault(cluster, set()).add(broker_id)
    return by_cluster


def _of(rows: pa.Table, cluster: str) -> pa.Table:
    return rows.filter(pc.equal(rows["cluster"], cluster))
