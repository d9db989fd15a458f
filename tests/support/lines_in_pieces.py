"""An engine that has lines of request logs alone, in pieces, as tasks get them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from fencepost.tables import REQUESTS, Table


class LineEngine:
    """Rows of ``bronze.requests``, in pieces of as many lines; changes are applied to each piece alone."""

    name, is_here, parallelism = "process", True, 1

    def __init__(self, lines: Sequence[Mapping[str, Any]], size: int) -> None:
        rows = pa.Table.from_pylist(list(lines), REQUESTS.arrow_schema)
        self._pieces = [rows.slice(at, size) for at in range(0, rows.num_rows, size)] or [rows]

    def scan(self, table: Table, columns: Sequence[str] = (), where: Any = None) -> list[pa.Table]:
        assert table is REQUESTS
        return [piece.select(list(columns)) for piece in self._pieces]

    def map(
        self, rows: list[pa.Table], change: Callable[[pa.Table], pa.Table], schema: pa.Schema
    ) -> list[pa.Table]:
        return [change(piece).cast(schema) for piece in rows]

    def collect(self, rows: list[pa.Table]) -> pa.Table:
        return pa.concat_tables(rows)
