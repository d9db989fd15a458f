"""Views that PyIceberg makes, read by Spark and without it; those that Spark makes, read and replaced."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest
from pyiceberg.exceptions import NoSuchViewError
from pyspark.sql import SparkSession

from fencepost import views
from fencepost.iceberg.catalog import open_catalog
from fencepost.opening import open_lake
from fencepost.reading import rows
from fencepost.reading.spark import SparkReader
from fencepost.settings import Settings

COLUMNS = pa.schema([("n", pa.int32()), ("word", pa.string())])
QUERY = "SELECT * FROM odd.view ORDER BY n"


def test_a_view_is_what_it_was_last_made(new_lake: Callable[[], tuple[SparkSession, Settings]]) -> None:
    spark, settings = new_lake()
    catalog = open_catalog(settings.lake)

    def found() -> list[dict[str, object]]:
        with open_lake(settings, "duckdb") as lake:
            by_duckdb = rows(lake.query(QUERY))
        assert rows(SparkReader(spark).query(QUERY)) == by_duckdb
        return by_duckdb

    assert not catalog.view_exists("odd.view")
    with pytest.raises(NoSuchViewError):
        catalog.load_view("odd.view")
    with pytest.raises(NoSuchViewError):
        catalog.drop_view("odd.view")
    query = "SELECT id AS n, concat('it\\'s ', id) AS word FROM odd.numbers"
    views.replace(catalog, "odd.view", COLUMNS, query, "what it is")
    spark.sql("CREATE TABLE odd.numbers USING iceberg AS SELECT cast(id AS int) AS id FROM range(2)")
    assert found() == [{"n": 0, "word": "it's 0"}, {"n": 1, "word": "it's 1"}]
    assert catalog.load_view("odd.view").sql_for("spark").sql == query
    assert ["odd", "view"] not in map(list, catalog.list_tables("odd"))

    spark.sql("CREATE OR REPLACE VIEW odd.view AS SELECT 7 AS n, 'of Spark' AS word")
    assert catalog.load_view("odd.view").schema().column_names == ["n", "word"]
    assert found() == [{"n": 7, "word": "of Spark"}]

    views.replace(catalog, "odd.view", COLUMNS, "SELECT 8 AS n, 'again' AS word", "")
    assert found() == [{"n": 8, "word": "again"}]


def test_a_view_takes_the_place_of_a_table(new_lake: Callable[[], tuple[SparkSession, Settings]]) -> None:
    _, settings = new_lake()
    catalog = open_catalog(settings.lake)
    catalog.create_namespace("odd")
    catalog.create_table("odd.view", COLUMNS)
    views.replace(catalog, "odd.view", COLUMNS, "SELECT 1 AS n, 'x' AS word", "")
    with open_lake(settings) as lake:
        assert rows(lake.query(QUERY)) == [{"n": 1, "word": "x"}]
