"""Rows that are alone in their group say what an aggregate of them says."""

from __future__ import annotations

import duckdb
import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from tlasql.sql.alone import apart

GROUPED = (
    "SELECT k, MIN(v) AS low, MAX(v) AS high, ANY_VALUE(k) AS one, COUNT(*) AS n, COUNT(v) AS known "
    "FROM met GROUP BY k"
)
ROW = st.tuples(st.none() | st.integers(0, 3), st.none() | st.integers(0, 3))


def _grouped(sql: str) -> exp.Select:
    parsed = sqlglot.parse_one(sql, dialect="duckdb")
    assert isinstance(parsed, exp.Select)
    return parsed


@given(rows=st.lists(ROW, max_size=8))
def test_groups_of_one_row_and_of_several(rows: list[tuple[int | None, int | None]]) -> None:
    """A key may be null: such rows are one group, too."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE met (k INTEGER, v INTEGER)")
        if rows:
            connection.executemany("INSERT INTO met VALUES (?, ?)", rows)
        ctes = ", ".join(
            f"{name} AS ({query.sql('duckdb')})"
            for name, query in apart("agreed", _grouped(GROUPED), "met", "met", ["k"])
        )
        found = connection.sql(f"WITH {ctes} SELECT * FROM agreed").fetchall()
        assert sorted(found, key=repr) == sorted(connection.sql(GROUPED).fetchall(), key=repr)


def test_an_aggregate_that_is_not_known_is_refused() -> None:
    with pytest.raises(AssertionError, match="without a group"):
        apart("agreed", _grouped("SELECT k, SUM(v) AS v FROM met GROUP BY k"), "met", "met", ["k"])
