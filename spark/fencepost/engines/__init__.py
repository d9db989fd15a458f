"""The engine that does the work of a run: in this process, or in tasks on this machine's cores or on Spark.

The work itself is the same functions over Arrow everywhere, and all give the same rows. Spark costs more CPU
before its first task than an hour of a small cluster's logs; those of a large cluster are more than one
process should do. So the configuration decides or, without one, the size of the evidence (:func:`choose`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import pyarrow as pa

from fencepost.conditions import Where
from fencepost.settings import RunOn, Settings
from fencepost.tables import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
Rows = Any
"""Rows of one table on an engine: an Arrow table in this process, or parts of files that are read later."""

Work = Callable[[T], Iterator[tuple[Table, pa.RecordBatch]]]
"""The work on one task: it yields rows of tables, in any order."""

Replay = Callable[[str, Mapping[str, pa.Table]], Iterable[tuple[Table, pa.Table]]]
"""The replay of one entity, given its name and all its evidence (by name): it yields rows of tables."""

Change = Callable[[pa.Table], pa.Table]
"""A function of rows that gives the same result however the rows are cut into pieces."""

PART_BYTES = 8 << 20
"""The bytes of tables in one part of the work; while they are replayed they take some 300 MB of memory."""

MANY_ROWS = 1_000_000
"""From so many rows on, a session of Spark is set up for many: it compiles code, and shuffles into more
parts.
"""

Sessions = Callable[..., "SparkSession"]
"""Opens a session; ``small`` is as in ``fencepost.session.spark_session``."""


@dataclass(frozen=True)
class Compared:
    """Rows with equal keys are compared in a ``column``. ``report`` makes rows of the reported table of those
    that differ from what was known before. It is given both, row by row: whole rows, and of what was known
    the key, ``column`` and the columns ``beside``.
    """

    column: str
    beside: tuple[str, ...]
    report: Callable[[pa.Table, pa.Table], pa.RecordBatch]


@dataclass(frozen=True)
class Target:
    """A table to which rows of tasks are appended. ``within`` returns, for some of the tasks, a condition on
    the table's columns that all their rows are known to meet. ``distinct``: no key is twice in the rows.
    ``times``: returns, for some of the tasks and the first and last time of rows of theirs (in the table's
    ``dated_by``), the first and last time of stored rows that may have their keys; None: any time.
    ``compared``: what rows of one task with a key that is known are compared in; None: in nothing.
    """

    table: Table
    within: Callable[[Sequence[Any]], Where]
    distinct: bool = False
    times: Callable[[Sequence[Any], int, int], tuple[int, int]] | None = None
    compared: Compared | None = None

    @property
    def known_columns(self) -> tuple[str, ...]:
        """The columns that are read of rows which are known already."""
        of = self.compared
        return self.table.key if of is None else (*self.table.key, of.column, *of.beside)


@dataclass(frozen=True)
class AppendResult:
    """The result of some tasks: how many rows were ``added`` to each table, by its name, and the rows that
    the tasks ``reported``.
    """

    added: Mapping[str, int]
    reported: pa.Table


class Engine(Protocol):
    """The operations on rows that the steps of a run need."""

    name: str
    is_here: bool
    """Whether all is done in this process."""
    parallelism: int
    """Into how many parts work should be cut: all of a part is in memory at once."""

    def spread(self, tasks: Sequence[T], work: Work[T], tables: Sequence[Table]) -> Mapping[str, Rows]:
        """The rows that all tasks yield, by the table's name; every task is run once."""

    def spread_into(
        self, tasks: Sequence[T], work: Work[T], targets: Sequence[Target], report: Table
    ) -> Iterator[AppendResult]:
        """Run every task once, and append those of their rows whose key the tables do not have yet, once
        each. Nulls in keys are equal.

        Rows of the table ``report`` are not appended but returned, once all other rows of the same tasks are
        in their tables; they must be few. Rows are committed as often as memory needs.
        """

    def scan(self, table: Table, columns: Sequence[str] = (), where: Where | None = None) -> Rows:
        """``columns`` (all, if none is named) of the rows of a table that ``where`` chooses."""

    def map(self, rows: Rows, change: Change, schema: pa.Schema) -> Rows:
        """The rows that ``change`` makes of these rows, in this Arrow schema; it gets some rows at a time."""

    def replay(
        self, evidence: dict[str, list[Rows]], replay: Replay, tables: Sequence[Table]
    ) -> Mapping[str, Rows]:
        """The rows that ``replay`` yields, by the table's name; it is called once for each entity.

        ``evidence``: rows by name; their column ``entity`` (string) names the entity that they belong to. The
        engine may empty the dict, so that rows are freed once they are replayed.
        """

    def keep(self, rows: Rows) -> Rows:
        """The same rows, computed once however often they are used."""

    def union(self, parts: Sequence[Rows]) -> Rows:
        """The rows of all parts."""

    def replace(self, table: Table, rows: Rows, where: Where | None = None) -> int:
        """Make ``rows`` the content of the table, or of what ``where`` chooses of it, in one commit.

        Returns how many rows the table then has.
        """

    def collect(self, rows: Rows) -> pa.Table:
        """The rows as an Arrow table in this process; they must be few."""


def on_engine(engine: Engine, table: Table, rows: pa.Table) -> Rows:
    """Rows of a table in this process, as rows of an engine."""
    return engine.spread([rows], lambda each: iter((table, of) for of in each.to_batches()), [table])[
        table.name
    ]


@dataclass(frozen=True)
class Choice:
    """Where the work of a step is done: a value of ``[engine] run_on`` but ``auto``, and why, in words."""

    run_on: RunOn
    reason: str


def choose(settings: Settings, size: int, limit: int, unit: str) -> Choice:
    """Where work of this size is done; ``limit`` is what one process does alone. The only place that decides
    it.
    """
    if settings.run_on is not None and settings.run_on != "auto":
        return Choice(settings.run_on, f'[engine] run_on is "{settings.run_on}"')
    if settings.spark_is_remote:
        return Choice("spark", f"spark.master is {settings.spark['spark.master']}")
    if size <= limit:
        return Choice("process", f"{size:,} {unit} are few")
    if available_cores() == 1:
        return Choice("process", "this machine has one core")
    return Choice("processes", f"{size:,} {unit} are more than {limit:,}")


def needs_spark(settings: Settings) -> bool:
    """Whether even the smallest work is done on Spark."""
    return choose(settings, 0, 0, "").run_on == "spark"


def available_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0))
