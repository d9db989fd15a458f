"""What is taken for granted where steps are judged by chapter (``fencepost.judge.steps``)."""

from __future__ import annotations

from typing import Any

import duckdb

from fencepost.definitions import definitions
from fencepost.opening import open_lake
from tlasql.plan.reach import STEP

STEPPED = {
    table: each.beside["columns"]
    for each in definitions()
    if each.beside and each.looks_at == STEP
    for table in each.beside["tables"]
}
"""The tables of whose rows steps are judged, and what names one history of them."""


def test_rows_of_one_history_follow_one_another(audit: Any) -> None:
    """None overlaps the next; and what ends where the next begins also ends when that begins."""
    followed = set()
    with open_lake(audit.settings) as lake:
        for table, columns in STEPPED.items():
            silver = lake.scan(table)
            assert silver.num_rows
            found = duckdb.sql(
                "SELECT *, LEAD(from_position) OVER history AS next, "
                "LEAD(from_time) OVER history AS next_time "
                f"FROM silver WINDOW history AS (PARTITION BY {', '.join(columns)} ORDER BY from_position)"
            )
            assert not found.filter("next < coalesce(to_position, next + 1)").fetchall(), table
            met = found.filter("next = to_position")
            assert not met.filter("next_time IS DISTINCT FROM to_time").fetchall(), table
            followed |= {table} if met.fetchall() else set()
    assert len(followed) > 0.6 * len(STEPPED)
