"""What retention deleted of a log is no missing evidence: the log begins with its first segment."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from chaptered import Audit

from fencepost.protocols.producer_epoch.first_segments import first_segments
from fencepost.tables import FILES

NAME = "producers-4.3.1"


def _files(*rows: tuple[str, str]) -> pa.Table:
    return pa.Table.from_pylist(
        [{"cluster": "c", "kind": kind, "file": file} for kind, file in rows], schema=FILES.arrow_schema
    )


def test_a_log_begins_with_the_first_segment_that_was_ever_seen() -> None:
    files = _files(
        ("segment", "/data/orders-0/00000000000000000091.log"),
        ("segment", "/data/orders-0/00000000000000000120.log"),
        ("segment", "/replica/orders-0/00000000000000000080.log"),
        ("segment", "orders-1/00000000000000000000.log"),
        # of a log that was deleted
        ("segment", "/data/orders-0.d41d8cd98f00b204e9800998ecf8427e-delete/00000000000000000007.log"),
        ("producer_snapshot", "/data/orders-0/00000000000000000005.snapshot"),
        ("request_log", "/logs/kafka-request.log"),
    )
    assert first_segments(files) == {("c", "orders", 0): 80, ("c", "orders", 1): 0}
    assert first_segments(_files()) == {}


@pytest.mark.parametrize("is_empty", [False, True])
def test_markers_and_producers_that_retention_deleted_are_cleaned_away(
    is_empty: bool, captures: Path, tmp_path: Path
) -> None:
    """``is_empty``: nothing is left but an empty segment."""
    capture = tmp_path / NAME
    shutil.copytree(captures / NAME, capture)
    *before, last = sorted((capture / "broker-1/log_dir/healthy-0").glob("*.log"))
    for segment in before:
        segment.unlink()
        for suffix in (".snapshot", ".txnindex"):
            segment.with_suffix(suffix).unlink(missing_ok=True)
    if is_empty:
        last.write_bytes(b"")
    tables = Audit.of(capture, tmp_path / "lake", ["producer_epoch"]).whole
    reasons = {
        name: {
            dict(row)["unknown_reason"]
            for row in tables[f"silver.{name}"]
            if of in dict(row).values() and dict(row)["unknown_reason"] != "None"
        }
        for name, of in (("transaction_markers", "'healthy:0'"), ("producer_snapshots", "'healthy'"))
    }
    assert reasons["transaction_markers"] == {"'cleaned_away'"}
    assert reasons["producer_snapshots"] <= {"'cleaned_away'"}
