"""Parses text logs chunk by chunk: each line becomes a row, is skipped, or is a fault."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from fencepost.formats import envelopes
from fencepost.formats.clock import LogClock
from fencepost.formats.faults import Fault

_ROWS_AT_ONCE = 1_024
"""Rows of Python's objects take several times the memory of Arrow's."""


@dataclass(frozen=True)
class Parsed:
    """One chunk of a log.

    ``rows`` has one row per line that was taken; ``skipped`` counts the lines that are of no interest;
    ``consumed_to`` is the file position after the last whole line; ``last_ms`` is the newest time so far,
    which the clock of the next chunk of the same file needs; ``is_in_order``: whether lines may be in the
    order in which they were written.
    """

    rows: pa.RecordBatch
    faults: tuple[Fault, ...]
    skipped: int
    consumed_to: int
    last_ms: int | None
    is_in_order: bool = True


Values = tuple[Any, ...]
Take = Callable[[bytes, LogClock], Values | None]
"""A function that returns the row of a line, or None to skip the line: the values of the schema's columns but
the first one, which is the line's position. It may raise
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
    rows: list[Values] = []
    batches: list[pa.RecordBatch] = []
    faults: list[Fault] = []
    skipped = 0
    consumed = 0
    for line, begin, end, following in envelopes.lines(chunk, final=final):
        position, consumed = base_position + begin, following
        try:
            row = take(line, clock)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            faults.append(Fault(position, end - begin, "bad_line", f"no {what}: {error}"))
            continue
        if row is None:
            skipped += 1
        else:
            rows.append((position, *row))
            if len(rows) == _ROWS_AT_ONCE:
                batches.append(_batch(rows, schema))
                rows = []
    read = pa.concat_batches([*batches, _batch(rows, schema)])
    end = base_position + consumed
    return Parsed(read, tuple(faults), skipped, end, clock.last_ms, clock.is_in_order)


def _batch(rows: Sequence[Values], schema: pa.Schema) -> pa.RecordBatch:
    columns = zip(*rows, strict=True) if rows else ((),) * len(schema)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
