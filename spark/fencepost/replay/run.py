"""Rebuilds silver from bronze: every protocol's logs are replayed, chapter by chapter."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.engines import Engine, Rows
from fencepost.ledger import Ledger
from fencepost.protocols import captured, group_replays, protocols
from fencepost.protocols.base import Protocol
from fencepost.replay.borders import Borders
from fencepost.replay.chapter_entries import ChapterEntries
from fencepost.replay.chapter_evidence import Source, evidence_of
from fencepost.replay.chapter_snapshots import (
    ChapterSnapshots,
    delete_later_snapshots,
    delete_old_snapshots,
    stored_snapshots,
)
from fencepost.replay.chapters import FIRST, Chapter, begins, chapters, shortest
from fencepost.replay.cuts import EvidenceSizes
from fencepost.replay.evidence import Evidence, MetadataEvidence, evidence
from fencepost.replay.garbage_collection import collection_paused, give_all_back
from fencepost.replay.handed_down_rows import hand_down, take_over
from fencepost.replay.held_rows import HeldRows
from fencepost.replay.kept_rows import KeptRows
from fencepost.replay.line_counts import line_counts
from fencepost.replay.log_names import current_names
from fencepost.replay.retention import kept
from fencepost.replay.silver_writer import SilverWriter
from fencepost.replay.unread_evidence import READ, unread_evidence
from fencepost.replay.view import EvidenceView
from fencepost.settings import Settings
from fencepost.tables import FILES, QUARANTINE, UNREAD_EVIDENCE, WINDOWS, Table

log = logging.getLogger(__name__)

EngineFor = Callable[[int, str], Engine]
"""Chooses the engine for so many bytes of evidence and the name of the work."""

RowsByTable = Mapping[str, Rows]
"""Table's name -> rows."""


def rebuild(
    settings: Settings, catalog: Catalog, engine_for: EngineFor, ledger: Ledger | None = None
) -> dict[str, int]:
    """Rebuild the histories of silver from bronze: for each cluster the chapters that may have changed since
    the last run. Each table is replaced in one commit, or in several if there are many chapters
    (SilverWriter). Chapters that are older than the window are not kept.

    Returns table's name -> how many rows it has. Running it again on the same bronze gives the same tables,
    whatever the order in which bronze was captured.
    """
    ledger = ledger or Ledger(catalog, settings)
    borders = Borders.of(catalog)
    plan = _plan(catalog, settings, borders)
    keeps = kept(catalog, plan, settings.window_ms, borders.since_ms)
    entries = ChapterEntries(plan, keeps, ledger.standing("rebuild"))
    first = entries.changed(ledger, stored_snapshots(catalog))
    ledger.begin("rebuild", entries.before(first))
    lake.replace(catalog, WINDOWS, keeps.rows())
    lake.replace(catalog, UNREAD_EVIDENCE, unread_evidence(lake.scan(catalog, QUARANTINE, READ)))
    changed = [each for each in (chapter.since(first) for chapter in plan) if each.until_ms]
    if changed:
        delete_later_snapshots(catalog, first)
        sizes = EvidenceSizes.of(catalog)
        engine = engine_for(_size(sizes, changed), "rebuild")
    if not changed:
        counts = {table.name: lake.count(catalog, table) for table in _tables()}
    elif changed == plan and all(chapter.is_all for chapter in changed):
        counts = _replaced(engine, evidence(engine, catalog, settings, group_replays()))
    else:
        counts = _rebuild_chapters(
            Source(
                EvidenceView(engine, HeldRows(engine, catalog, captured())),
                catalog,
                settings,
                sizes,
                MetadataEvidence.of(catalog),
                current_names(engine),
                borders,
            ),
            changed,
            SilverWriter(engine, _tables(), first, keeps, whole=changed == plan),
            ChapterSnapshots(engine, catalog, plan, first),
            standing=lambda until: ledger.note("rebuild", entries.before({**first, **until})),
        )
    ledger.done("rebuild", entries.all(), dict(counts))
    delete_old_snapshots(catalog, plan)
    return counts


def _plan(catalog: Catalog, settings: Settings, borders: Borders) -> list[Chapter]:
    """The chapters of every cluster in bronze. One begins where the evidence begins that is kept, also if
    chapters had another length when older evidence was deleted.
    """
    clusters = sorted(set(lake.scan(catalog, FILES, ("cluster",))["cluster"].to_pylist()))
    length_ms = settings.chapter_ms
    if length_ms is None:
        of_clusters = {name: [FIRST] for name in clusters}
    else:
        lines = line_counts(catalog, shortest(length_ms))
        longest_ms = settings.longest_chapter_ms
        of_clusters = {name: begins(lines.get(name, {}), length_ms, longest_ms) for name in clusters}
    return chapters({name: {*each, borders.since_ms.get(name, FIRST)} for name, each in of_clusters.items()})


