"""The notes of a rebuild: the chapters whose rows are in silver.

A chapter's note is written when its rows are in silver, and deleted before they are replaced. So after a run
was killed every note that is left is true.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import uuid4

import pyarrow as pa
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.replay.chapter_snapshots import First, stored_snapshots
from fencepost.replay.chapters import FIRST, Chapter
from fencepost.replay.entities import tuples
from fencepost.replay.new_evidence import Seen, first_affected_chapters, note_read
from fencepost.tables import CHAPTERS


def first_changed_chapters(catalog: Catalog, plan: Sequence[Chapter], made_by: str) -> dict[str, int]:
    """Cluster -> its first chapter whose rows in silver are missing or not what a rebuild would make now.
    Clusters without such a chapter are left out. If that chapter's snapshot is not in the lake, it is the
    newest one before it whose snapshot is.
    """
    notes = {(row["cluster"], row["chapter"]): row for row in lake.scan(catalog, CHAPTERS).to_pylist()}
    planned = {(name, each.begin): until for each in plan for name, until in each.until_ms.items()}
    begins: dict[str, list[int]] = {}
    for name, begin in planned:
        begins.setdefault(name, []).append(begin)
    first_changed: dict[str, int] = {}
    for (name, begin), until in planned.items():
        row = notes.get((name, begin))
        if row is None or row["made_by"] != made_by or row["until"] != until:
            first_changed[name] = min(begin, first_changed.get(name, begin))
    for name, begin in notes:
        if name in begins and begin not in begins[name]:
            first_changed[name] = min(
                first_changed.get(name, begin), max(each for each in begins[name] if each < begin)
            )
    for seen in {row["seen"] for row in notes.values()}:
        clusters = {
            name: begins[name] for (name, _), row in notes.items() if row["seen"] == seen and name in begins
        }
        for name, first in first_affected_chapters(catalog, json.loads(seen), clusters).items():
            if first is not None:
                first_changed[name] = min(first, first_changed.get(name, first))
    stored = stored_snapshots(catalog)
    return {
        name: max((each for each in begins[name] if each <= first and (name, each) in stored), default=FIRST)
        for name, first in first_changed.items()
    }


def delete_notes(catalog: Catalog, first: First) -> None:
    """Delete the notes of chapters that are about to be replaced."""
    notes = lake.scan(catalog, CHAPTERS)
    stands = [
        begin < first.get(name, begin + 1) for name, begin in tuples(notes.select(["cluster", "chapter"]))
    ]
    if not all(stands):
        lake.replace(catalog, CHAPTERS, notes.filter(pa.array(stands, pa.bool_())))


def delete_all_notes(catalog: Catalog) -> None:
    """Delete all notes: a rebuild of a window does not make silver chapter by chapter."""
    lake.replace(catalog, CHAPTERS, CHAPTERS.arrow_schema.empty_table())


def write_notes(catalog: Catalog, plan: Sequence[Chapter], seen: Seen, made_by: str) -> None:
    """Note that silver has all chapters of the plan. Those without a note were rebuilt: they get a new
    revision.
    """
    present = {
        (row["cluster"], row["chapter"]): row["revision"] for row in lake.scan(catalog, CHAPTERS).to_pylist()
    }
    rows = []
    for chapter in plan:
        begins = None if chapter.begin == FIRST else datetime.fromtimestamp(chapter.begin / 1000, UTC)
        for name, until in chapter.until_ms.items():
            revision = present.get((name, chapter.begin)) or uuid4().hex
            rows.append((name, chapter.begin, begins, until, revision, made_by, json.dumps(seen)))
    lake.replace(catalog, CHAPTERS, CHAPTERS.rows(rows))
    note_read(catalog, seen)
