"""Whether request lines of a transactional id's clients are missing. If they are, a record that no line
explains may come from a request whose line is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.producer_epoch.request_rows import RequestRow
from fencepost.protocols.producer_epoch.request_targets import END, INIT
from fencepost.replay.chapters import OVERLAP_MS
from fencepost.replay.correlation_ids import Connection, CorrelationIds, Pair, by_counter, sent_of
from fencepost.replay.requests import host_of
from fencepost.tables import REQUEST_IDS

CLIENTS = pa.schema([("cluster", pa.string()), ("client_id", pa.string())])
"""The clients that may end transactions."""

_ENDING = (INIT, END)

Client = tuple[str, str]
"""Client id and host."""


def clients_of(requests: pa.Table) -> pa.Table:
    """CLIENTS of rows of ``silver.producer_requests``."""
    ending = pc.is_in(requests["api_key"], pa.array(_ENDING, pa.int32()))
    chosen = requests.filter(pc.and_(ending, pc.is_valid(requests["transactional_id"])))
    return chosen.group_by(CLIENTS.names).aggregate([]).select(CLIENTS.names).cast(CLIENTS)


def numbers_of(rows: pa.Table, clients: pa.Table) -> pa.Table:
    """The rows of ``bronze.request_ids`` that are of CLIENTS."""
    found = [rows.slice(0, 0)]
    for cluster in clients["cluster"].unique().to_pylist():
        own = clients.filter(pc.equal(clients["cluster"], cluster))["client_id"].combine_chunks()
        found.append(
            rows.filter(pc.and_(pc.equal(rows["cluster"], cluster), pc.is_in(rows["client_id"], own)))
        )
    return pa.concat_tables(found)


class Numbering:
    """The correlation ids of the clients of one cluster (rows of ``bronze.request_ids``), by client."""

    def __init__(self, rows: pa.Table | None = None) -> None:
        self._rows = REQUEST_IDS.arrow_schema.empty_table() if rows is None else rows

    @cached_property
    def by_client(self) -> Mapping[Client, Mapping[Connection, CorrelationIds]]:
        """By client and connection. Most logs need none of them, so they are read when they are needed."""
        return {client: by_counter(sent.values()) for client, sent in sent_of(self._rows).items()}

    def is_senders(self, connection: Connection, request: RequestRow) -> bool | None:
        """Whether the client of a connection sent a request of the same client id on another one. It did if
        one counter numbers both, and no number between them lacks its line. It did not if both are of Java
        clients and have a number in common, as after a restart. What was long before may be in no chapter
        that has the request, so it tells nothing.
        """
        counters = self.by_client.get((request.client_id or "", host_of(request.connection) or ""), {})
        own = (request.broker_id, request.connection or "")
        numbers, others, at = counters.get(own), counters.get(connection), request.requested_ms
        if numbers is None or others is None:
            return None
        if numbers is others:
            return numbers.goes_on(connection, request.correlation_id, at, OVERLAP_MS) or None
        return False if numbers.repeats(own, others, connection, at, OVERLAP_MS) else None


class MissingLines:
    """The lines about one transactional id, among those of its clients."""

    def __init__(self, requests: Iterable[RequestRow], numbering: Numbering, tolerance_ms: int) -> None:
        self._numbering, self._tolerance_ms = numbering, tolerance_ms
        lines = [((each.client_id or "", host_of(each.connection) or ""), each) for each in requests]
        ending = {client for client, each in lines if each.api_key in _ENDING}
        self._lines = [(client, each) for client, each in lines if client in ending]

    def around(self, ms: int) -> bool:
        """Whether a client that sent another request after this time may have sent one before it that has no
        line: its numbers have a gap between the two around this time, or since its first one.
        """
        return any(self._is_gap(numbers, lines, ms) for numbers, lines in self._by_counter)

    @cached_property
    def _by_counter(self) -> list[tuple[CorrelationIds | None, list[Pair]]]:
        """The numbers and times of the lines, by the counter of their numbers: a client that was started
        again begins with 0 again. None where that is not known.
        """
        by_counter: dict[int, tuple[CorrelationIds | None, list[Pair]]] = {}
        for client, each in self._lines:
            counters = self._numbering.by_client.get(client, {})
            numbers = counters.get((each.broker_id, each.connection or ""))
            of_counter = by_counter.setdefault(id(numbers), (numbers, []))
            of_counter[1].append((each.correlation_id, each.requested_ms))
        return list(by_counter.values())

    def _is_gap(self, numbers: CorrelationIds | None, lines: list[Pair], ms: int) -> bool:
        after = min((number for number, at in lines if at > ms), default=None)
        if after is None or (numbers is not None and numbers.begins_after(ms + self._tolerance_ms)):
            return False
        before = max((number for number, at in lines if at <= ms - self._tolerance_ms), default=0)
        return numbers is None or not numbers.is_whole(before, after)
