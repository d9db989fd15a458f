"""What a run leaves that is killed while it writes a table's metadata, and what maintenance makes of it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from fencepost.maintenance import remove_old_files
from fencepost.opening import ensure
from fencepost.settings import Settings
from fencepost.tables import WAIVERS


@pytest.mark.parametrize(("content", "removed"), [(b"", 1), (b'{"format-version"', 0)])
def test_metadata_that_was_cut_off_does_not_end_maintenance(
    empty_lake: Callable[[], Settings], content: bytes, removed: int
) -> None:
    """An empty file names nothing; what a part of one named is not known, so the table's files stay."""
    catalog = ensure(empty_lake().lake)
    metadata = Path(catalog.load_table(WAIVERS.name).location().removeprefix("file://")) / "metadata"
    (metadata / "00009-cut.metadata.json").write_bytes(content)
    (metadata / "orphan.avro").write_bytes(b"1")
    remove_old_files(catalog, timedelta())
    assert (metadata / "orphan.avro").exists() == (not removed)
