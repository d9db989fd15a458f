"""The order of events at different brokers, as request lines show it whatever the brokers' clocks say."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.leader_epoch.answers import END, Answers
from fencepost.protocols.leader_epoch.client_requests import ClientRequest
from fencepost.protocols.leader_epoch.clocks import AppliedPosition, Order, controller_at
from fencepost.protocols.leader_epoch.cluster import ClusterHistory
from fencepost.protocols.leader_epoch.instances import (
    by_client,
    connections_by_client,
    instances,
    software_of,
)
from fencepost.protocols.leader_epoch.lines import (
    BROKER_HEARTBEAT,
    DESCRIBE_TOPIC_PARTITIONS,
    FETCH,
    METADATA,
    OFFSET_COMMIT,
    NamedPartition,
)
from fencepost.replay.columns import Columns
from fencepost.replay.entities import tuples
from fencepost.replay.garbage_collection import collection_paused
from fencepost.replay.logs import by_log
from fencepost.replay.requests import requested_ms
from fencepost.tables import Table

ORDERS = Table(
    "orders",
    "clocks.Order: of each two brokers the one that bounds their clocks closest.",
    {"cluster": "string", "first": "int", "first_ms": "bigint", "then": "int", "then_ms": "bigint"},
    ("cluster", "first", "then", "first_ms", "then_ms"),
)

APPLIED = Table(
    "applied",
    "clocks.AppliedPosition: how much of the metadata log brokers had, by whoever told it.",
    {"cluster": "string", "broker_id": "int", "clock": "int", "ms": "bigint", "position": "bigint"},
    ("cluster", "broker_id", "clock", "ms"),
)

_ANSWERS = (METADATA, DESCRIBE_TOPIC_PARTITIONS)
_CONSUMED = (FETCH, OFFSET_COMMIT)
TABLES = (ORDERS, APPLIED)
HEARTBEAT_COLUMNS = ("cluster", "broker_id", "api_key", "logged_at_ms", "total_time_ms", "request")
"""What is read of heartbeats."""
_KEPT = 8


class Cluster(NamedTuple):
    """What the lines of a cluster are compared with. ``heartbeats``: by broker and clock (the controller that
    logged them), the offsets of the metadata log that the broker had applied, and when.
    """

    history: ClusterHistory
    answers: Answers
    heartbeats: Mapping[int, Mapping[int, tuple[list[int], list[int]]]]


def heartbeats_of(requests: pa.Table) -> pa.Table:
    """Rows of APPLIED, from rows of ``bronze.requests`` (HEARTBEAT_COLUMNS): a heartbeat says how much of the
    metadata log its broker has applied.

    Every broker sends one every two seconds, so they are parsed as columns, not line by line.
    """
    heartbeats = requests.filter(pc.equal(requests["api_key"], BROKER_HEARTBEAT))
    columns = {
        "cluster": heartbeats["cluster"],
        "broker_id": _number_in(heartbeats["request"], "brokerId", 9).cast(pa.int32()),
        "clock": heartbeats["broker_id"],
        "position": _number_in(heartbeats["request"], "currentMetadataOffset", 18),
        "ms": requested_ms(heartbeats),
    }
    rows = pa.table(columns).drop_null()
    # of heartbeats with the same offset only the first counts
    first = rows.group_by(["cluster", "broker_id", "clock", "position"]).aggregate([("ms", "min")])
    named = first.rename_columns({"ms_min": "ms"}).select(list(APPLIED.columns))
    return named.sort_by([(name, "ascending") for name in APPLIED.columns]).cast(APPLIED.arrow_schema)


def _number_in(json: pa.ChunkedArray, name: str, digits: int) -> pa.ChunkedArray:
    """A member of JSON objects that is a whole number, not negative, of at most ``digits`` digits; else
    null.
    """
    # quotes inside a JSON string are escaped, so no text can pass for a member
    match = pc.extract_regex(json, f'"{name}": ?(?P<number>[0-9]{{1,{digits}}})[,}}]')
    return pc.struct_field(match, 0).cast(pa.int64())


def by_broker(applied: Iterable[AppliedPosition]) -> dict[int, dict[int, tuple[list[int], list[int]]]]:
    """By broker and clock, the offsets that the broker had applied, rising, and when it had."""
    times: dict[int, dict[int, list[tuple[int, int]]]] = {}
    for each in applied:
        times.setdefault(each.broker_id, {}).setdefault(each.clock, []).append((each.ms, each.position))
    return {
        broker_id: {
            clock: (list(accumulate((at for _, at in sorted(of)), max)), [ms for ms, _ in sorted(of)])
            for clock, of in clocks.items()
        }
        for broker_id, clocks in times.items()
    }


def ordering(requests: pa.Table, clusters: Sequence[str]) -> pa.Table:
    """The rows of CLIENT_REQUESTS that ``orders_of`` needs: all of ``clusters``, whose clients asked several
    brokers; of other clusters only answers about topics.
    """
    answers = pc.is_in(requests["api_key"], pa.array(_ANSWERS, pa.int32()))
    of_several = pc.is_in(requests["cluster"], pa.array(clusters, pa.string()))
    return requests.filter(pc.or_(answers, of_several))


@collection_paused()
def orders_of(requests: pa.Table, known: Mapping[str, Cluster]) -> dict[str, pa.Table]:
    """Rows of TABLES, from all the rows of CLIENT_REQUESTS of some client ids and hosts."""
    rows, images = Columns(ORDERS), Columns(APPLIED)
    for (name,), lines in sorted(by_log(requests, "cluster").items(), key=str):
        cluster = str(name)
        if cluster not in known:
            continue
        closest = _Closest()
        furthest: dict[int, int] = {}
        for each in _orders_of_answers(lines, known[cluster]):
            if isinstance(each, Order):
                closest.add(each)
            elif each.position > furthest.get(each.broker_id, 0):
                furthest[each.broker_id] = each.position
                images.add(cluster, *each)
        software = software_of(lines)
        several = _of_several_brokers(lines)
        connections = dict(connections_by_client(several, software))
        for key, own in by_client(several, _CONSUMED, software):
            _add_consumed(own, instances(cluster, connections.get(key, {}), key.software), closest)
        for order in closest:
            rows.add(cluster, *order)
    return {ORDERS.name: rows.to_arrow(), APPLIED.name: images.to_arrow()}


def _of_several_brokers(requests: pa.Table) -> pa.Table:
    """The fetches and commits of clients that asked several brokers: others bound no clock."""
    rows = requests.filter(pc.is_in(requests["api_key"], pa.array(_CONSUMED, pa.int32())))
    clients = pc.fill_null(rows["client_id"], "")
    brokers = pa.table({"client": clients, "broker": rows["broker_id"]}).group_by("client")
    broker_counts = brokers.aggregate([("broker", "count_distinct")])
    several = broker_counts.filter(pc.greater(broker_counts["broker_count_distinct"], 1))["client"]
    return rows.filter(pc.is_in(clients, several.combine_chunks()))


class _Closest:
    """Keeps, for each two brokers, the order that bounds their clocks most closely."""

    def __init__(self) -> None:
        self._orders: dict[tuple[int, int], Order] = {}

    def __iter__(self) -> Iterator[Order]:
        return iter(self._orders.values())

    def is_closer(self, first: int, then: int, apart_ms: int) -> bool:
        """Whether an order of these brokers would bound their clocks more closely than the one
        that is kept.
        """
        best = self._orders.get((first, then))
        return best is None or apart_ms < best.then_ms - best.first_ms

    def add(self, each: Order) -> None:
        """Keep an order if it is the closest so far."""
        if self.is_closer(each.first, each.then, each.then_ms - each.first_ms):
            self._orders[each.first, each.then] = each


def _orders_of_answers(requests: pa.Table, known: Cluster) -> Iterator[Order | AppliedPosition]:
    """The orders that answers about topics show. A controller wrote a record before an answer has
    it. If an answer lacks a record, its broker applied the record later, and said so to the controller in a
    heartbeat (BrokerHeartbeatRequest.currentMetadataOffset).

    Brokers give the same answer again and again: of each broker only the first and the last time matter.
    """
    history = known.history
    for broker_id, digest, responded_ms, last_asked_ms in _answers_by_broker(requests):
        answer = known.answers.of(digest)
        if answer is None:
            continue
        ms = history.ms_at(answer.since) if answer.since > 0 else None
        if ms is not None:
            yield Order(controller_at(history, answer.since), ms, broker_id, responded_ms)
        if answer.since > 0:
            yield AppliedPosition(broker_id, broker_id, responded_ms, answer.since)
        if answer.until == END:
            continue
        for clock, (positions, times) in known.heartbeats.get(broker_id, {}).items():
            at = bisect_left(positions, answer.until)
            if at < len(times):
                yield Order(broker_id, last_asked_ms, clock, times[at])


def _answers_by_broker(requests: pa.Table) -> Iterable[tuple[Any, ...]]:
    """Broker, digest of the topics in its answer, when it first gave this answer, and when the last request
    came that got it.
    """
    answers = requests.filter(pc.is_in(requests["api_key"], pa.array(_ANSWERS, pa.int32())))
    of_each = answers.group_by(["broker_id", "topics_digest"])
    rows = of_each.aggregate([("responded_ms", "min"), ("requested_ms", "max")])
    return tuples(rows.sort_by([("responded_ms_min", "ascending"), ("topics_digest", "ascending")]))


def _add_consumed(
    lines: list[ClientRequest], of: Mapping[tuple[int, str], str | None], closest: _Closest
) -> None:
    """The orders that consumers show: before a consumer commits an offset, it fetched the records
    before it.
    """
    by_client: dict[str, list[ClientRequest]] = {}
    for line in sorted(lines, key=lambda each: (each.correlation_id, each.requested_ms, each.request_id)):
        client = of.get((line.broker_id, line.connection or ""))
        if client is not None:
            by_client.setdefault(client, []).append(line)
    for own in by_client.values():
        # the lines behind the last commit that may bound a clock more closely are not needed
        for order in _read_before_committed(own[: _lines_to_read(own, closest)]):
            closest.add(order)


def _lines_to_read(lines: Sequence[ClientRequest], closest: _Closest) -> int:
    """How many lines of a client there are up to the last commit that, with a fetch from another broker, may
    bound two clocks more closely than is known.
    """
    last_fetch_ms: dict[int, int] = {}
    last = 0
    for number, line in enumerate(lines, start=1):
        if line.api_key == FETCH:
            last_fetch_ms[line.broker_id] = max(
                line.requested_ms, last_fetch_ms.get(line.broker_id, line.requested_ms)
            )
        elif any(
            broker_id != line.broker_id
            and closest.is_closer(broker_id, line.broker_id, line.responded_ms - requested_ms)
            for broker_id, requested_ms in last_fetch_ms.items()
        ):
            last = number
    return last


def _read_before_committed(lines: Iterable[ClientRequest]) -> Iterator[Order]:
    """Pairs of a fetch and the commit that must have come after it, in the lines of one client."""
    reads: dict[NamedPartition, deque[tuple[int, ClientRequest]]] = {}
    for line in lines:
        for each in line.partitions:
            # requests by topic id and by name do not match: no client mixes their versions
            if line.api_key == FETCH:
                if each.error == 0 and each.offset >= 0:
                    reads.setdefault(each.requested, deque(maxlen=_KEPT)).append((each.offset, line))
                continue
            before = [fetch for offset, fetch in reads.get(each.requested, ()) if offset < each.offset]
            if before and before[-1].broker_id != line.broker_id and each.error == 0:
                fetch = before[-1]
                yield Order(fetch.broker_id, fetch.requested_ms, line.broker_id, line.responded_ms)
