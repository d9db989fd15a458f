"""The correlation ids of a client's lines in the logs of all brokers. A missing id shows that a line is
missing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from fencepost.formats.request_ids import Range, merged, read_ranges
from fencepost.replay.entities import tuples
from fencepost.replay.requests import host_of

Connection = tuple[int, str]
"""Broker id and the connection as the broker names it."""


@dataclass(slots=True)
class ConnectionIds:
    """The correlation ids in the lines of one connection."""

    connection: Connection
    software: str | None = None
    ranges: list[Range] = field(default_factory=list)
    times: list[tuple[int, int]] = field(default_factory=list)
    """Some ids and when they were logged, in milliseconds."""


def sent_of(rows: pa.Table) -> dict[tuple[str, str], dict[Connection, ConnectionIds]]:
    """By client id and host, the ids that were sent on each connection, from rows of ``bronze.request_ids``
    of one cluster.
    """
    names = ("client_id", "broker_id", "connection", "software_name", "correlation_ids",
             "first_logged_at_ms", "last_logged_at_ms")  # fmt: skip
    by_client: dict[tuple[str, str], dict[Connection, ConnectionIds]] = {}
    for client_id, broker_id, connection, software, ids, first_ms, last_ms in tuples(rows.select(names)):
        of = by_client.setdefault((client_id or "", host_of(connection) or ""), {})
        sent = of.setdefault((broker_id, connection), ConnectionIds((broker_id, connection)))
        sent.software = sent.software or software
        ranges = read_ranges(ids)
        sent.ranges += ranges
        sent.times += [(ranges[0][0], first_ms), (ranges[-1][1], last_ms)]
    for of in by_client.values():
        for sent in of.values():
            sent.ranges = merged(sent.ranges)
    return by_client


def count(ranges: Iterable[Range]) -> int:
    """How many ids there are in ranges that do not overlap."""
    return sum(last - first + 1 for first, last in ranges)


def overlap(one: Sequence[Range], other: Sequence[Range]) -> bool:
    """Whether some id is in both; the ranges of each are in order."""
    at = 0
    for first, last in one:
        while at < len(other) and other[at][1] < first:
            at += 1
        if at < len(other) and other[at][0] <= last:
            return True
    return False


class CorrelationIds:
    """The correlation ids in the lines of one client, over all its connections."""

    def __init__(self, sent: Iterable[ConnectionIds] = ()) -> None:
        of = list(sent)
        self._ranges = merged(each for one in of for each in one.ranges)
        self._last = {one.connection: one.ranges[-1][1] for one in of if one.ranges}

    def is_whole(self, after: int, before: int) -> bool:
        """Whether every id between these two (exclusive) has its line."""
        if before - after <= 1:
            return True
        at = bisect_right(self._ranges, after + 1, key=lambda each: each[0]) - 1
        return at >= 0 and before - 1 <= self._ranges[at][1]

    def first(self) -> int:
        """The lowest id; 0 where none is known."""
        return self._ranges[0][0] if self._ranges else 0

    def last(self, connection: Connection) -> int:
        """The last id on a connection; -1 where none is known."""
        return self._last.get(connection, -1)
