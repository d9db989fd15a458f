"""What is done with the tables of the lake: create, append what is new, replace, and list their columns.

The tables themselves are declared in :mod:`fencepost.tables` and exported here.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from sqlglot import exp

from fencepost.tables import (
    ABORTED_TRANSACTIONS,
    BATCHES,
    CLEANED,
    CLIENT_EVENTS,
    CLIENT_LINES,
    COMMIT_STATES,
    COMMITS,
    COVERAGE,
    DECISIONS,
    EPISODES,
    FILES,
    GROUPS,
    INIT_PRODUCER_ID_STATES,
    INIT_PRODUCER_IDS,
    LOG_COVERAGE,
    MEMBERS,
    OWNED_PARTITIONS,
    PARTITION_TRANSACTIONS,
    PRODUCER_FENCINGS,
    PRODUCER_REQUESTS,
    PRODUCER_SNAPSHOT_ENTRIES,
    PRODUCER_SNAPSHOTS,
    PRODUCER_STATES,
    QUARANTINE,
    RECORDS,
    REQUESTS,
    REVOKED_PARTITIONS,
    SCHEMAS,
    TABLES,
    TRANSACTION_MARKERS,
    TRANSACTIONAL_IDS,
    TRANSACTIONS,
    VERDICT_COVERAGE,
    Table,
)

__all__ = [
    "ABORTED_TRANSACTIONS",
    "BATCHES",
    "CLEANED",
    "CLIENT_EVENTS",
    "CLIENT_LINES",
    "COMMITS",
    "COMMIT_STATES",
    "COVERAGE",
    "DECISIONS",
    "EPISODES",
    "FILES",
    "GROUPS",
    "INIT_PRODUCER_IDS",
    "INIT_PRODUCER_ID_STATES",
    "LOG_COVERAGE",
    "MEMBERS",
    "OWNED_PARTITIONS",
    "PARTITION_TRANSACTIONS",
    "PRODUCER_FENCINGS",
    "PRODUCER_REQUESTS",
    "PRODUCER_SNAPSHOTS",
    "PRODUCER_SNAPSHOT_ENTRIES",
    "PRODUCER_STATES",
    "QUARANTINE",
    "RECORDS",
    "REQUESTS",
    "REVOKED_PARTITIONS",
    "SCHEMAS",
    "TABLES",
    "TRANSACTIONAL_IDS",
    "TRANSACTIONS",
    "TRANSACTION_MARKERS",
    "VERDICT_COVERAGE",
    "Table",
    "align",
    "append_new",
    "ensure",
    "replace",
    "schemas_json",
]

_PROPERTIES = {
    "format-version": "2",
    # with the default of 4, commits of concurrent writers get lost on a SQLite catalog
    "commit.retry.num-retries": "20",
    # tasks are few and partitions fewer: neither shuffle nor sort all rows only to write them
    "write.distribution-mode": "none",
    "write.spark.fanout.enabled": "true",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "50",
}


def ensure(spark: SparkSession) -> None:
    """Create every schema and table that is not there, and every column that a table does not have."""
    for schema in SCHEMAS:
        namespace = exp.to_identifier(schema, quoted=True)
        spark.sql(exp.Create(this=exp.Table(this=namespace), kind="SCHEMA", exists=True).sql("spark"))
    for table in TABLES:
        spark.sql(_create(table).sql("spark"))
        present = set(spark.table(table.name).columns)
        added = {name: kind for name, kind in table.columns.items() if name not in present}
        if added:
            columns = ", ".join(f"`{name}` {kind}" for name, kind in added.items())
            spark.sql(f"ALTER TABLE {table.name} ADD COLUMNS ({columns})")


def align(df: DataFrame, table: Table) -> DataFrame:
    """``df`` with exactly the table's columns, in its order and types. Fails when one is missing."""
    return df.select([F.col(name).cast(kind) for name, kind in table.columns.items()])


def append_new(
    spark: SparkSession, table: Table, df: DataFrame, within: Column | None = None, *, distinct: bool = False
) -> int:
    """Append the rows of ``df`` whose key the table does not hold yet, once each; gives back how many.

    Keys compare null-safely. ``within`` is a condition on the table's columns that every row of ``df`` is
    known to meet: rows outside it are not compared, which spares most files of a large table. ``distinct``
    says that no key is twice in ``df``, which spares sorting it.
    """
    rows = align(df, table)
    if not distinct:
        rows = rows.dropDuplicates(list(table.key))
    present = spark.table(table.name)
    if within is not None:
        present = present.where(within)
    old = present.select([F.col(name).alias(f"__{name}") for name in table.key])
    same = reduce(and_, [F.col(name).eqNullSafe(F.col(f"__{name}")) for name in table.key])
    rows.join(old, same, "left_anti").writeTo(table.name).append()
    return _last_added(spark, table)


def replace(spark: SparkSession, table: Table, df: DataFrame) -> None:
    """Make ``df`` the whole content of the table, in one commit; ``df`` may have been read from the table."""
    align(df, table).writeTo(table.name).overwrite(F.lit(True))


def schemas_json(tables: Sequence[Table] = TABLES) -> str:
    """``{table: {column: Spark type}}``, as the compiler of the specification reads it."""
    return json.dumps({table.name: table.columns for table in tables}, indent=2)


def _last_added(spark: SparkSession, table: Table) -> int:
    snapshots = spark.table(f"{table.name}.snapshots").orderBy(F.col("committed_at").desc()).limit(1)
    newest = snapshots.select(F.col("summary")["added-records"]).first()
    return int(newest[0] or 0) if newest else 0


def _create(table: Table) -> exp.Create:
    schema, name = (exp.to_identifier(part, quoted=True) for part in table.name.split("."))
    columns = [
        exp.ColumnDef(
            this=exp.to_identifier(column, quoted=True), kind=exp.DataType.build(kind, dialect="spark")
        )
        for column, kind in table.columns.items()
    ]
    properties: list[exp.Expression] = [
        exp.FileFormatProperty(this=exp.var("ICEBERG")),
        exp.SchemaCommentProperty(this=exp.Literal.string(table.doc)),
    ]
    if table.partitioned_by:
        by = [exp.to_identifier(column, quoted=True) for column in table.partitioned_by]
        properties.append(exp.PartitionedByProperty(this=exp.Schema(expressions=by)))
    for key, value in _PROPERTIES.items():
        properties.append(exp.Property(this=exp.Literal.string(key), value=exp.Literal.string(value)))
    return exp.Create(
        this=exp.Schema(this=exp.Table(this=name, db=schema), expressions=columns),
        kind="TABLE",
        exists=True,
        properties=exp.Properties(expressions=properties),
    )


if __name__ == "__main__":
    sys.stdout.write(schemas_json() + "\n")
