"""The view of the evidence that a chapter has, or a rebuild of all history: every protocol reads bronze
through it.

It is an engine that reads in its own way and works like the one below it. What is read passes through it in
this order: rows that are held in memory for many chapters, from where on evidence is kept, up to when it is
read, where it begins, the names of logs, and clocks that were set back. What several protocols read is read
once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain

import pyarrow as pa

from fencepost.conditions import Where, values_of
from fencepost.conditions.arrow import filter_rows
from fencepost.engines import Engine, Rows, tasks
from fencepost.engines.delegating import DelegatingEngine
from fencepost.replay.borders import Borders
from fencepost.replay.held_rows import HeldRows
from fencepost.replay.keys import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from fencepost.replay.line_times import LineTimes, as_lasting, line_times
from fencepost.replay.log_begins import Begins
from fencepost.replay.log_names import Names, current_names, is_renamed, renamed
from fencepost.replay.scan import Scan
from fencepost.replay.time_bounds import Bounds
from fencepost.tables import RECORDS, REQUESTS, Table
from fencepost.words import counted

_COORDINATORS = frozenset({OFFSETS_TOPIC, TRANSACTIONS_TOPIC})

CACHED_BYTES = 32 << 20
"""If the evidence takes more bytes of files, nothing is kept: then reading it is most of the work."""

_Cache = dict[tuple[str, bool], pa.Table]


@dataclass
class EvidenceView(DelegatingEngine):
    """``below``: the engine that does the work. ``held``: bronze in memory. ``bounds``: up to when evidence
    is read, None: all of it. ``begins``: where it begins, None: at the beginning. ``names``: the names of
    logs. ``line_times``: what times of lines are worth. ``cache``: what was read, None: nothing is kept.
    ``borders``: from where on evidence is kept, None: nothing before that is read anyway.
    """

    below: Engine
    held: HeldRows | None = None
    bounds: Bounds | None = None
    begins: Begins | None = None
    names: Names = field(default_factory=dict)
    line_times: LineTimes = field(default_factory=LineTimes)
    cache: _Cache | None = None
    borders: Borders | None = None

    def __post_init__(self) -> None:
        """Work like the engine below."""
        super().__init__(self.below)

    def with_line_times(self, tolerance_ms: int) -> EvidenceView:
        """The view that knows which times passed twice; ``tolerance_ms``: how late a line may be written."""
        return replace(self, line_times=line_times(self, tolerance_ms))

    def with_cache(self, size: int) -> EvidenceView:
        """The view that reads each table once, if its evidence takes few bytes of files (``size``)."""
        most = CACHED_BYTES if self.is_here else tasks.TASK_BYTES
        return replace(self, cache={}) if size <= most else self

    def scan(self, table: Table, columns: Sequence[str] = (), where: Where | None = None) -> Rows:
        """Rows of a table."""
        return self._once(table, tuple(columns) or tuple(table.columns), where)

    def explain(self, table: Table) -> str:
        """Why a scan of the table gives the rows that it gives."""
        return "\n".join([f"{table.name}:", *(f"  {each}" for each in self._facts(table))])

    def _facts(self, table: Table) -> Iterator[str]:
        of_time = [
            each.explain(table) for each in (self.begins, self.borders, self.bounds) if each is not None
        ]
        yield from (each for each in of_time if each is not None)
        if not any(of_time):
            yield "all rows"
        if self.names and is_renamed(table, table.columns):
            yield "lines in the files in which they are now"
        if self.line_times and table is REQUESTS:
            passed = sum(map(len, self.line_times.values()))
            yield f"requests of {counted(passed, 'time')} that passed twice as if they had lasted for these"
        if self.line_times.inexact and table is REQUESTS:
            brokers = ", ".join(
                f"{broker} of {cluster}" for cluster, broker in sorted(self.line_times.inexact)
            )
            yield f"requests as if they had lasted longer, of brokers whose lines tell no moment: {brokers}"
        if self.held is not None and self.held.has(table):
            yield "from rows in memory, read for several chapters"
        if self.cache is not None:
            yield "read once for all protocols"

    def _once(self, table: Table, columns: tuple[str, ...], where: Where | None) -> Rows:
        """Read a table once. Scans that name coordinators' topics also get the compacted part of their logs,
        so those rows are kept apart.
        """
        of_coordinators = _names_coordinators(where)
        if self.cache is None or of_coordinators is None or (table is RECORDS and not of_coordinators):
            return self._seen(table, columns, where)
        key = table.name, of_coordinators
        if key not in self.cache:
            of_topics = [{"topic": _COORDINATORS}] if of_coordinators else None
            self.cache[key] = self.collect(self._seen(table, tuple(table.columns), of_topics))
        # only columns that the scan needs are copied
        needed = dict.fromkeys((*columns, *chain.from_iterable(where or ())))
        return filter_rows(self.cache[key].select(list(needed)), where).select(list(columns))

    def _seen(self, table: Table, columns: tuple[str, ...], where: Where | None) -> Rows:
        engine = self.below
        read: Scan = engine.scan if self.held is None else self.held.scan
        if self.borders is not None:
            read = partial(self.borders.scan, engine, read)
        if self.bounds is not None:
            read = partial(self.bounds.scan, engine, read)
        if self.begins is not None:
            read = partial(self.begins.scan, engine, read)
        read = as_lasting(engine, self.line_times, renamed(engine, self.names, read))
        return read(table, columns, where)


def with_current_names(engine: Engine) -> EvidenceView:
    """All evidence, with the current names of logs."""
    return EvidenceView(engine, names=current_names(engine))


def _names_coordinators(where: Where | None) -> bool | None:
    """True if all conditions name coordinators' topics, False if none names a topic, None otherwise."""
    named = [values_of(each, "topic") for each in where or ()]
    if all(each is None for each in named):
        return False
    return True if all(each is not None and each <= _COORDINATORS for each in named) else None
