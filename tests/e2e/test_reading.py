"""What is read without Spark is what Spark sees: all tables but those of silver, of which a few.

Views have the same columns and types; that a view's query makes the same rows is what test_marts.py compares.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import pytest
from pyspark.sql import SparkSession

from fencepost.opening import open_lake
from fencepost.protocols import tables
from fencepost.reading.spark import SparkReader

SCHEMAS = ("verdicts", "staging", "marts")


def _shown(spark: SparkSession, kind: str) -> set[str]:
    rows = {schema: spark.sql(f"SHOW {kind} IN {schema}").collect() for schema in SCHEMAS}
    return {f"{schema}.{row[1]}" for schema in SCHEMAS for row in rows[schema]}


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


@pytest.mark.engines
def test_every_table_is_the_same_to_both_readers(audit: Any) -> None:
    through_spark = SparkReader(audit.spark)
    views = _shown(audit.spark, "VIEWS")
    names = {*_of_all_types(), *_shown(audit.spark, "TABLES")} - views
    with open_lake(audit.settings) as lake:
        assert lake.engine == "duckdb"
        for name in sorted(names):
            expected, found = (each.scan(name) for each in (through_spark, lake))
            assert found.schema.names == expected.schema.names, name
            assert found.schema.types == expected.schema.types, name
            assert found.num_rows == expected.num_rows, name
            differ = duckdb.sql("SELECT * FROM found EXCEPT ALL SELECT * FROM expected").fetchall()
            assert differ == [], name
        for name in sorted(views):
            columns = f"SELECT * FROM {name} LIMIT 0"
            expected, found = (each.query(columns).schema for each in (through_spark, lake))
            assert (found.names, found.types) == (expected.names, expected.types), name
    assert len(names) > 40
    assert len(views) > 20
