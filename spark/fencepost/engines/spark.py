"""The engine on Spark: tasks and entities are spread over its executors, rows are DataFrames.

A task or a replay yields rows of several tables. Each batch goes through Spark as one value in Arrow's own
format, so every task runs once, and nothing becomes rows of the JVM before it is written.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import groupby
from operator import and_, itemgetter, or_
from typing import Any, cast

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from fencepost import lake
from fencepost.engines import AppendResult, Change, Replay, T, Target, Work
from fencepost.engines.entities import by_entity
from fencepost.engines.pieces import sliced
from fencepost.formats.arrow_stream import read, written
from fencepost.lake import AtLeast, Below, Where
from fencepost.tables import CHAPTER, Table

_PACKED = pa.schema([("name", pa.string()), ("rows", pa.binary())])
_OF_ENTITY = pa.schema([("entity", pa.string()), ("name", pa.string()), ("rows", pa.binary())])
_TASK = pa.schema([("task", pa.binary())])
_ROWS_AT_ONCE = 1 << 16
_BYTES_AT_ONCE = 16 << 20

Batches = Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]


class SparkEngine:
    """See :class:`fencepost.engines.Engine`; rows are DataFrames."""

    name = "spark"

    def __init__(self, spark: SparkSession, catalog: Catalog, parts: int = 1) -> None:
        self._spark, self._catalog = spark, catalog
        cores = spark.sparkContext.defaultParallelism
        self.parallelism = max(parts, 2 * cores)
        # each task takes a Python worker: little work should not take many
        self._replays = min(parts, 4 * cores)

    def spread(self, tasks: Sequence[T], work: Work[T], tables: Sequence[Table]) -> Mapping[str, DataFrame]:
        """The rows that all tasks yield, by the table's name."""
        pickled = pa.table({"task": [pickle.dumps(task) for task in tasks]}, schema=_TASK)
        task_rows = self._spark.createDataFrame(pickled).repartition(max(1, len(tasks)))

        def run(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
            for batch in batches:
                for task in batch["task"].to_pylist():
                    for table, rows in work(pickle.loads(task)):
                        yield from _packed(table.name, rows)

        return _unpacked(task_rows.mapInArrow(run, _ddl(_PACKED)).localCheckpoint(), tables)

    def spread_into(
        self, tasks: Sequence[T], work: Work[T], targets: Sequence[Target], report: Table
    ) -> Iterator[AppendResult]:
        """Append the new rows that all tasks yield, once all tasks are done. Until then executors keep the
        rows, on disk where memory is too small.
        """
        rows = self.spread(tasks, work, [*(each.table for each in targets), report])
        added = {
            each.table.name: self.append_new(
                each.table, rows[each.table.name], each.within, distinct=each.distinct
            )
            for each in targets
        }
        yield AppendResult(added, self.collect(rows[report.name]))

    def scan(self, table: Table, columns: Sequence[str] = (), where: Where | None = None) -> DataFrame:
        """Rows of a table."""
        rows = self._spark.table(table.name).select(*(columns or table.columns))
        return rows if where is None else rows.where(condition(where))

    def map(self, rows: DataFrame, change: Change, schema: pa.Schema) -> DataFrame:
        """The rows that ``change`` makes of these rows."""

        def run(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
            for batch in batches:
                yield from change(pa.Table.from_batches([batch])).cast(schema).to_batches()

        return rows.mapInArrow(run, _ddl(schema))

    def replay(
        self, evidence: dict[str, list[DataFrame]], replay: Replay, tables: Sequence[Table]
    ) -> Mapping[str, DataFrame]:
        """The rows that ``replay`` yields for all entities, by the table's name."""
        parts = [
            part.where("entity is not null").mapInArrow(_pack_entities(name), _ddl(_OF_ENTITY))
            for name, rows in evidence.items()
            for part in rows
        ]
        empty = {name: _empty(rows[0]) for name, rows in evidence.items()}
        shuffled = reduce(DataFrame.union, parts).repartition(self._replays, "entity")
        shuffled = shuffled.sortWithinPartitions("entity")
        replayed = shuffled.mapInArrow(_replay_each(replay, empty), _ddl(_PACKED)).localCheckpoint()
        return _unpacked(replayed, tables)

    def keep(self, rows: DataFrame) -> DataFrame:
        """The rows, stored beside the executors."""
        return rows.localCheckpoint()

    def union(self, parts: Sequence[DataFrame]) -> DataFrame:
        """The rows of all parts."""
        return reduce(DataFrame.unionByName, parts)

    def append_new(self, table: Table, rows: DataFrame, within: Where, *, distinct: bool = False) -> int:
        """Append the rows whose key the table does not have yet, once each."""
        before = lake.count(self._catalog, table)
        present = self._spark.table(table.name).where(condition(within))
        old = present.select([F.col(name).alias(f"__{name}") for name in table.key])
        same = reduce(and_, [F.col(name).eqNullSafe(F.col(f"__{name}")) for name in table.key])
        new = _aligned(rows, table)
        if not distinct:
            new = new.dropDuplicates(list(table.key))
        if before:
            new = new.join(old, same, "left_anti")
        new.writeTo(table.name).append()
        return lake.count(self._catalog, table) - before

    def replace(self, table: Table, rows: DataFrame, where: Where | None = None) -> int:
        """Make ``rows`` the content of the table, or of what ``where`` chooses of it."""
        chosen = F.lit(True) if where is None else condition(where)
        _aligned(rows, table).writeTo(table.name).overwrite(chosen)
        return lake.count(self._catalog, table)

    def collect(self, rows: DataFrame) -> pa.Table:
        """The rows, in this process."""
        return rows.toArrow()


def condition(where: Where) -> Column:
    """The condition as a column of Spark."""
    either = [reduce(and_, [_is(F.col(name), value) for name, value in each.items()]) for each in where]
    return reduce(or_, either, F.lit(False))


def _is(column: Column, value: Any) -> Column:
    if isinstance(value, AtLeast):
        return column >= value.value
    if isinstance(value, Below):
        below = column < value.value
        return below if value.least is None else (column >= value.least) & below
    if isinstance(value, frozenset):
        one_of = column.isin(*(value - {None}))
        return one_of | column.isNull() if None in value else one_of
    return column.eqNullSafe(value)


def _aligned(rows: DataFrame, table: Table) -> DataFrame:
    """Exactly the table's columns, in its order and types. Fails when one is missing.

    Rows without a chapter get the first one, 0: all of history may be one chapter.
    """
    if table.in_chapters and CHAPTER not in rows.columns:
        rows = rows.withColumn(CHAPTER, F.lit(0))
    return rows.select([F.col(name).cast(kind) for name, kind in table.stored.items()])


def _ddl(schema: pa.Schema) -> StructType:
    return from_arrow_schema(schema)


def _packed(name: str, rows: pa.RecordBatch | pa.Table) -> Iterator[pa.RecordBatch]:
    """Rows of one table packed into few values, each in Arrow's own format."""
    for first in range(0, rows.num_rows, _ROWS_AT_ONCE):
        yield pa.RecordBatch.from_pydict(
            {"name": [name], "rows": [written(rows.slice(first, _ROWS_AT_ONCE))]}, schema=_PACKED
        )


def _unpacked(packed: DataFrame, tables: Sequence[Table]) -> dict[str, DataFrame]:
    """The rows of each table in the packed values that tasks yielded."""
    return {
        table.name: packed.where(F.col("name") == table.name).mapInArrow(
            _rows_of(table.arrow_schema), _ddl(table.arrow_schema)
        )
        for table in tables
    }


def _rows_of(schema: pa.Schema) -> Batches:
    def unpack(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        for batch in batches:
            for packed in batch["rows"].to_pylist():
                yield from read(packed).select(schema.names).cast(schema).to_batches()

    return unpack


def _pack_entities(name: str) -> Batches:
    """Packs the rows of a batch into one value for each entity, or into several where it would be large."""

    def pack(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        for batch in batches:
            for entity, rows in by_entity({name: [pa.Table.from_batches([batch])]}):
                for piece in sliced(rows[name], _BYTES_AT_ONCE):
                    packed = {"entity": [entity], "name": [name], "rows": [written(piece)]}
                    yield pa.RecordBatch.from_pydict(packed, schema=_OF_ENTITY)

    return pack


def _replay_each(replay: Replay, empty: Mapping[str, pa.Table]) -> Batches:
    """Replays each entity, whose packed rows follow one another, and packs the rows that
    ``replay`` yields.
    """

    def pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, str, bytes]]:
        for batch in batches:
            yield from zip(*(batch[name].to_pylist() for name in _OF_ENTITY.names), strict=True)

    def run(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        for entity, own in groupby(pieces(batches), key=itemgetter(0)):
            parts: dict[str, list[pa.Table]] = {name: [rows] for name, rows in empty.items()}
            for _, name, packed in own:
                parts[name].append(read(packed))
            evidence = {name: pa.concat_tables(rows) for name, rows in parts.items()}
            for table, rows in replay(entity, evidence):
                yield from _packed(table.name, rows)

    return run


def _empty(rows: DataFrame) -> pa.Table:
    return cast(pa.Schema, to_arrow_schema(rows.drop("entity").schema)).empty_table()
