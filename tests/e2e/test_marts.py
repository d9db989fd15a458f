"""Both engines make the same rows: the audit's marts are DuckDB's, and Spark is asked each model's query."""

from __future__ import annotations

import re
from typing import Any

import duckdb
import pytest

from fencepost import marts
from fencepost.marts.project import invoke
from fencepost.opening import open_lake
from fencepost.reading.spark import SparkReader

NOTED_SINCE = {"fct_incidents": ["state", "state_before"]}
"""Columns that depend on what the gate noted after the marts had been built."""


@pytest.mark.engines
def test_spark_makes_the_same_rows_of_every_model(audit: Any) -> None:
    project = marts.project(audit.settings)
    relations = {each.name: each.relation for each in project.models}
    ansi = audit.spark.conf.get("spark.sql.ansi.enabled")
    # as dbt-spark has it
    audit.spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        with open_lake(audit.settings, "duckdb") as lake:
            for node in project.nodes:
                if not node.is_test:
                    sql = re.sub(r"ROWS_BUILT\('\w+'\)", "true", node.sql)
                    made = (SparkReader(audit.spark).query(sql), lake.scan(relations[node.name]))
                    _compare(node.name, *(each.drop_columns(NOTED_SINCE.get(node.name, [])) for each in made))
    finally:
        audit.spark.conf.set("spark.sql.ansi.enabled", ansi)


def test_dbts_own_tests_hold_that_no_run_asks(audit: Any) -> None:
    """A run asks those of a table in its test `sound`: here are keys in dimensions, and the rows of views."""
    of_views = "test_name:unique_combination_of_columns,config.materialized:view"
    select = ["--select", "test_name:relationships", of_views, "test_name:not_null,fqn:dim_*"]
    outcome = invoke(audit.settings, ["compile", *select, "--no-populate-cache", "--no-introspect"])
    tests = {each.node.name: each.node.compiled_code for each in outcome.result.results}
    assert len(tests) > 80
    with open_lake(audit.settings, "duckdb") as lake:
        assert {name: lake.query(sql).num_rows for name, sql in tests.items()} == dict.fromkeys(tests, 0)


def _compare(name: str, expected: Any, found: Any) -> None:
    assert found.schema.names == expected.schema.names, name
    assert found.schema.types == expected.schema.types, name
    for one, other in (("expected", "found"), ("found", "expected")):
        differ = duckdb.sql(f"SELECT * FROM {one} EXCEPT ALL SELECT * FROM {other}").limit(3).fetchall()
        assert differ == [], (name, f"only {one}")
