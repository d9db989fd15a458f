"""Times of which a broker's request log has no line, although clients sent it requests then: its logger was
switched off, or a part of the log is lost.

A connection's requests are numbered, and a broker logs each of them. If the log has no line at all for
SILENT_MS or longer, and a client all of whose requests were logged before and after lacks the numbers that it
uses in about so long a time, lines are missing. Where nobody spoke to the broker, no number is missing; where
the log leaves out some APIs, numbers are missing before and after, too. A Java client has one counter for all
its connections, so its numbers tell only if all brokers' logs are there.

A chapter reads the lines of an hour before it and after it: a time without lines that reaches further across
its border is not told.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import partial
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from fencepost.formats.request_ids import SILENT_MS, merged, read_ranges
from fencepost.formats.request_ids import Range as Ids
from fencepost.replay.correlation_ids import count, is_java
from fencepost.replay.entities import distinct, tuples
from fencepost.replay.evidence import Evidence
from fencepost.replay.line_times import Broker, Finding, Range
from fencepost.replay.logs import Longs, longs
from fencepost.replay.requests import host_of
from fencepost.replay.unread_lines import UnreadLines
from fencepost.tables import REQUEST_IDS
from fencepost.tables.clocks import LINES_MISSING

_NEAR_MS = 60_000
"""How long before and after a time without lines the numbers of requests are looked at."""
_LASTS_MS = SILENT_MS - 1_000
"""How long all requests of a client must have been logged before it and after it."""
_MANY = 4
"""So many requests, at least, are missing."""
_PART = 0.5
"""Of what a client sends in so long a time this part, at least, is missing."""
_Client = tuple[str | None, str | None]
_Connection = tuple[str | None, str]
_TIMES = ("cluster", "broker_id", "first_logged_at_ms", "last_logged_at_ms")
_IDS = (*_TIMES, "file", "client_id", "connection", "software_name", "correlation_ids")
_SPAN = REQUEST_IDS.schema_of(_TIMES)


class _Sent(NamedTuple):
    """The numbers of a connection's requests from a first to a last moment."""

    first_ms: int
    last_ms: int
    file: str
    client_id: str | None
    connection: str
    software: str | None
    ids: Sequence[Ids]

    @property
    def client(self) -> _Client:
        """Client id and host."""
        return self.client_id, host_of(self.connection)


def silences(evidence: Evidence, unread: Mapping[str, UnreadLines]) -> list[Finding]:
    """The times of which lines are missing, both ends excluded: the lines before and after are of these.
    ``unread``: by cluster, lines of request logs that could not be read.
    """
    engine = evidence.engine
    spans = engine.map(engine.scan(REQUEST_IDS, _TIMES), _spans, _SPAN)
    quiet = _quiet(_spans(engine.collect(spans)))
    if not quiet:
        return []
    near = engine.map(engine.scan(REQUEST_IDS, _IDS), partial(_near, quiet), REQUEST_IDS.schema_of(_IDS))
    sent: defaultdict[str, defaultdict[int, list[_Sent]]] = defaultdict(lambda: defaultdict(list))
    for cluster, broker_id, *of_connection, ids in tuples(engine.collect(near)):
        sent[cluster][broker_id].append(_Sent._make((*of_connection, read_ranges(ids))))
    found: list[Finding] = []
    for cluster, broker_id in sorted(quiet):
        of_all = sent[cluster]
        registered = evidence.metadata[cluster].registrations if cluster in evidence.metadata else {}
        log = _Log(of_all, broker_id, unread.get(cluster, {}).keys(), registered.keys())
        lacking = log.lacking(quiet[cluster, broker_id])
        found += [Finding((cluster, broker_id), LINES_MISSING, *each) for each in lacking]
    return found


def _spans(rows: pa.Table) -> pa.Table:
    """The times (_SPAN) of which brokers have lines, less than SILENT_MS apart."""
    if not rows.num_rows:
        return _SPAN.empty_table()
    brokers, number = distinct([rows["cluster"], rows["broker_id"]])
    of_broker = np.asarray(number, dtype=np.int64)
    first, last = longs(rows["first_logged_at_ms"]), longs(rows["last_logged_at_ms"])
    found = [
        (*broker, *span)
        for at, broker in enumerate(brokers)
        for span in _joined(first[of_broker == at], last[of_broker == at])
    ]
    return pa.Table.from_pylist([dict(zip(_TIMES, each, strict=True)) for each in found], _SPAN)


def _joined(first: Longs, last: Longs) -> Iterator[Range]:
    order = np.argsort(first)
    first, newest = first[order], np.maximum.accumulate(last[order])
    begins = np.flatnonzero(first[1:] - newest[:-1] >= SILENT_MS) + 1
    low, high = first[[0, *begins]], newest[[*(begins - 1), -1]]
    return map(Range, low.tolist(), high.tolist())


