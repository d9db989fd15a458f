"""The same evidence in any order gives the same rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import permutations
from typing import Any

import pyarrow as pa
import pytest

from fencepost.protocols.producer_epoch import in_flight

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


def test_two_incarnations_of_a_topic_leave_the_number_of_records_unknown() -> None:
    """The newest transaction counts; if several have the same offset, its number of records is not known."""
    at_one_offset = [("c", 7, 0, "orders:0", 5, records) for records in (3, 4, 3)]
    names = ("cluster", "producer_id", "producer_epoch", "name", "first_offset", "records")
    for order in permutations([*at_one_offset, ("c", 7, 0, "orders:0", 2, 9)]):
        rows = pa.table(dict(zip(names, zip(*order, strict=True), strict=True)))
        newest = in_flight._newest_transactions(rows, [("c", 7)])
        assert newest == {("c", 7, 0, "orders:0"): (5, None)}
