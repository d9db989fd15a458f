"""The engines that do the work of a run: in this process, or spread over tasks by Spark.

The work itself is the same functions over Arrow on both engines, and both give the same rows. A session of
Spark costs more CPU before its first task than an hour of a small cluster's logs; those of a large cluster
do not fit into one process. So the size of the evidence decides (:func:`choose`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import pyarrow as pa
from pyiceberg.catalog import Catalog

from fencepost.lake import Where
from fencepost.settings import Settings
from fencepost.tables import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
Rows = Any
"""Rows of one table on an engine: an Arrow table in this process, a DataFrame in Spark."""

Work = Callable[[T], Iterator[tuple[Table, pa.RecordBatch]]]
"""The work on one task: it yields rows of tables, in any order."""

Replay = Callable[[str, Mapping[str, pa.Table]], Iterable[tuple[Table, pa.Table]]]
"""The replay of one entity, given its name and all its evidence (by name): it yields rows of tables."""

Change = Callable[[pa.Table], pa.Table]
"""A function of rows that gives the same result however the rows are cut into pieces."""

_log = logging.getLogger(__name__)

_PART_BYTES = 8 << 20
"""The bytes of tables in one part of the work; while they are replayed they take some 300 MB of memory."""

_MANY_BYTES = 128 << 20
MANY_ROWS = 1_000_000
"""From so many rows on, a session of Spark is set up for many: it compiles code, and shuffles into more
parts.
"""

Sessions = Callable[..., "SparkSession"]
"""Opens a session; ``small`` is as in ``fencepost.session.spark_session``."""


@dataclass(frozen=True)
class Target:
    """A table to which rows are appended; ``within`` and ``distinct`` are as in ``Engine.append_new``."""

    table: Table
    within: Where
    distinct: bool = False


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
    parallelism: int
    """Into how many parts work should be cut: all of a part is in memory at once."""

    def spread(self, tasks: Sequence[T], work: Work[T], tables: Sequence[Table]) -> Mapping[str, Rows]:
        """The rows that all tasks yield, by the table's name; every task is run once."""

    def spread_into(
        self, tasks: Sequence[T], work: Work[T], targets: Sequence[Target], report: Table
    ) -> Iterator[AppendResult]:
        """Run every task once, and append those of their rows that are new to the tables, as ``append_new``
        does.

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

    def append_new(self, table: Table, rows: Rows, within: Where, *, distinct: bool = False) -> int:
        """Append the rows whose key the table does not have yet, once each; returns how many were appended.

        Nulls in keys are equal. ``within`` is a condition on the table's columns that every row is known to
        meet: only stored rows that meet it are compared, so most files of a large table are not read.
        ``distinct`` says that no key is twice in ``rows``, which saves sorting them.
        """

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


def why_spark(settings: Settings, size: int, limit: int, unit: str) -> str | None:
    """Why Spark should do work of this size; None where this process should. The only place that
    decides it.
    """
    if settings.spark_is_remote:
        return f"spark.master is {settings.spark['spark.master']}"
    if size > limit:
        return f"{size:,} {unit} are more than {limit:,}"
    return None


def choose(settings: Settings, catalog: Catalog, session: Sessions, size: int, what: str) -> Engine:
    """Choose the engine for work on ``size`` bytes of evidence; ``what`` names the work in the log."""
    parts = 1 + size // _PART_BYTES
    reason = why_spark(settings, size, settings.in_process_mb << 20, "bytes of evidence")
    if reason is None:
        from fencepost.engines.process import ProcessEngine

        _log.debug("%s: in this process (%.1f MB)", what, size / 1e6)
        return ProcessEngine(catalog, parts)
    from fencepost.engines.spark import SparkEngine

    _log.info("%s: by Spark, because %s", what, reason)
    return SparkEngine(session(small=size < _MANY_BYTES), catalog, parts)