def _quiet(spans: pa.Table) -> dict[Broker, list[Range]]:
    """The times between these, which are in order for each broker."""
    by_broker: defaultdict[Broker, list[Range]] = defaultdict(list)
    for cluster, broker_id, first_ms, last_ms in tuples(spans):
        by_broker[cluster, broker_id].append(Range(first_ms, last_ms))
    return {
        broker: [Range(one.high_ms, other.low_ms) for one, other in pairwise(of)]
        for broker, of in by_broker.items()
        if len(of) > 1
    }


def _near(quiet: Mapping[Broker, Sequence[Range]], rows: pa.Table) -> pa.Table:
    """The rows of shortly before and after a silence of any broker of their cluster."""
    first, last = longs(rows["first_logged_at_ms"]), longs(rows["last_logged_at_ms"])
    clusters = np.asarray(rows["cluster"].to_pylist(), dtype=object)
    is_near = np.zeros(rows.num_rows, dtype=np.bool_)
    for cluster in {name for name, _ in quiet}:
        of_cluster = [each for (name, _), of in quiet.items() if name == cluster for each in of]
        low, high = np.asarray(of_cluster, dtype=np.int64).T
        spans = np.asarray(list(_joined(low - _NEAR_MS, high + _NEAR_MS)), dtype=np.int64)
        at = np.minimum(np.searchsorted(spans[:, 1], first), len(spans) - 1)
        is_near |= (clusters == cluster) & (first <= spans[at, 1]) & (last >= spans[at, 0])
    return rows.filter(pa.array(is_near))


class _Log:
    """What a broker was sent, as its log tells. ``sent``: by broker of its cluster; ``unread``: files of
    which some lines could not be read; ``registered``: the brokers that the metadata log names.
    """

    def __init__(
        self,
        sent: Mapping[int, Sequence[_Sent]],
        broker_id: int,
        unread: Set[str],
        registered: Set[int],
    ) -> None:
        self._sent = [each for each in sent.get(broker_id, ()) if each.file not in unread]
        self._has_all = broker_id in registered and registered <= sent.keys()
        self._of_client: defaultdict[_Client, list[Ids]] = defaultdict(list)
        for each in chain.from_iterable(sent.values()):
            self._of_client[each.client] += each.ids

    def lacking(self, quiet: Sequence[Range]) -> Iterator[Range]:
        """Those of the times without a line, in order, of which requests are missing."""
        lows = [each.low_ms for each in quiet]
        parts: list[defaultdict[_Connection, list[_Sent]]] = [
            defaultdict(list) for _ in range(len(quiet) + 1)
        ]
        for each in self._sent:
            parts[bisect_left(lows, each.last_ms)][each.client_id, each.connection].append(each)
        for silence, before, after in zip(quiet, parts, parts[1:], strict=False):
            if any(self._lacks(silence, before[each], after[each]) for each in before.keys() & after.keys()):
                yield silence

    def _lacks(self, silence: Range, before: Sequence[_Sent], after: Sequence[_Sent]) -> bool:
        """Whether requests of a connection are missing, which has these rows before and after it."""
        before = [each for each in before if each.last_ms >= silence.low_ms - _NEAR_MS]
        after = [each for each in after if each.first_ms <= silence.high_ms + _NEAR_MS]
        if not before or not after:
            return False
        software = next((each.software for each in (*before, *after) if each.software), None)
        if software is None or is_java(software):
            numbers = merged(self._of_client[before[0].client]) if self._has_all else []
        else:
            numbers = merged(ids for each in (*before, *after) for ids in each.ids)
        sides = _Side.of(before), _Side.of(after)
        if any(each.lasts_ms < _LASTS_MS or _lacking(numbers, each.first, each.last) for each in sides):
            return False
        missing = _lacking(numbers, sides[0].last + 1, sides[1].first - 1)
        lasted_ms = min(each.first_ms for each in after) - max(each.last_ms for each in before)
        return missing >= max(_MANY, min(each.rate for each in sides) * lasted_ms * _PART)


class _Side(NamedTuple):
    """The first and the last number of some rows of a connection, and how long these lasted."""

    first: int
    last: int
    lasts_ms: int

    @classmethod
    def of(cls, rows: Sequence[_Sent]) -> _Side:
        return cls(
            min(each.ids[0][0] for each in rows),
            max(each.ids[-1][1] for each in rows),
            max(each.last_ms for each in rows) - min(each.first_ms for each in rows),
        )

    @property
    def rate(self) -> float:
        """How many numbers the client used in a millisecond."""
        return (self.last - self.first) / self.lasts_ms


def _lacking(numbers: Sequence[Ids], first: int, last: int) -> int:
    """How many of the numbers from a first to a last one are missing."""
    within = ((max(first, low), min(last, high)) for low, high in numbers if low <= last and high >= first)
    return max(0, last - first + 1) - count(within)
