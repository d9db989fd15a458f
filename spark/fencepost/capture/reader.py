"""The Spark side of reading: a Python Data Source that reads planned ranges and hands out Arrow batches."""

from __future__ import annotations

import dataclasses
import gc
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from fencepost.capture import readers
from fencepost.capture.plan import Source, bundles
from fencepost.capture.rows import OUTCOME, outcome, unreadable
from fencepost.tables import TABLES, Table

_BY_NAME = {table.name: table for table in (*TABLES, OUTCOME)}
_MAX_ROWS = 1 << 16


@dataclass
class Bundle(InputPartition):
    """The sources of one task."""

    sources: list[Source]


class LogFiles(DataSource):
    """Planned ranges of log files; options: ``plan`` (JSON list of sources), ``table`` (whose rows)."""

    @classmethod
    def name(cls) -> str:
        """The format's name for ``spark.read.format``."""
        return "kafka_log_files"

    def schema(self) -> str:
        """The table's columns as DDL."""
        _spare_collector()
        return _BY_NAME[self.options["table"]].ddl

    def reader(self, schema: StructType) -> DataSourceReader:
        """The reader of the planned ranges."""
        sources = [Source(**each) for each in json.loads(self.options["plan"])]
        return _Reader(_BY_NAME[self.options["table"]], sources)


class _Reader(DataSourceReader):
    def __init__(self, table: Table, sources: list[Source]) -> None:
        self.table = table
        self.sources = sources

    def partitions(self) -> Sequence[Bundle]:
        _spare_collector()
        return [Bundle(bundle) for bundle in bundles(self.sources)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Bundle)
        _spare_collector()
        # what was pickled on its way here is an equal table, not the same one
        table = _BY_NAME[self.table.name]
        for source in partition.sources:
            try:
                for batch in readers.rows(source, table):
                    # the JVM holds a batch whole
                    for first in range(0, batch.num_rows, _MAX_ROWS):
                        yield batch.slice(first, _MAX_ROWS)
            except OSError as error:
                # no progress is noted, so the next run reads the same range again
                if table is OUTCOME:
                    yield outcome(source, [unreadable(source, error)])
                elif not isinstance(error, FileNotFoundError):
                    raise


def _spare_collector() -> None:
    """Spark's workers collect garbage after every call: do not let them go through all that was imported."""
    if gc.get_freeze_count() == 0:
        gc.freeze()


def read_planned(spark: SparkSession, sources: Sequence[Source], table: Table) -> DataFrame:
    """The rows of ``table`` in the planned ranges."""
    # Spark looks for the name in the active session, and refuses what another one has registered there
    SparkSession._get_j_spark_session_class(spark._jvm).setActiveSession(spark._jsparkSession)
    spark.dataSource.register(LogFiles)
    plan = json.dumps([dataclasses.asdict(source) for source in sources])
    return spark.read.format(LogFiles.name()).option("plan", plan).option("table", table.name).load()
