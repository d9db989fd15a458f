"""Options of DuckDB for the judge and the marts: it may use a gigabyte, and spills the rest to disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

MEMORY = "1GB"
"""The most memory that DuckDB uses; beyond that it spills to disk."""

MEMORY_OF_TASK = "384MB"
"""As MEMORY, for a task: with one thread that is enough."""

BATCH = 50_000
"""The number of rows that are written at a time."""


def spilling_to(scratch: Path) -> dict[str, Any]:
    """The options of a connection. Rows have no order unless a query orders them: to keep the order of
    insertion, DuckDB would hold all of them until the last one.
    """
    return {"memory_limit": MEMORY, "temp_directory": str(scratch), "preserve_insertion_order": False}
