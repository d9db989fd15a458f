"""DuckDB where it may hold a gigabyte, and spills the rest: for the judge and the marts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

MEMORY = "1GB"
"""What DuckDB holds at most; beyond, it spills to disk."""

BATCH = 50_000
"""So many rows at a time are written."""


def spilling_to(scratch: Path) -> dict[str, Any]:
    """The options of a connection. Rows have no order unless a query gives them one: to keep theirs, all of
    them would be held until the last is there.
    """
    return {"memory_limit": MEMORY, "temp_directory": str(scratch), "preserve_insertion_order": False}
