"""Verdicts by the begin of their ids: the scan looks for them, whatever else the lake has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pyarrow as pa
import pytest

from fencepost.conditions import Condition
from fencepost.conditions.arrow import mask
from fencepost.reading import Reader
from fencepost.report.episodes import verdicts_beginning

IDS = ("3f1c", "3f1d", "3f", "3g", "4f1c", "9fff", "a0", "ffff")


class _Lake:
    def has(self, table: str) -> bool:
        return True

    def scan(self, table: str, columns: Sequence[str] = (), where: Condition | None = None) -> pa.Table:
        assert where is not None, "all ids are read"
        rows = pa.table({"verdict_id": IDS})
        return rows.filter(mask(rows, [where]))


@pytest.mark.parametrize(
    ("prefix", "found"),
    [
        ("3f1", ["3f1c", "3f1d"]),
        ("3f", ["3f1c", "3f1d", "3f"]),
        ("9", ["9fff"]),
        ("f", ["ffff"]),
        ("ffff0", []),
        ("\U0010ffff", []),
        ("é", []),
        ("", []),
    ],
)
def test_verdicts_are_found_by_the_begin_of_their_ids(prefix: str, found: list[Any]) -> None:
    assert verdicts_beginning(cast(Reader, _Lake()), prefix) == found
