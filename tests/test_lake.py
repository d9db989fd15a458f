"""Operations on the lake's tables, and what is said when Spark cannot start."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from fencepost import lake, session
from fencepost.settings import Settings


def groups(spark: SparkSession, *rows: tuple[str | None, int, str]) -> DataFrame:
    """Rows of GROUPS from (group_id, from_position, group_epoch as text)."""
    df = spark.createDataFrame(rows, "group_id string, from_position long, group_epoch string")
    missing = {name: F.lit(None) for name in lake.GROUPS.columns if name not in df.columns}
    return df.withColumns(missing)


def test_a_lake_of_an_older_release_gets_the_columns_it_lacks(
    new_lake: Callable[[], tuple[SparkSession, Settings]],
) -> None:
    spark, _ = new_lake()
    lake.append_new(spark, lake.GROUPS, groups(spark, ("g", 1, "5")))
    spark.sql(f"ALTER TABLE {lake.GROUPS.name} DROP COLUMN target_assignment_epoch")
    lake.ensure(spark)
    (row,) = spark.table(lake.GROUPS.name).collect()
    assert (row.group_id, row.target_assignment_epoch) == ("g", None)
    assert lake.append_new(spark, lake.GROUPS, groups(spark, ("g", 2, "6"))) == 1


def test_append_new_and_replace(new_lake: Callable[[], tuple[SparkSession, Settings]]) -> None:
    spark, _ = new_lake()
    lake.ensure(spark)
    table = spark.table(lake.GROUPS.name)
    hostile = 'pay\'ments "eu"\n☃'
    first = groups(spark, (hostile, 1, "5"), (hostile, 1, "5"), (None, 1, "6"))
    assert lake.append_new(spark, lake.GROUPS, first) == 2
    # a null in the key is a value like any other; types are the table's
    second = groups(spark, (None, 1, "6"), (hostile, 2, "7"))
    assert lake.append_new(spark, lake.GROUPS, second, F.col("from_position") >= 1) == 1
    assert lake.append_new(spark, lake.GROUPS, second) == 0
    assert sorted(row.group_epoch for row in table.collect()) == [5, 6, 7]
    lake.replace(spark, lake.GROUPS, table.where(F.col("group_epoch") > 5).withColumn("life", F.lit(1)))
    replaced = spark.table(lake.GROUPS.name).collect()
    assert {(row.group_id, row.life) for row in replaced} == {(None, 1), (hostile, 1)}


def test_schemas_are_told_as_json() -> None:
    told = json.loads(lake.schemas_json())
    assert told["bronze.batches"]["base_offset"] == "bigint"
    assert set(told) == {table.name for table in lake.TABLES}


def test_every_key_and_partition_is_a_column() -> None:
    for table in lake.TABLES:
        assert {*table.key, *table.partitioned_by} <= set(table.columns)


def test_missing_jars_and_java_are_named(
    new_lake: Callable[[], tuple[SparkSession, Settings]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, settings = new_lake()
    monkeypatch.setenv(session.JARS_ENV, str(tmp_path))
    with pytest.raises(session.SessionError, match=r"No jars of Iceberg and SQLite in .*make setup"):
        session.spark_jars(settings)
    session._check_java.cache_clear()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(session.SessionError, match=r"No java in JAVA_HOME .*Java 17"):
        session._check_java()
    old = tmp_path / "bin" / "java"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    old.chmod(0o755)
    with pytest.raises(session.SessionError, match=r"is Java 11\. Spark needs Java 17"):
        session._check_java()
