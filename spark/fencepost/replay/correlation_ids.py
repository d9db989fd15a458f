"""The correlation ids of a client's lines in the logs of all brokers. A missing id shows that a line is
missing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from fencepost.formats.request_ids import Range, merged, read_ranges
from fencepost.replay.entities import tuples
from fencepost.replay.requests import host_of

Connection = tuple[int, str]
"""Broker id and the connection as the broker names it."""

Pair = tuple[int, int]
"""A correlation id, and when its request came, in milliseconds."""

_JAVA = "apache-kafka-java"
_NEAR_MS = 40_000
"""How long a request may wait at a broker that stands still before its client gives it up."""
_MOST = 1000
"""The most connections of one client that are compared with each other."""


@dataclass(slots=True)
class ConnectionIds:
    """The correlation ids in the lines of one connection."""

    connection: Connection
    software: str | None = None
    ranges: list[Range] = field(default_factory=list)
    times: list[Pair] = field(default_factory=list)
    """Some ids and when they were logged."""


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


def in_order(sent: Iterable[ConnectionIds]) -> list[ConnectionIds]:
    """Connections in the order of their first lines."""
    return sorted(sent, key=lambda each: (min(ms for _, ms in each.times), each.connection))


def goes_on(one: ConnectionIds, others: Sequence[ConnectionIds]) -> bool:
    """Whether a connection's numbers may be of the same counter as those of others."""
    return not any(overlap(other.ranges, one.ranges) for other in others) and rises(
        sorted({pair for each in (one, *others) for pair in each.times})
    )


def is_java(software: str | None) -> bool:
    """Whether a client says that it is the Java client."""
    return software == _JAVA


def rises(pairs: Sequence[Pair]) -> bool:
    """Whether the times rise with the correlation ids (``pairs`` in their order), as far as brokers' clocks
    agree.
    """
    newest, before = 0, None
    for correlation_id, ms in pairs:
        if correlation_id == before or ms < newest - _NEAR_MS:
            return False
        newest, before = max(newest, ms), correlation_id
    return True


class CorrelationIds:
    """The correlation ids in the lines of one client, over all its connections. ``perhaps_of``: connections
    of which one has the beginning of its counter, if this one has not.
    """

    def __init__(self, sent: Iterable[ConnectionIds] = (), perhaps_of: Iterable[ConnectionIds] = ()) -> None:
        of = list(sent)
        self._ranges = merged(each for one in of for each in one.ranges)
        self._sent = {one.connection: one for one in of if one.ranges}
        self._first = min((pair for one in of for pair in one.times), default=None)
        self._perhaps_first = [min(one.times) for one in perhaps_of]

    def is_whole(self, after: int, before: int) -> bool:
        """Whether every id between these two (exclusive) has its line."""
        if before - after <= 1:
            return True
        at = bisect_right(self._ranges, after + 1, key=lambda each: each[0]) - 1
        return at >= 0 and before - 1 <= self._ranges[at][1]

    def begins_after(self, ms: int) -> bool:
        """Whether the first request that was numbered so came after a time."""
        if self._first is None:
            return False
        # a connection begins with ApiVersions, whose line may be missing
        return all(number <= 1 and at > ms for number, at in self._perhaps_first or [self._first])

    def last(self, connection: Connection) -> int:
        """The last id on a connection; -1 where none is known."""
        sent = self._sent.get(connection)
        return -1 if sent is None else sent.ranges[-1][1]

    def goes_on(self, connection: Connection, to: int, ms: int, within_ms: int) -> bool:
        """Whether every id between those of a connection and this one has its line. ``ms``: when this one
        was sent; a line of the connection must have been logged ``within_ms`` of that.
        """
        sent = self._near(connection, ms, within_ms)
        if sent is None:
            return False
        before = max((min(last, to - 1) for first, last in sent.ranges if first < to), default=None)
        return before is not None and self.is_whole(before, to)

    def repeats(
        self, connection: Connection, other: CorrelationIds, others: Connection, ms: int, within_ms: int
    ) -> bool:
        """Whether Java clients sent some id on this connection and on one of ``other``, so that these are two
        clients. ``ms``: when one of them was sent here; a line of the other connection must have been logged
        ``within_ms`` of that.
        """
        one, before = self._sent.get(connection), other._near(others, ms, within_ms)
        if one is None or before is None or not (is_java(one.software) and is_java(before.software)):
            return False
        return overlap(one.ranges, before.ranges)

    def _near(self, connection: Connection, ms: int, within_ms: int) -> ConnectionIds | None:
        """The ids of a connection that has a line of about this time."""
        sent = self._sent.get(connection)
        return sent if sent is not None and any(abs(ms - at) <= within_ms for _, at in sent.times) else None


def by_counter(sent: Iterable[ConnectionIds]) -> Mapping[Connection, CorrelationIds]:
    """By connection of one client id and host, the ids of the counter that numbers its requests.

    A Java client has one counter for all its connections (NetworkClient). One that is started again, and
    another one of the same name beside it, begin with 0. Clients of other makers have a counter for each
    connection. Of a client that does not say its maker the numbers decide. A connection that may share the
    counter of several others, or of none, has here one of its own.
    """
    ordered = in_order(sent)
    counters: list[list[ConnectionIds]] = []
    perhaps_of: dict[Connection, list[ConnectionIds]] = {}
    for one in ordered:
        shares = _may_share(one) and one.ranges[0][0] > 0 and len(ordered) <= _MOST
        alike = (each for each in counters if each[0].software == one.software)
        fits = [each for each in alike if goes_on(one, each)] if shares else []
        if len(fits) == 1:
            fits[0].append(one)
        else:
            counters.append([one])
            perhaps_of[one.connection] = [each[0] for each in fits]
    ids = [(CorrelationIds(each, perhaps_of[each[0].connection]), each) for each in counters]
    return {one.connection: numbered for numbered, each in ids for one in each}


def _may_share(one: ConnectionIds) -> bool:
    return one.software is None or is_java(one.software)
