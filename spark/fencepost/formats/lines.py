"""Parses text logs chunk by chunk: each line becomes a row, is skipped, or is a fault."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import pyarrow as pa

from fencepost.formats.clock import LogClock
from fencepost.formats.faults import Fault


@dataclass(frozen=True)
class Parsed:
    """One chunk of a log.

    ``rows`` has one row per line that was taken; ``skipped`` counts the lines that are of no interest;
    ``consumed_to`` is the file position after the last whole line; ``last_ms`` is the newest time so far,
    which the clock of the next chunk of the same file needs.
    """

    rows: pa.RecordBatch
    faults: tuple[Fault, ...]
    skipped: int
    consumed_to: int
    last_ms: int | None


Take = Callable[[bytes, LogClock], dict[str, Any] | None]
"""A function that returns the row of a line, without its position, or None to skip the line. It may raise
ValueError, KeyError, TypeError, AttributeError or RecursionError for a damaged line.
"""


def parse(  # noqa: PLR0917 (two logs are read alike, each by its own few words)
    chunk: bytes,
    base_position: int,
    clock: LogClock,
    schema: pa.Schema,
    take: Take,
    what: str,
    *,
    final: bool = False,
) -> Parsed:
    """Parse the whole lines of ``chunk``, which begins at file position ``base_position``, at a line's start.

    A last line without newline is not consumed, unless ``final`` says that the file is closed. ``what`` names
    the kind of line in the faults of damaged ones.
    """
    values = itemgetter(*schema.names)
    rows: list[tuple[Any, ...]] = []
    faults: list[Fault] = []
    skipped = 0
    start = 0
    while start < len(chunk):
        newline = chunk.find(b"\n", start)
        if newline < 0 and not final:
            break
        end = len(chunk) if newline < 0 else newline
        line = chunk[start:end].removesuffix(b"\r")
        position = base_position + start
        start = end + 1
        try:
            row = take(line, clock)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            faults.append(Fault(position, len(line), "bad_line", f"no {what}: {error}"))
            continue
        if row is None:
            skipped += 1
        else:
            row["position"] = position
            rows.append(values(row))
    columns = zip(*rows, strict=True) if rows else ((),) * len(schema)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    batch = pa.RecordBatch.from_arrays(arrays, schema=schema)
    return Parsed(batch, tuple(faults), skipped, base_position + min(start, len(chunk)), clock.last_ms)
