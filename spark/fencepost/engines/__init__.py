"""Where the work of a run is done: in this process, or spread by Spark.

The work itself is the same functions over Arrow, whoever calls them. A session of Spark costs more CPU before
its first task than an hour of a small cluster's logs; those of a large cluster do not fit into one process.
So the size of the evidence decides (:func:`choose`), and both give the same rows.
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
"""What a task does: rows of tables, in any order."""

Replay = Callable[[str, Mapping[str, pa.Table]], Iterable[tuple[Table, pa.Table]]]
"""What is done with one entity (its name) and all its evidence (by name): rows of tables."""

Change = Callable[[pa.Table], pa.Table]
"""What is done with rows, however many at a time."""

_log = logging.getLogger(__name__)

_PART_BYTES = 8 << 20
"""So many bytes of tables are some 300 MB while they are replayed."""

_MANY_BYTES = 128 << 20
MANY_ROWS = 1_000_000
"""From so many on a session of Spark plans for many rows: it compiles code, and spreads what it shuffles."""

Sessions = Callable[..., "SparkSession"]
"""Gives a session; ``small`` as ``fencepost.session.spark_session`` takes it."""


@dataclass(frozen=True)
class Target:
    """A table, and what is known of the rows that are to be appended to it: as for ``Engine.append_new``."""

    table: Table
    within: Where
    distinct: bool = False


@dataclass(frozen=True)
class AppendResult:
    """What became of some tasks: how many rows of each table are ``added``, by its name, and what the tasks
    ``told``."""

    added: Mapping[str, int]
    told: pa.Table


class Engine(Protocol):
    """What the steps of a run ask for."""

    name: str
    parallelism: int
    """Into how many parts work is worth being cut: of each part everything is in memory at once."""

    def spread(self, tasks: Sequence[T], work: Work[T], tables: Sequence[Table]) -> Mapping[str, Rows]:
        """The rows that all tasks give, by the table's name; every task is done once."""

    def spread_into(
        self, tasks: Sequence[T], work: Work[T], targets: Sequence[Target], told: Table
    ) -> Iterator[AppendResult]:
        """Do every task once, and append the rows that are new to their tables, as ``append_new`` does.

        What tasks give of ``told`` is few; it comes back when all other rows of these tasks are in their
        tables. There are as many commits as memory needs.
        """

    def scan(self, table: Table, columns: Sequence[str] = (), where: Where | None = None) -> Rows:
        """``columns`` (all, if none is named) of the rows of a table that ``where`` chooses."""

    def map(self, rows: Rows, change: Change, schema: pa.Schema) -> Rows:
        """What ``change`` makes of the rows, in this Arrow schema; it is given some of them at a time."""

    def replay(
        self, evidence: dict[str, list[Rows]], replay: Replay, tables: Sequence[Table]
    ) -> Mapping[str, Rows]:
        """The rows that ``replay`` gives, by the table's name; called once for each entity.

        ``evidence``: rows by name, each with the column ``entity`` (string) that tells whose they are. It may
        be emptied, so that nothing is held that has been replayed.
        """

    def keep(self, rows: Rows) -> Rows:
        """The same rows, made once however often they are used."""

    def union(self, parts: Sequence[Rows]) -> Rows:
        """The rows of all parts."""

    def append_new(self, table: Table, rows: Rows, within: Where, *, distinct: bool = False) -> int:
        """Append the rows whose key the table does not hold yet, once each; gives back how many.

        Keys compare null-safely. ``within`` is a condition on the table's columns that every row is known to
        meet: rows outside it are not compared, which spares most files of a large table. ``distinct`` says
        that no key is twice in ``rows``, which spares sorting it.
        """

    def replace(self, table: Table, rows: Rows, where: Where | None = None) -> int:
        """Make ``rows`` the content of the table, or of what ``where`` chooses of it, in one commit.

        Gives back how many rows the table has then.
        """

    def collect(self, rows: Rows) -> pa.Table:
        """The rows, here. For what is few."""


def on_engine(engine: Engine, table: Table, rows: pa.Table) -> Rows:
    """Rows of a table that are here, as rows of an engine."""
    return engine.spread([rows], lambda each: iter((table, of) for of in each.to_batches()), [table])[
        table.name
    ]


def why_spark(settings: Settings, size: int, limit: int, unit: str) -> str | None:
    """Why work of this size is Spark's to do; None where it is this process's. The one place that decides."""
    if settings.spark_is_remote:
        return f"spark.master is {settings.spark['spark.master']}"
    if size > limit:
        return f"{size:,} {unit} are more than {limit:,}"
    return None


def choose(settings: Settings, catalog: Catalog, session: Sessions, size: int, what: str) -> Engine:
    """The engine for work on ``size`` bytes of evidence; ``what`` it is, for the log."""
    parts = 1 + size // _PART_BYTES
    reason = why_spark(settings, size, settings.in_process_mb << 20, "bytes of evidence")
    if reason is None:
        from fencepost.engines.process import ProcessEngine

        _log.debug("%s: in this process (%.1f MB)", what, size / 1e6)
        return ProcessEngine(catalog, parts)
    from fencepost.engines.spark import SparkEngine

    _log.info("%s: by Spark, because %s", what, reason)
    return SparkEngine(session(small=size < _MANY_BYTES), catalog, parts)
