"""Entries of leader-epoch-checkpoint files, by the log whose leader epochs they list."""

from __future__ import annotations

from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.replay.entities import tuples

LOG_COLUMNS = ("cluster", "topic", "topic_id", "partition")
"""The columns that identify a log."""


class Entry(NamedTuple):
    """An EpochEntry and the file that contains it: a row of ``bronze.leader_epoch_checkpoints``."""

    broker_id: int
    state: str
    content_digest: str
    leader_epoch: int
    start_offset: int
    captured_ms: int
    file: str


def entries_by_log(checkpoints: pa.Table) -> dict[tuple[Any, ...], list[list[Entry]]]:
    """By LOG_COLUMNS, the entries of each content that each replica's checkpoint ever had,
    ordered by epoch.
    """
    # microseconds
    ms = pc.round(pc.divide(checkpoints["captured_at"].cast(pa.int64()).cast(pa.float64()), 1000)).cast(
        pa.int64()
    )
    names = (*LOG_COLUMNS, *(name for name in Entry._fields if name != "captured_ms"))
    rows = checkpoints.select(names).add_column(names.index("file"), "captured_ms", ms)
    by_log: dict[tuple[Any, ...], dict[tuple[Any, ...], list[Entry]]] = {}
    for row in tuples(rows):
        key, entry = row[: len(LOG_COLUMNS)], Entry._make(row[len(LOG_COLUMNS) :])
        entries = by_log.setdefault(key, {}).setdefault(entry[:3], [])
        # an empty list has no epoch
        if entry.leader_epoch is not None:
            entries.append(entry)
    return {key: _in_order(contents) for key, contents in by_log.items()}


def _in_order(contents: dict[tuple[Any, ...], list[Entry]]) -> list[list[Entry]]:
    return [sorted(contents[key], key=lambda each: each.leader_epoch) for key in sorted(contents, key=str)]
