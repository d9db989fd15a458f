"""A real cluster over four midnights, in chapters of a day as users have them: the rows of one rebuild."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from chaptered import Audit, Row

from fencepost.protocols import protocols

DAY_MS = 86_400_000

OTHERWISE = {
    # one rebuild does not tell clients apart whose id others had on another day, so nor what they had read
    "silver.committed_offsets": {"client", "origin"},
    # what was long ago bounds what a broker had applied
    "silver.metadata_answers": {"max_partition_epoch", "from_position"},
}
"""Columns that chapters may know better or less well; spark/fencepost/replay/README.md says when."""


def test_days_are_as_one_history(captures: Path, tmp_path: Path) -> None:
    audit = Audit.of(captures / "days-4.3.1", tmp_path, [each.name for each in protocols()])
    cut = audit.rebuilt(DAY_MS)
    assert audit.chapters == 4
    for table in audit.tables:
        leaves_out = OTHERWISE.get(table.name, set())
        assert _rows(cut[table.name], leaves_out) == _rows(audit.whole[table.name], leaves_out), table.name


def _rows(rows: Counter[Row], leaves_out: set[str]) -> Counter[Row]:
    found: Counter[Row] = Counter()
    for row, times in rows.items():
        found[tuple(each for each in row if each[0] not in leaves_out)] += times
    return found
