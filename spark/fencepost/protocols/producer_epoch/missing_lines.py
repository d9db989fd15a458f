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
from fencepost.replay.correlation_ids import CorrelationIds, sent_of
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
    def by_client(self) -> Mapping[Client, CorrelationIds]:
        """Most logs need none of them, so they are read when they are needed."""
        return {client: CorrelationIds(sent.values()) for client, sent in sent_of(self._rows).items()}


class MissingLines:
    """The lines about one transactional id, among those of its clients."""

    def __init__(self, requests: Iterable[RequestRow], numbering: Numbering, tolerance_ms: int) -> None:
        self._numbering, self._tolerance_ms = numbering, tolerance_ms
        self._lines: dict[Client, list[tuple[int, int]]] = {}
        lines = [((each.client_id or "", host_of(each.connection) or ""), each) for each in requests]
        ending = {client for client, each in lines if each.api_key in _ENDING}
        for client, each in lines:
            if client in ending:
                self._lines.setdefault(client, []).append((each.requested_ms, each.correlation_id))

    def around(self, ms: int) -> bool:
        """Whether a client that sent another request after this time may have sent one before it that has no
        line: its numbers have a gap between the two around this time, or since its first one.
        """
        return any(self._is_gap(client, lines, ms) for client, lines in self._lines.items())

    def _is_gap(self, client: Client, lines: list[tuple[int, int]], ms: int) -> bool:
        numbers = self._numbering.by_client.get(client)
        after = min((number for at, number in lines if at > ms), default=None)
        if after is None:
            return False
        before = (number for at, number in lines if at <= ms - self._tolerance_ms)
        return numbers is None or not numbers.is_whole(max(before, default=numbers.first()), after)
