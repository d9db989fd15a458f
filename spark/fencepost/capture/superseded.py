"""Deletes notes in ``bronze.files`` that later ones have replaced.

Each run and each round of a collector notes every file that has grown, and each run reads all notes. A
collector that looks once a minute notes a log half a million times a year.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.replay.entities import numbered_rows, tuples
from fencepost.replay.log_names import OF_LOG, unclear_logs
from fencepost.replay.logs import Longs, longs
from fencepost.tables import FILES

_CONTENT = (*FILES.key[:-1], "file_begins", "topic_id")
_COUNTS = ("too_late", "next_offset", "consumed_to", "entries")
"""Of the notes about one content of a file readers ask for the newest one, and for the most of each."""

COLUMNS = (*FILES.key, "file_begins", "topic_id", *_COUNTS)
"""What of the notes tells which of them are needed."""


def delete_superseded(catalog: Catalog, read_at: int | None) -> lake.Forgotten:
    """Delete notes that no reader needs any more. ``read_at``: the snapshot of ``bronze.files`` that the last
    rebuild has read (None: none has); later notes stay.
    """
    needed = needed_notes(lake.scan(catalog, FILES, COLUMNS))

    def is_superseded(rows: pa.Table) -> pa.ChunkedArray:
        return pa.chunked_array([[key not in needed for key in tuples(rows.select(FILES.key))]], pa.bool_())

    return lake.forget(catalog, FILES, [{}], read_at, lake.Chosen(FILES.key, is_superseded))


def needed_notes(files: pa.Table) -> set[tuple[Any, ...]]:
    """The keys of the rows of ``bronze.files`` (COLUMNS) that stay.

    Batches and lines that came too late are added up, so each note of some stays. So do all notes of a log in
    text that was read under several names at once: nothing else tells that its name is not known.
    """
    content = numbered_rows(*(_codes(files[name]) for name in _CONTENT))
    at_ms = longs(files["captured_at"].cast(pa.int64()).combine_chunks())
    late, *furthest = (longs(pc.fill_null(files[name], 0).combine_chunks()) for name in _COUNTS)
    stays = late > 0
    for most in (at_ms, *furthest):
        in_order = np.lexsort((at_ms, most, content))
        is_last = np.diff(content[in_order], append=-1) != 0
        stays[in_order[is_last]] = True
    if unclear := unclear_logs(files):
        stays |= np.array([log in unclear for log in tuples(files.select(OF_LOG))], bool)
    return set(tuples(files.select(FILES.key).filter(pa.array(stays))))


def _codes(column: pa.ChunkedArray) -> Longs:
    """A number for each value of a column, also for null."""
    return longs(column.combine_chunks().dictionary_encode("encode").indices)
