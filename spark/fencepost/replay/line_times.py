"""What the times of request logs' lines are worth: brokers' clocks that were set back while they ran, times
of whole seconds, and times of programs that collected the lines.

The lines of one file of a request log are in the order in which they were written. If their times fall by
more than a line may be late, and stay low, the clock was set back, and the time from the lower to the higher
value passed twice. (Of a single late line the next ones are at the higher time again. But a connection has
one request at a time: where its own next line has a lower time, the clock was set back, be it for a moment.)
Nothing tells which of its two passes a time in this range is of. So a rebuild sees a request that touches the
range as one that lasted for all of it: then it overlaps every record and every other request of that time,
and no time orders them. The order of a connection, of offsets and of epochs still does.

A step that shows in no line (nobody sent a request just before it and just after it) is not noticed.

In the same way a request whose line has no fractions of a second may have lasted for that second, and one
whose line was dated by others for the minute before (LATEST_MS).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fencepost.conditions import Where
from fencepost.engines import Engine, Rows
from fencepost.replay.entities import distinct, tuples
from fencepost.replay.logs import Longs, longs
from fencepost.replay.requests import LATEST_MS
from fencepost.replay.scan import Scan
from fencepost.tables import REQUESTS, Table
from fencepost.tables.clocks import DATED_BY_OTHERS, WENT_BACK, WHOLE_SECONDS

_HEARTBEAT_MS = 2_000
"""How often a broker sends a heartbeat to the controller, which is logged in an idle cluster, too."""
_DENSER = 3
"""How many times as many lines may have been written before a step as after it."""
_LINE = (
    "cluster", "broker_id", "file", "position", "logged_at_ms", "total_time_ms", "connection",
    "correlation_id",
)  # fmt: skip
_TIMES = ("cluster", "broker_id", "logged_at_ms", "total_time_ms")
_PIECE = pa.schema(
    [
        ("cluster", pa.string()),
        ("broker_id", pa.int32()),
        ("file", pa.string()),
        *((name, pa.int64()) for name in ("first", "last", "least_ms", "greatest_ms")),
        ("twice", pa.bool_()),
        ("early", pa.int64()),
        ("whole", pa.bool_()),
    ]
)
"""Lines of one file, from a first to a last position: the least and the greatest time of them, or (``twice``)
of a time that passed twice. ``early``: how many of them show that others dated them. ``whole``: whether all
were logged at whole seconds.
"""
_SECOND_MS = 1_000
_ROUNDED_MS = 2
"""By how much times may be rounded."""
_MANY = 4
"""How many requests have to arrive too early. A clock that is set back does that to one of a connection."""


class Range(NamedTuple):
    """A time that passed twice, both ends included."""

    low_ms: int
    high_ms: int


Broker = tuple[str, int]
"""Cluster and broker id."""

_Piece = tuple[int, int, Range]
"""The first and the last position of some lines of a file, and their least and greatest time."""


class Finding(NamedTuple):
    """What is wrong with the times of a broker's lines from a first to a last moment (``tables.clocks``)."""

    broker: Broker
    finding: str
    first_ms: int
    last_ms: int


class LineTimes(dict[Broker, Sequence[Range]]):
    """Broker -> the times that passed twice by its clock, in order.

    ``dated_by_others``: the brokers whose lines were dated by a program that collected them: requests of a
    connection seem to arrive before the answer to the one before was logged, which no broker lets happen
    (Processor.processCompletedSends). ``in_seconds``: those whose lines have no fractions of a second.
    ``findings``: all of these.
    """

    def __init__(self, findings: Iterable[Finding] = ()) -> None:
        """Without arguments, clocks that are known to be right."""
        self.findings = tuple(findings)
        twice: defaultdict[Broker, list[Range]] = defaultdict(list)
        for each in self.findings:
            if each.finding == WENT_BACK:
                twice[each.broker].append(Range(each.first_ms, each.last_ms))
        super().__init__(twice)
        self.dated_by_others, self.in_seconds = self._of(DATED_BY_OTHERS), self._of(WHOLE_SECONDS)
        self.inexact = self.dated_by_others | self.in_seconds

    def _of(self, finding: str) -> frozenset[Broker]:
        return frozenset(each.broker for each in self.findings if each.finding == finding)

    def of(self, cluster: str) -> LineTimesOfCluster:
        """The same of the brokers of one cluster."""
        return LineTimesOfCluster(
            {broker: each for (name, broker), each in self.items() if name == cluster},
            (broker for name, broker in self.inexact if name == cluster),
        )