def _rebuild_chapters(
    source: Source,
    changed: Sequence[Chapter],
    silver: SilverWriter,
    snapshots: ChapterSnapshots,
    *,
    standing: Callable[[Mapping[str, int]], None],
) -> dict[str, int]:
    """Rebuild the changed chapters. ``standing`` is called after commits with the begin, by cluster, from
    which on silver is not yet replaced.
    """
    engine = source.view
    before: dict[str, int] = {}
    counts: dict[str, int] = {}
    for number, (chapter, following) in enumerate(zip_longest(changed, changed[1:]), start=1):
        log.info("chapter %d of %d", number, len(changed))
        previous = {name: before[name] for name in chapter.until_ms if name in before}
        handed_down = snapshots.handed_down(chapter.begin)
        rebuilt = _rebuilt(evidence_of(chapter, previous, source, snapshots))
        completed = {
            table.name: take_over(
                engine, table, rebuilt[table.name], handed_down.get(table.name), chapter.begin
            )
            for table in _tables()
        }
        kept_rows = KeptRows(chapter, handed_down)
        silver.add(chapter, {table.name: kept_rows.of(engine, table, completed) for table in _tables()})
        for begin, rows in _handed_down(engine, chapter, {**rebuilt, **completed}).items():
            snapshots.hand_down(begin, rows, chapter.ending_at(begin))
        before.update(dict.fromkeys(chapter.until_ms, chapter.begin))
        snapshots.release(set(before.values()))
        if following is None or silver.is_full:
            for begin in set(before.values()) if following is not None else ():
                # if this run is killed, the next one continues from the newest chapters that are in silver
                snapshots.store(begin)
            counts = silver.commit(following)
            give_all_back()
            if following is not None:
                standing(before)
    return counts


def _handed_down(engine: Engine, chapter: Chapter, rebuilt: RowsByTable) -> dict[int, dict[str, pa.Table]]:
    """Begin of the next chapter -> the rows that are handed down to it."""
    if not chapter.goes_on_in:
        return {}
    rows = {
        table.name: hand_down(engine, table, rebuilt[table.name], chapter)
        for table in _tables()
        if table.is_handed_down
    }
    for table in (each for protocol in protocols() for each in protocol.states):
        rows[table.name] = engine.collect(rebuilt[table.name])
    handed_down: dict[int, dict[str, pa.Table]] = {}
    for begin in chapter.goes_on_in:
        clusters = pa.array(chapter.ending_at(begin), pa.string())
        handed_down[begin] = {
            name: each.filter(pc.is_in(each["cluster"], clusters)) for name, each in rows.items()
        }
    return handed_down


def _replaced(engine: Engine, given: Evidence) -> dict[str, int]:
    """Rebuild and replace the tables of one protocol after the other: only one protocol's rows are in
    memory.
    """
    counts: dict[str, int] = {}
    for protocol in protocols():
        counts |= _replaced_of(protocol, engine, given)
        give_all_back()
    return counts


def _replaced_of(protocol: Protocol, engine: Engine, given: Evidence) -> dict[str, int]:
    rebuilt = _of_protocol(protocol, given)
    own = {table.name: rebuilt[table.name] for table in protocol.tables}
    # free rows of other tables, which the protocol only hands down
    del rebuilt
    return {table.name: engine.replace(table, own.pop(table.name)) for table in protocol.tables}


def _rebuilt(given: Evidence) -> dict[str, Rows]:
    rebuilt: dict[str, Rows] = {}
    for protocol in protocols():
        rebuilt |= _of_protocol(protocol, given)
    return rebuilt


def _of_protocol(protocol: Protocol, given: Evidence) -> dict[str, Rows]:
    with collection_paused():
        return dict(protocol.rebuild(given))


def _size(sizes: EvidenceSizes, changed: Sequence[Chapter]) -> int:
    """How many bytes of evidence may be read for the largest of these chapters; one is rebuilt at a time."""
    return max(sizes.between(each.reads_since_ms, each.reads_until_ms) for each in changed)


def _tables() -> list[Table]:
    return [table for protocol in protocols() for table in protocol.tables]
