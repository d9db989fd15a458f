"""A log that is cut is replayed without the members that nothing asks about: what it tells since then is what
all of its records tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from fencepost.protocols.offset_commit.replay import replay_rows
from fencepost.replay.group_coordinator.decoding import log_of
from fencepost.replay.group_coordinator.evidence import ShardRows
from fencepost.replay.group_coordinator.needed_records import select_needed_records
from fencepost.replay.metadata import ClusterMetadata

TOLERANCE_MS = 25
LATE_MS = 500
"""Lines are read that are so much younger than what lies before a cut."""
CUTS = 8

Rows = dict[str, pa.Table]


@pytest.mark.parametrize("capture", ["troubled-4.3.1", "groups-4.3.1", "healthy-4.3.1"])
def test_who_is_not_asked_about_changes_nothing(
    captures: Path,
    bronze_of: Callable[[Path], Rows],
    shards_of: Callable[..., tuple[list[ShardRows], ClusterMetadata]],
    capture: str,
) -> None:
    parts, metadata = shards_of(bronze_of(captures / capture))
    left_out = 0
    for rows in parts:
        for cut, since in _cuts(rows):
            left_out += (
                rows.records.num_rows - select_needed_records(rows.records, log_of(rows), cut, ()).num_rows
            )
            lines = rows.requests.filter(pc.greater(rows.requests["logged_at_ms"], since))
            whole = replace(rows, requests=lines)
            assert _told(replace(whole, cut=cut), metadata, cut) == _told(whole, metadata, cut)
    assert left_out


def _cuts(rows: ShardRows) -> Iterator[tuple[int, int]]:
    """Offsets, and from when on lines are read."""
    offsets = sorted(rows.batches["base_offset"].to_pylist())
    for cut in offsets[len(offsets) // CUTS :: max(1, len(offsets) // CUTS)]:
        before = rows.batches.filter(pc.less(rows.batches["base_offset"], cut))
        if before.num_rows:
            yield cut, pc.max(before["max_timestamp_ms"]).as_py() + LATE_MS


def _told(rows: ShardRows, metadata: ClusterMetadata, cut: int) -> dict[str, list[dict[str, Any]]]:
    """The rows that are true at the cut or later."""
    found = replay_rows(copy(rows), metadata, TOLERANCE_MS)
    return {
        name: sorted(
            (row for row in table.to_pylist() if (row.get("to_position") or cut + 1) > cut), key=repr
        )
        for name, table in found.items()
    }
