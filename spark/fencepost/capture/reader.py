"""The Spark side of reading: a Python Data Source that reads planned ranges and hands out Arrow batches."""

from __future__ import annotations

import dataclasses
import json
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from fencepost.capture.plan import Fault, Source, bundles
from fencepost.formats import faults as formats
from fencepost.tables import Table

OUTCOME = Table(
    "outcome",
    "What became of each source: one row per fault (with reason), and one row of progress (without) per file "
    "that could be read to the end of its range.",
    {
        "cluster": "string",
        "broker_id": "int",
        "kind": "string",
        "file": "string",
        "position": "bigint",
        "length": "bigint",
        "reason": "string",
        "detail": "string",
        "sample": "binary",
        "head_digest": "string",
        "size": "bigint",
        "consumed_to": "bigint",
        "entries": "bigint",
        "skipped": "bigint",
    },
    ("cluster", "broker_id", "kind", "file", "position", "reason"),
)
_ARROW = {
    "string": pa.string(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
}
_MAX_ROWS = 1 << 16


@dataclass
class Bundle(InputPartition):
    """The sources of one task."""

    sources: list[Source]


class PlannedSource(DataSource):
    """Base of the data sources: options ``plan`` (JSON list of sources), ``table`` (whose rows to give)."""

    tables: ClassVar[tuple[Table, ...]]

    @property
    def table(self) -> Table:
        """The table whose columns this read gives."""
        return next(table for table in self.tables if table.name == self.options["table"])

    def schema(self) -> str:
        """The table's columns as DDL."""
        return self.table.ddl

    def reader(self, schema: StructType) -> DataSourceReader:
        """The reader of the planned ranges."""
        sources = [Source(**each) for each in json.loads(self.options["plan"])]
        return _Reader(self, sources)

    @abstractmethod
    def rows(self, source: Source, table: Table) -> Iterator[pa.RecordBatch]:
        """The rows of one source; an OSError on the way ends them."""


class _Reader(DataSourceReader):
    def __init__(self, parent: PlannedSource, sources: list[Source]) -> None:
        self.parent = parent
        self.sources = sources

    def partitions(self) -> Sequence[Bundle]:
        return [Bundle(bundle) for bundle in bundles(self.sources)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Bundle)
        for source in partition.sources:
            try:
                for batch in self.parent.rows(source, self.parent.table):
                    # the JVM holds a batch whole
                    for first in range(0, batch.num_rows, _MAX_ROWS):
                        yield batch.slice(first, _MAX_ROWS)
            except OSError as error:
                # no progress is noted, so the next run reads the same range again
                if self.parent.table is OUTCOME:
                    yield outcome(source, [unreadable(source, error)])


def read_planned(
    spark: SparkSession, kind: type[PlannedSource], sources: Sequence[Source], table: Table
) -> DataFrame:
    """The rows of ``table`` in the planned ranges."""
    # Spark looks for the name in the active session, and refuses what another one has registered there
    SparkSession._get_j_spark_session_class(spark._jvm).setActiveSession(spark._jsparkSession)
    spark.dataSource.register(kind)
    plan = json.dumps([dataclasses.asdict(source) for source in sources])
    return spark.read.format(kind.name()).option("plan", plan).option("table", table.name).load()


def arrow_rows(table: Table, count: int, columns: Mapping[str, Any]) -> pa.RecordBatch:
    """``count`` rows of ``table`` from Arrow columns and from single values that every row has."""
    arrays = []
    for name, kind in table.columns.items():
        given = columns.get(name)
        if isinstance(given, pa.Array):
            arrays.append(given.cast(_ARROW[kind]))
        else:
            arrays.append(pa.repeat(pa.scalar(given, _ARROW[kind]), count))
    return pa.RecordBatch.from_arrays(arrays, names=list(table.columns))


def outcome(
    source: Source, faults: Sequence[Fault], progress: Mapping[str, Any] | None = None
) -> pa.RecordBatch:
    """Rows of OUTCOME: the faults, then ``progress`` (head_digest, size, consumed_to, entries, skipped)."""
    rows = [dataclasses.asdict(fault) for fault in faults]
    if progress is not None:
        origin = {
            "cluster": source.cluster,
            "broker_id": source.broker_id,
            "kind": source.kind,
            "file": source.file,
        }
        rows.append({**origin, **progress})
    schema = pa.schema([(name, _ARROW[kind]) for name, kind in OUTCOME.columns.items()])
    return pa.RecordBatch.from_pylist(
        [{name: row.get(name) for name in schema.names} for row in rows], schema=schema
    )


def fault_of(source: Source, fault: formats.Fault, sample: bytes | None = None, shift: int = 0) -> Fault:
    """A reader's fault as one in ``source``, its position moved by ``shift``."""
    origin = (source.cluster, source.broker_id, source.kind, source.file)
    return Fault(*origin, fault.position + shift, fault.length, fault.reason, fault.detail, sample)


def unreadable(source: Source, error: OSError) -> Fault:
    """The fault of a file that cannot be opened or read."""
    detail = f"the file cannot be read ({error.strerror or error}): check its permissions; it is tried again"
    return fault_of(source, formats.Fault(0, 0, "unreadable", detail))
