"""Entries of leader-epoch-checkpoint files, by the log that they are of."""

from __future__ import annotations

from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.replay.entities import tuples

LOG_COLUMNS = ("cluster", "topic", "topic_id", "partition")
"""What names a log."""


class Entry(NamedTuple):
    """An EpochEntry, and the file that has it: a row of ``bronze.leader_epoch_checkpoints``."""

    broker_id: int
    state: str
    content_digest: str
    leader_epoch: int
    start_offset: int
    captured_ms: int
    file: str


def entries_by_log(checkpoints: pa.Table) -> dict[tuple[Any, ...], list[list[Entry]]]:
    """By LOG_COLUMNS the entries of each content of each replica's checkpoint, in order, by epoch."""
    ms = pc.divide(checkpoints["captured_at"].cast(pa.int64()), 1000)
    names = (*LOG_COLUMNS, *(name for name in Entry._fields if name != "captured_ms"))
    rows = checkpoints.select(names).add_column(names.index("file"), "captured_ms", ms)
    found: dict[tuple[Any, ...], dict[tuple[Any, ...], list[Entry]]] = {}
    for row in tuples(rows):
        key, entry = row[: len(LOG_COLUMNS)], Entry._make(row[len(LOG_COLUMNS) :])
        of = found.setdefault(key, {}).setdefault(entry[:3], [])
        # an empty list has no epoch
        if entry.leader_epoch is not None:
            of.append(entry)
    return {key: _in_order(contents) for key, contents in found.items()}


def _in_order(contents: dict[tuple[Any, ...], list[Entry]]) -> list[list[Entry]]:
    return [sorted(contents[key], key=lambda each: each.leader_epoch) for key in sorted(contents, key=str)]
