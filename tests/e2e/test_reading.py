"""What is read without Spark is what Spark sees: all tables and views but those of silver, of which a few."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
from pyspark.sql import SparkSession

from fencepost.opening import open_lake
from fencepost.protocols import tables
from fencepost.reading.spark import SparkReader


def _written_by_spark(spark: SparkSession) -> set[str]:
    found = set()
    for schema in ("verdicts", "staging", "marts"):
        found |= {f"{schema}.{row['tableName']}" for row in spark.sql(f"SHOW TABLES IN {schema}").collect()}
        found |= {f"{schema}.{row['viewName']}" for row in spark.sql(f"SHOW VIEWS IN {schema}").collect()}
    return found


def _of_all_types() -> Iterator[str]:
    """Tables of silver, each with a type of column that those before it lack.

    PyIceberg writes all of silver; in tests/judge both engines judge all of it.
    """
    seen: set[str] = set()
    for table in tables():
        kinds = set(table.columns.values())
        if table.name.startswith("silver.") and kinds - seen:
            seen |= kinds
            yield table.name


def test_every_table_is_the_same_to_both_readers(audit: Any) -> None:
    through_spark = SparkReader(audit.spark)
    names = {*_of_all_types(), *_written_by_spark(audit.spark)}
    with open_lake(audit.settings) as lake:
        assert lake.engine == "duckdb"
        for name in sorted(names):
            expected, found = (each.scan(name) for each in (through_spark, lake))
            assert found.schema.names == expected.schema.names, name
            assert found.schema.types == expected.schema.types, name
            assert found.num_rows == expected.num_rows, name
            differ = duckdb.sql("SELECT * FROM found EXCEPT ALL SELECT * FROM expected").fetchall()
            assert differ == [], name
    assert len(names) > 40
