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

_ASKED = pa.schema([("cluster", pa.string()), ("broker_id", pa.int32())])


@dataclass(frozen=True)
class ClusterEvidence:
    """What the metadata log, its clocks and the texts of answers say; ``complete``: every broker has a
    request log.
    """

    history: ClusterHistory
    moments: Moments
    answers: Answers
    complete: bool = True


def cluster_evidence(
    given: Evidence,
    histories: Mapping[str, ClusterHistory],
    by_admin: Mapping[str, AdminRequests],
    asked: Rows,
) -> dict[str, ClusterEvidence]:
    """What is known of each cluster; of its clients' requests (``asked``: rows of CLIENT_REQUESTS) only the
    order of things at different brokers.
    """
    engine = given.engine
    lists, answers = (engine.collect(engine.scan(each)) for each in (TOPIC_LISTS, TOPIC_ANSWERS))
    dated = engine.collect(engine.scan(BATCHES, DATED_BY, [{"topic": OFFSETS_TOPIC}]))
    applied = _heartbeats(given, histories)
    said = {
        cluster: Cluster(
            history,
            Answers(_of(lists, cluster), _of(answers, cluster), history),
            by_broker(applied[cluster]),
        )
        for cluster, history in histories.items()
    }
    told, logged = _told(given, said, asked), _brokers_with_request_log(given)
    found = {}
    for cluster, (history, answered, _) in said.items():
        seen = [Order(*row) for row in tuples(_of(told[ORDERS.name], cluster).drop_columns("cluster"))]
        clocks = Clocks.of([*orders(history, by_admin[cluster], _of(dated, cluster)), *seen])
        had = [*applied[cluster], *_applied(told[APPLIED.name], cluster)]
        moments = Moments(history, clocks, given.tolerance_ms, had)
        complete = set(history.brokers) <= logged.get(cluster, set())
        found[cluster] = ClusterEvidence(history, moments, answered, complete)
    return found


def _heartbeats(given: Evidence, histories: Mapping[str, ClusterHistory]) -> dict[str, list[AppliedPosition]]:
    """By cluster, how much of the metadata log its brokers told controllers that they had."""
    engine = given.engine
    beats = engine.scan(REQUESTS, HEARTBEAT_COLUMNS, [{"api_key": BROKER_HEARTBEAT}])
    beaten = engine.collect(engine.map(beats, heartbeats_of, APPLIED.arrow_schema))
    return {cluster: _applied(beaten, cluster) for cluster in histories}


def _applied(rows: pa.Table, cluster: str) -> list[AppliedPosition]:
    return [AppliedPosition(*row) for row in tuples(_of(rows, cluster).drop_columns("cluster"))]


def _told(given: Evidence, said: Mapping[str, Cluster], asked: Rows) -> dict[str, pa.Table]:
    """What clients' lines tell of the order of things: rows of orders.TABLES."""
    engine = given.engine
    entity = partial(bucket_of, ("cluster", "client_id"), engine.parallelism)
    brokers = engine.collect(engine.map(asked, _asked_brokers, _ASKED))
    of_each = Counter(cluster for cluster, _ in set(tuples(brokers)))
    several = [cluster for cluster, count in of_each.items() if count > 1]
    asked = engine.map(asked, partial(ordering, clusters=several), CLIENT_REQUESTS.arrow_schema)

    def run(_: str, evidence: Mapping[str, pa.Table]) -> Iterable[tuple[Table, pa.Table]]:
        of = orders_of(evidence["requests"], said)
        yield from ((table, of[table.name]) for table in ORDER_TABLES)

    evidence = {"requests": [with_entity(engine, CLIENT_REQUESTS, asked, entity)]}
    told = engine.replay(evidence, run, list(ORDER_TABLES))
    return {table.name: engine.collect(told[table.name]) for table in ORDER_TABLES}


def _asked_brokers(requests: pa.Table) -> pa.Table:
    return requests.group_by(_ASKED.names).aggregate([]).cast(_ASKED)


def _brokers_with_request_log(given: Evidence) -> dict[str, set[int]]:
    """By cluster, whose request log was found."""
    engine = given.engine
    found: dict[str, set[int]] = {}
    files = engine.scan(FILES, ("cluster", "broker_id"), [{"kind": REQUEST_LOG}])
    for cluster, broker_id in tuples(engine.collect(files)):
        found.setdefault(cluster, set()).add(broker_id)
    return found


def _of(rows: pa.Table, cluster: str) -> pa.Table:
    return rows.filter(pc.equal(rows["cluster"], cluster))
