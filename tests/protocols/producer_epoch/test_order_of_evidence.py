"""The same evidence in any order gives the same rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

Rows = dict[str, list[dict[str, Any]]]


def _rows(clusters: dict[str, Rows]) -> dict[tuple[str, str], Counter[str]]:
    return {
        (cluster, table): Counter(repr(sorted(row.items())) for row in rows)
        for cluster, tables in clusters.items()
        for table, rows in tables.items()
    }


@pytest.mark.parametrize("order", range(6))
def test_the_order_of_rows_changes_nothing(
    order: int, cases: dict[str, Any], replayed: Callable[..., dict[str, Rows]]
) -> None:
    assert _rows(replayed(cases, order=order)) == _rows(replayed(cases))
