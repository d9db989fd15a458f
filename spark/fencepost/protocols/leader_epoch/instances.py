"""Which connections are of one instance of a client.

A Java client has one counter of correlation ids over all its connections (NetworkClient): so the requests of
one instance, ordered by time, have rising ids. Where that does not tell instances apart, none is named.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

import pyarrow as pa

from fencepost.replay.keys import digest_of
from fencepost.replay.requests import RequestLine, each_line, host_of

_NEAR_MS = 40_000
"""A request may wait so long at a broker that stands still, before its client gives it up."""
Connection = tuple[int, str]
"""Broker id and the connection as the broker names it."""

Software = Mapping[Connection, tuple[str | None, str | None]]
"""The name and version of what is at the other end of a connection."""


def software_of(requests: pa.Table) -> Software:
    """From rows of ``bronze.requests`` of one cluster."""
    names = ("broker_id", "connection", "software_name", "software_version")
    columns = (requests[name].to_pylist() for name in names)
    return {
        (broker_id, connection or ""): (name, version)
        for broker_id, connection, name, version in zip(*columns, strict=True)
    }


class ClientKey(NamedTuple):
    """What a client says of itself: two instances of one application may say the same."""

    client_id: str
    host: str
    software: str


def by_client(
    requests: pa.Table, api_keys: Collection[int], software: Software
) -> Iterator[tuple[ClientKey, list[RequestLine]]]:
    """The lines of these APIs by client, from rows of ``bronze.requests`` of one cluster.

    One client id is read after another: the parsed lines of all of them would take much memory.
    """
    lines = each_line(requests, api_keys, ("client_id",))
    for client_id, of_id in groupby(lines, key=lambda line: line.client_id or ""):
        found: dict[ClientKey, list[RequestLine]] = {}
        for line in of_id:
            named = software.get((line.broker_id, line.connection or ""), (None, None))[0]
            key = ClientKey(client_id, host_of(line.connection) or "", named or "")
            found.setdefault(key, []).append(line)
        yield from sorted(found.items())


def instances(
    cluster: str, lines: Iterable[RequestLine], software: str | None
) -> dict[Connection, str | None]:
    """The instance of each connection among lines of one client id, host and software: a digest, or None."""
    connections: dict[Connection, list[tuple[int, int]]] = {}
    for line in lines:
        if line.connection is not None:
            pair = (line.correlation_id, line.requested_ms)
            connections.setdefault((line.broker_id, line.connection), []).append(pair)
    found: list[tuple[list[tuple[int, int]], list[Connection]]] = []
    unsure: set[Connection] = set()
    ordered = sorted(connections.items(), key=lambda each: (min(ms for _, ms in each[1]), each[0]))
    for connection, pairs in ordered:
        fits = [each for each in found if _rises(sorted([*each[0], *pairs]))]
        if len(fits) == 1:
            fits[0][0].extend(pairs)
            fits[0][1].append(connection)
        elif not fits:
            found.append((list(pairs), [connection]))
        else:
            unsure.add(connection)
    java = software is not None and software.endswith("java")
    if unsure or (len(found) > 1 and not java):
        # whose cache the unsure ones are, none of the others can tell either
        return dict.fromkeys(connections)
    return {
        connection: digest_of(cluster, *min(of), min(pairs)[0]) for pairs, of in found for connection in of
    }


def _rises(pairs: Sequence[tuple[int, int]]) -> bool:
    """Whether the times of rising correlation ids rise too, as far as brokers' clocks are alike."""
    newest, before = 0, -1
    for correlation_id, ms in pairs:
        if correlation_id == before or ms < newest - _NEAR_MS:
            return False
        newest, before = max(newest, ms), correlation_id
    return True
