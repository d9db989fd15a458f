"""Deletes notes in ``bronze.files`` that later ones have replaced.

Each run and each round of a collector notes every file that has grown, and each run reads all notes. A
collector that looks once a minute notes a log half a million times a year.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.replay.entities import tuples
from fencepost.replay.log_names import OF_LOG, unclear_logs
from fencepost.tables import FILES

_CONTENT = (*FILES.key[:-1], "file_begins", "topic_id")
_FURTHEST = ("next_offset", "consumed_to", "entries")
"""Of the notes about one content of a file readers ask for the newest one, and for the most of each."""


def delete_superseded(catalog: Catalog, read_at: int | None) -> lake.Forgotten:
    """Delete notes that no reader needs any more. ``read_at``: the snapshot of ``bronze.files`` that the last
    rebuild has read (None: none has); later notes stay.
    """
    needed = needed_notes(lake.scan(catalog, FILES))

    def is_superseded(rows: pa.Table) -> pa.ChunkedArray:
        return pa.chunked_array([[key not in needed for key in tuples(rows.select(FILES.key))]], pa.bool_())

    return lake.forget(catalog, FILES, [{}], read_at, lake.Chosen(FILES.key, is_superseded))


def needed_notes(files: pa.Table) -> set[tuple[Any, ...]]:
    """The keys of the rows of ``bronze.files`` that stay.

    Batches and lines that came too late are added up, so each note of some stays. So do all notes of a log in
    text that was read under several names at once: nothing else tells that its name is not known.
    """
    unclear = unclear_logs(files)
    needed: set[tuple[Any, ...]] = set()
    newest: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    furthest: dict[tuple[Any, ...], tuple[int, tuple[Any, ...]]] = {}
    for row in files.sort_by("captured_at").to_pylist():
        key, content, log = (tuple(row[name] for name in names) for names in (FILES.key, _CONTENT, OF_LOG))
        newest[content] = key
        if row["too_late"] or log in unclear:
            needed.add(key)
        for name in _FURTHEST:
            if (row[name] or 0) > furthest.get((name, *content), (0, ()))[0]:
                furthest[name, *content] = row[name], key
    return needed.union(newest.values(), (key for _, key in furthest.values()))