class LineTimesOfCluster(dict[int, Sequence[Range]]):
    """Broker id -> the times that passed twice by its clock, in order. ``inexact``: the brokers whose lines
    were dated by others or in whole seconds.
    """

    def __init__(
        self, passed_twice: Mapping[int, Sequence[Range]] | None = None, inexact: Iterable[int] = ()
    ) -> None:
        """Without arguments, clocks that are known to be right."""
        super().__init__(passed_twice or {})
        self._inexact = frozenset(inexact)

    def is_steady(self, broker_id: int, from_ms: int, to_ms: int) -> bool:
        """Whether no time between these passed twice, and lines tell when they were written: then their
        difference is how long it took.
        """
        passed = (each.low_ms <= to_ms and each.high_ms >= from_ms for each in self.get(broker_id, ()))
        return broker_id not in self._inexact and not any(passed)

    def range_of(self, broker_id: int | None, ms: int) -> Range:
        """The earliest and the latest moment of a time: a whole range if it passed twice."""
        for each in () if broker_id is None else self.get(broker_id, ()):
            if each.low_ms <= ms <= each.high_ms:
                return each
        return Range(ms, ms)


def as_lasting(engine: Engine, times: LineTimes, read: Scan) -> Scan:
    """Reads a request of a time that passed twice as one that lasted for that time, one that was logged
    without fractions of a second as one that lasted for that second, and one whose line others dated as one
    that lasted for the minute before; ``read`` reads it as it was logged.
    """

    def scan(table: Table, columns: tuple[str, ...], where: Where | None) -> Rows:
        told = {"logged_at_ms", "total_time_ms"} & {*columns}
        if table is not REQUESTS or not told or not times.findings:
            return read(table, columns, where)
        rows = read(table, tuple(dict.fromkeys((*columns, *_TIMES))), where)
        return engine.map(rows, partial(_lasting, times, columns), table.schema_of(columns))

    return scan


def line_times(engine: Engine, tolerance_ms: int) -> LineTimes:
    """The times that passed twice, and who dated lines, as the lines of ``bronze.requests`` show it."""
    pieces = engine.map(engine.scan(REQUESTS, _LINE), partial(_pieces, tolerance_ms), _PIECE)
    twice: defaultdict[Broker, list[Range]] = defaultdict(list)
    files: defaultdict[Broker, defaultdict[str, list[_Piece]]] = defaultdict(lambda: defaultdict(list))
    early, has_fractions = Counter[Broker](), set[Broker]()
    for cluster, broker_id, file, first, last, *times, is_twice, count, is_whole in tuples(
        engine.collect(pieces)
    ):
        broker = cluster, broker_id
        early[broker] += count
        if not is_whole:
            has_fractions.add(broker)
        if is_twice:
            twice[broker].append(Range(*times))
        else:
            files[broker][file].append((first, last, Range(*times)))
    found = []
    for broker, of_files in files.items():
        twice[broker] += _within_files(of_files.values(), tolerance_ms)
        twice[broker] += _between_files(of_files.values(), tolerance_ms)
        passed = _merged(map(_widened, _merged(twice[broker])))
        found += [Finding(broker, WENT_BACK, *each) for each in passed]
        of_log = _span(chain.from_iterable(of_files.values()))
        if early[broker] >= _MANY:
            found.append(Finding(broker, DATED_BY_OTHERS, *of_log))
        if broker not in has_fractions:
            found.append(Finding(broker, WHOLE_SECONDS, *of_log))
    return LineTimes(found)


def _pieces(tolerance_ms: int, lines: pa.Table) -> pa.Table:
    """``_PIECE`` of some lines (``_LINE``)."""
    found: list[tuple[Any, ...]] = []
    logs, number = distinct([lines[name] for name in _LINE[:3]]) if lines.num_rows else ([], pa.array([]))
    of_log = np.asarray(number, dtype=np.int64)
    position, logged = longs(lines["position"]), longs(lines["logged_at_ms"])
    is_whole = np.isin(of_log, np.unique(of_log[logged % _SECOND_MS > 0]), invert=True)
    fell_back, is_early = _told_by_connections(lines, of_log, is_whole, tolerance_ms)
    order = np.lexsort((position, of_log))
    for log, of_file in zip(logs, np.split(order, np.flatnonzero(np.diff(of_log[order])) + 1), strict=False):
        ms = logged[of_file]
        newest_ms = np.maximum.accumulate(ms)
        low = np.flatnonzero(ms < newest_ms - tolerance_ms)
        fell = _stays_low(ms, newest_ms, low, fell_back[of_file])
        ranges = _merged(map(Range, ms[fell].tolist(), newest_ms[fell].tolist()))
        places = int(position[of_file[0]]), int(position[of_file[-1]])
        told = int(is_early[of_file].sum()), bool(is_whole[of_file[0]])
        found.append((*log, *places, int(ms.min()), int(newest_ms[-1]), False, *told))
        found += [(*log, *places, *each, True, 0, told[1]) for each in ranges]
    columns = [*zip(*found, strict=True)] if found else [()] * len(_PIECE)
    return pa.Table.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, _PIECE, strict=True)], schema=_PIECE
    )


