"""Notes the runs of the audit in ``verdicts.audit_runs``: when each began, what it read, and how it ended.

A run is noted when it begins, so one that is killed has a row without an end.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.tables import AUDIT_RUNS
from fencepost.words import as_utc


def begin(catalog: Catalog, run_id: str) -> None:
    """Note that a run has begun; of one that is repeated, that it goes on."""
    _note(catalog, run_id, {"finished_at": None, "result": None})


def captured(catalog: Catalog, run_id: str, rows_read: int) -> None:
    """Note how many rows a run has added to bronze; of one that was repeated, in all."""
    before = next((row["rows_read"] or 0 for row in _rows(catalog) if row["run_id"] == run_id), 0)
    _note(catalog, run_id, {"rows_read": before + rows_read})


def finish(catalog: Catalog, run_id: str, ended: Mapping[str, Any]) -> float:
    """Note that a run has ended, and how: columns of AUDIT_RUNS. Returns the seconds that it took."""
    now = datetime.now(UTC)
    return (now - _note(catalog, run_id, {**ended, "finished_at": now})).total_seconds()


def last_finished(catalog: Catalog, but: str) -> dict[str, Any] | None:
    """The newest run that finished, other than ``but``; None if there is none."""
    finished = (row for row in _rows(catalog) if row["finished_at"] is not None and row["run_id"] != but)
    return max(finished, key=lambda row: row["finished_at"], default=None)


def _rows(catalog: Catalog) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = lake.scan(catalog, AUDIT_RUNS).to_pylist()
    return found


def _note(catalog: Catalog, run_id: str, values: Mapping[str, Any]) -> datetime:
    """Note values of a run; returns when it began."""
    before = _rows(catalog)
    of_run = next((row for row in before if row["run_id"] == run_id), None)
    started: dict[str, Any] = (
        {"run_id": run_id, "started_at": datetime.now(UTC)} if of_run is None else of_run
    )
    kept = [row for row in before if row["run_id"] != run_id]
    lake.replace(
        catalog,
        AUDIT_RUNS,
        pa.Table.from_pylist([*kept, {**started, **values}], schema=AUDIT_RUNS.arrow_schema),
    )
    began: datetime = started["started_at"]
    return as_utc(began)
