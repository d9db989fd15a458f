"""The columns of all marts together: names that SQL takes as they are, one type for each, units."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import duckdb
import pytest
import yaml
from sqlglot.dialects.trino import Trino

MODELS = Path(__file__).resolve().parents[2] / "dbt" / "models"
MARTS = {
    model["name"]: {each["name"]: each["data_type"] for each in model["columns"]}
    for pattern in ("fct_*.yml", "dim_*.yml")
    for path in sorted(MODELS.glob(f"*/{pattern}"))
    for model in yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)["models"]
}
RESERVED = "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category IN ('reserved', 'column_name')"
NUMBERS = ("int", "bigint", "double")
WITHOUT_UNITS = ("age", "lag_time", "delay", "duration", "latency", "timeout", "elapsed", "interval")
# words of SQL's standard that every engine here takes as a name
TAKEN = {"partition", "position", "unknown"}


def test_no_name_is_a_word_that_sql_reserves() -> None:
    words = {name for (name,) in duckdb.sql(RESERVED).fetchall()}
    words |= {each.lower() for each in Trino.Generator.RESERVED_KEYWORDS}
    assert "values" in words
    names = {name for columns in MARTS.values() for name in (*columns, *MARTS)} - TAKEN
    assert names & words == set()


def test_a_name_has_one_type() -> None:
    """So that a union or a join of two marts needs no cast."""
    types = defaultdict(set)
    for columns in MARTS.values():
        for name, kind in columns.items():
            types[name].add(kind)
    assert {name: kinds for name, kinds in types.items() if len(kinds) > 1} == {}


@pytest.mark.parametrize("mart", MARTS)
def test_a_duration_says_its_unit(mart: str) -> None:
    for name, kind in MARTS[mart].items():
        assert kind not in NUMBERS or not name.endswith(WITHOUT_UNITS), name