def _told_by_connections(
    lines: pa.Table, of_log: Longs, is_whole: NDArray[np.bool_], tolerance_ms: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which lines have a lower time than the line before of their connection, whose request came earlier.
    Which seem to be of a request that arrived before that line was logged. ``is_whole``: whether a line was
    logged at a whole second.
    """
    connection = pc.fill_null(pc.dictionary_encode(lines["connection"]).combine_chunks().indices, -1)
    place, number = longs(connection), longs(pc.fill_null(lines["correlation_id"], -1))
    logged, took_ms = longs(lines["logged_at_ms"]), lines["total_time_ms"].to_numpy()
    order = np.lexsort((longs(lines["position"]), place, of_log))
    one, other = order[:-1], order[1:]
    follows = (of_log[one] == of_log[other]) & (place[one] == place[other]) & (place[other] >= 0)
    one, other = one[follows], other[follows]
    fell, early = np.zeros((2, len(order)), dtype=np.bool_)
    fell[other] = (number[one] < number[other]) & (logged[other] < logged[one] - tolerance_ms)
    latest = logged[other] - took_ms[other] + np.where(is_whole[other], _SECOND_MS, _ROUNDED_MS)
    # of a clock that was set back the times fall
    early[other] = (latest < logged[one]) & (logged[other] >= logged[one])
    return fell, early


def _stays_low(ms: Longs, newest_ms: Longs, low: Longs, fell_back: NDArray[np.bool_]) -> Longs:
    """Those of the ``low`` lines that are no late lines: about as many of them in a row as were written in
    that time before, or among them one that ``fell_back`` on its connection.
    """
    runs = np.split(low, np.flatnonzero(np.diff(low) > 1) + 1) if len(low) else []
    kept = [
        run
        for run in runs
        if fell_back[run].any()
        or _DENSER * len(run) >= run[0] - np.searchsorted(newest_ms[: run[0]], ms[run].min())
    ]
    return np.concatenate(kept) if kept else low[:0]


def _within_files(files: Iterable[Sequence[_Piece]], tolerance_ms: int) -> Iterator[Range]:
    """The times that passed twice between pieces of one file, unless these have lines in between each
    other's.
    """
    for pieces in files:
        newest_ms, end = -math.inf, -1
        for first, last, each in sorted(pieces):
            if first > end and each.low_ms < newest_ms - tolerance_ms:
                yield Range(each.low_ms, int(newest_ms))
            newest_ms, end = max(newest_ms, each.high_ms), max(end, last)


def _between_files(files: Iterable[Sequence[_Piece]], tolerance_ms: int) -> Iterator[Range]:
    """The times that passed twice between the files of a log, which follow one another."""
    newest_ms = -math.inf
    for each in sorted(map(_span, files)):
        if each.low_ms < newest_ms - tolerance_ms:
            yield Range(each.low_ms, int(min(newest_ms, each.high_ms)))
        newest_ms = max(newest_ms, each.high_ms)


def _span(pieces: Iterable[_Piece]) -> Range:
    """The least and the greatest time of pieces of files."""
    low, high = zip(*(each for *_, each in pieces), strict=True)
    return Range(min(low), max(high))


def _widened(seen: Range) -> Range:
    """The time that passed twice, of which the lines show only a part: the last request before the step, and
    the first one after it, were logged some time before and after.
    """
    margin_ms = min(seen.high_ms - seen.low_ms, _HEARTBEAT_MS)
    return Range(seen.low_ms - margin_ms, seen.high_ms + margin_ms)


def _merged(ranges: Iterable[Range]) -> Iterator[Range]:
    before: Range | None = None
    for each in sorted(ranges):
        if before is not None and each.low_ms <= before.high_ms:
            before = Range(before.low_ms, max(before.high_ms, each.high_ms))
            continue
        if before is not None:
            yield before
        before = each
    if before is not None:
        yield before


def _lasting(times: LineTimes, columns: Sequence[str], rows: pa.Table) -> pa.Table:
    """The rows, those whose time tells no moment as requests that lasted for all that it may have been."""
    if not rows.num_rows:
        return rows.select(list(columns))
    brokers, number = distinct([rows["cluster"], rows["broker_id"]])
    of_broker = np.asarray(number, dtype=np.int64)
    until = longs(rows["logged_at_ms"]).copy()
    since = until - rows["total_time_ms"].to_numpy()
    for at, broker in enumerate(brokers):
        if broker in times.in_seconds:
            until[of_broker == at] += _SECOND_MS - 1
        if broker in times.dated_by_others:
            since[of_broker == at] -= LATEST_MS
        for low_ms, high_ms in times.get((broker[0], broker[1]), ()):
            touches: Longs = (of_broker == at) & (until >= low_ms) & (since <= high_ms)
            until = np.where(touches, np.maximum(until, high_ms), until)
            since = np.where(touches, np.minimum(since, low_ms), since)
    for name, values in (("logged_at_ms", until), ("total_time_ms", until - since)):
        place = rows.column_names.index(name)
        kind = rows.schema.field(name).type
        rows = rows.set_column(place, name, pc.cast(pa.array(values), kind))
    return rows.select(list(columns))
