"""What a rebuild notes of itself: which chapters silver has, and what each of them begins with.

A chapter is noted when its rows are in silver. Before they are replaced the note is taken away, so a run that
was killed has noted nothing that is not so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.formats.arrow_stream import read, written
from fencepost.lake import AtLeast, Below
from fencepost.replay.chapters import FIRST, Chapter
from fencepost.replay.compaction import TABLES as COMPACTED
from fencepost.replay.entities import tuples
from fencepost.replay.news import Seen, first_concerned
from fencepost.tables import CHAPTERS, HANDED_DOWN

First = Mapping[str, int]
"""The begin of the first chapter of each cluster that is rebuilt."""

BEGINS_KEPT = 8
"""Of so many chapters what they begin with is kept."""


def first_changed(catalog: Catalog, plan: Sequence[Chapter], made_by: str) -> dict[str, int]:
    """The first chapter of each cluster that is not in silver as it would be made now; without a cluster that
    has none.
    """
    noted = {(row["cluster"], row["chapter"]): row for row in lake.scan(catalog, CHAPTERS).to_pylist()}
    planned = {(name, each.begin): until for each in plan for name, until in each.until_ms.items()}
    begins: dict[str, list[int]] = {}
    for name, begin in planned:
        begins.setdefault(name, []).append(begin)
    found: dict[str, int] = {}
    for (name, begin), until in planned.items():
        row = noted.get((name, begin))
        if row is None or row["made_by"] != made_by or row["until"] != until:
            found[name] = min(begin, found.get(name, begin))
    for name, begin in noted:
        if name in begins and begin not in begins[name]:
            found[name] = min(found.get(name, begin), max(each for each in begins[name] if each < begin))
    for seen in {row["seen"] for row in noted.values()}:
        clusters = {
            name: begins[name] for (name, _), row in noted.items() if row["seen"] == seen and name in begins
        }
        for name, first in first_concerned(catalog, json.loads(seen), clusters).items():
            if first is not None:
                found[name] = min(first, found.get(name, first))
    kept = lake.scan(catalog, HANDED_DOWN, ("cluster", "chapter"))
    known = set(tuples(kept.group_by(["cluster", "chapter"]).aggregate([])))
    return {name: first if (name, first) in known else FIRST for name, first in found.items()}


def forget(catalog: Catalog, first: First) -> None:
    """Take away the notes of chapters that are about to be replaced."""
    if first:
        lake.delete(catalog, CHAPTERS, _since(first))


def forget_old_begins(catalog: Catalog, plan: Sequence[Chapter]) -> None:
    """Keep what the newest chapters begin with, no more: evidence that concerns older ones is rare, and has
    all of history rebuilt.
    """
    begins: dict[str, list[int]] = {}
    for chapter in plan:
        for name in chapter.until_ms:
            begins.setdefault(name, []).append(chapter.begin)
    old = [
        {"cluster": name, "chapter": Below(each[-BEGINS_KEPT], FIRST + 1)}
        for name, each in begins.items()
        if len(each) > BEGINS_KEPT
    ]
    if old:
        for table in (*COMPACTED, HANDED_DOWN):
            lake.delete(catalog, table, old)


def forget_all(catalog: Catalog) -> None:
    """Take away all notes: silver is not made of chapters."""
    lake.replace(catalog, CHAPTERS, CHAPTERS.arrow_schema.empty_table())


def note(catalog: Catalog, plan: Sequence[Chapter], seen: Seen, made_by: str) -> None:
    """Note that silver has all chapters of the plan. Those that were not noted have been made anew."""
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


def hand_down(catalog: Catalog, begin: int, rows: Mapping[str, pa.Table], clusters: Sequence[str]) -> None:
    """Store what the chapters of these clusters that begin then begin with."""
    packed = [
        (cluster, begin, name, written(each.filter(pc.equal(each["cluster"], cluster)), compressed=True))
        for cluster in clusters
        for name, each in rows.items()
    ]
    where = [{"cluster": cluster, "chapter": begin} for cluster in clusters]
    lake.replace(catalog, HANDED_DOWN, HANDED_DOWN.rows(packed), where)


def handed_down_to(catalog: Catalog, first: First) -> dict[int, dict[str, pa.Table]]:
    """What the first chapters that are rebuilt begin with: by begin and table's name."""
    where = [{"cluster": name, "chapter": begin} for name, begin in first.items()]
    found: dict[int, dict[str, pa.Table]] = {}
    for row in lake.scan(catalog, HANDED_DOWN, (), where).to_pylist():
        add(found.setdefault(row["chapter"], {}), {row["table_name"]: read(row["rows"])})
    return found


def add(to: dict[str, pa.Table], rows: Mapping[str, pa.Table]) -> None:
    """Clusters that have other chapters before the same one hand down to it, too."""
    for name, each in rows.items():
        to[name] = pa.concat_tables([to[name], each]) if name in to else each


def _since(first: First) -> list[dict[str, object]]:
    return [{"cluster": name, "chapter": AtLeast(begin)} for name, begin in first.items()]
