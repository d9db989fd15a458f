"""Rows that were read and are not needed any more are deleted; who asks what is new sees no change in it."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.conditions import Within
from fencepost.lake import Chosen, Forgotten, forgetting
from fencepost.opening import ensure
from fencepost.settings import Settings
from fencepost.tables import REQUESTS

OLDER = [{"cluster": "c", "logged_at_ms": Within(below=100)}]


@pytest.fixture
def catalog(empty_lake: Callable[[], Settings]) -> Catalog:
    return ensure(empty_lake().lake)


def _append(catalog: Catalog, *times: int | None, cluster: str = "c") -> int | None:
    """Lines of these times in a file of their own; the table's snapshot afterwards."""
    rows = [{"cluster": cluster, "line_digest": str(ms), "logged_at_ms": ms} for ms in times]
    lake.append(catalog, REQUESTS, pa.Table.from_pylist(rows, schema=REQUESTS.arrow_schema))
    return lake.snapshot(catalog, REQUESTS)


def _times(catalog: Catalog) -> list[str]:
    return sorted(lake.scan(catalog, REQUESTS, ("line_digest",))["line_digest"].to_pylist())


def test_only_files_of_which_a_part_stays_are_read_and_written(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    _append(catalog, 1, 2)
    _append(catalog, 99, 100)
    _append(catalog, 5, None)
    _append(catalog, 3, cluster="other")
    read_at = _append(catalog, 200)
    read: list[int] = []
    scan = forgetting._read
    monkeypatch.setattr(forgetting, "_read", lambda *given: read.append(len(given[1])) or scan(*given))
    before = lake.size(catalog, REQUESTS)
    forgotten = lake.forget(catalog, REQUESTS, OLDER, read_at)
    assert _times(catalog) == ["100", "200", "3", "None"]
    # two files are read to count what stays, and again to write it
    assert read == [1, 1, 2]
    assert forgotten == Forgotten(4, before - lake.size(catalog, REQUESTS)) and forgotten.bytes > 0
    assert lake.forget(catalog, REQUESTS, OLDER, lake.snapshot(catalog, REQUESTS)) == Forgotten()


def test_what_nobody_has_read_stays_and_is_found(catalog: Catalog) -> None:
    read_at = _append(catalog, 1, 150)
    _append(catalog, 2, 160)
    assert lake.forget(catalog, REQUESTS, OLDER, read_at).rows == 1
    assert _times(catalog) == ["150", "160", "2"]
    added = lake.added(catalog, REQUESTS, ("line_digest",), None, read_at)
    assert added is not None
    assert added.read()["line_digest"].to_pylist() == ["2", "160"]
    assert lake.forget(catalog, REQUESTS, OLDER, None) == Forgotten()


def test_rows_are_chosen_by_a_function_too(catalog: Catalog) -> None:
    read_at = _append(catalog, 1, 2, 150)
    also = Chosen(("line_digest",), lambda rows: pc.not_equal(rows["line_digest"], "2"))
    assert lake.forget(catalog, REQUESTS, OLDER, read_at, also).rows == 1
    assert _times(catalog) == ["150", "2"]
