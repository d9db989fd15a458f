"""The evidence of one chapter: what was written around its time, and what compaction left from before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyiceberg.catalog import Catalog

from fencepost.engines import Engine
from fencepost.replay.chapter_snapshots import ChapterSnapshots
from fencepost.replay.chapters import FIRST, Chapter, reads_logs_since
from fencepost.replay.clock_steps import SteppedClockEngine
from fencepost.replay.compaction import compaction
from fencepost.replay.cuts import EvidenceSizes, cuts
from fencepost.replay.earlier_compaction import compaction_of_chapters
from fencepost.replay.evidence import Evidence, MetadataEvidence, cuts_of, metadata_logs, releases
from fencepost.replay.log_names import Names, RenamingEngine
from fencepost.replay.table_cache import with_table_cache
from fencepost.replay.time_bounds import BoundedEngine, Bounds, bounds
from fencepost.replay.window_engine import WindowEngine
from fencepost.settings import Settings
from fencepost.tables import COMPACTED_LOGS


@dataclass(frozen=True)
class Source:
    """Where the evidence of all chapters is read. ``beside``: bronze's evidence about metadata logs beyond
    the logs themselves; ``names``: the current names of text logs.
    """

    engine: Engine
    catalog: Catalog
    settings: Settings
    sizes: EvidenceSizes
    beside: MetadataEvidence
    names: Names


def evidence_of(
    chapter: Chapter, previous: Mapping[str, int], source: Source, snapshots: ChapterSnapshots
) -> Evidence:
    """The evidence from which a chapter is rebuilt.

    ``previous``: cluster -> the begin of the chapter before. For these clusters the compacted logs of this
    chapter are computed from those of the chapter before; for others an earlier run has stored them.
    """
    engine, settings = source.engine, source.settings
    since = chapter.reads_since_ms
    limits = bounds(engine, since, chapter.reads_until_ms)
    read: Engine = BoundedEngine(engine, limits)
    compacted = COMPACTED_LOGS.arrow_schema.empty_table()
    if chapter.begin != FIRST:
        cut = cuts(read, dict.fromkeys(since, reads_logs_since(chapter.begin)))
        if previous:
            compacted_rows = snapshots.compacted(previous)
            before = compaction_of_chapters(engine.collect(compacted_rows[COMPACTED_LOGS.name]), previous)
            followed = BoundedEngine(engine, _followed(engine, chapter, previous))
            snapshots.keep_compacted(
                chapter.begin,
                compaction(followed, cut, (before, compacted_rows), chapter.begin),
            )
        compacted_rows = snapshots.compacted(dict.fromkeys(since, chapter.begin))
        compacted = engine.collect(compacted_rows[COMPACTED_LOGS.name])
        read = WindowEngine(read, since, cut, compacted_rows)
    ended = [cluster for cluster, until in chapter.until_ms.items() if until is not None]
    stepped = SteppedClockEngine(RenamingEngine(read, source.names), settings.clock_tolerance_ms)
    return Evidence(
        with_table_cache(stepped, source.sizes.between(since, chapter.reads_until_ms)),
        source.catalog,
        metadata_logs(read, source.beside, since, ended),
        {cluster: each for cluster, each in releases(settings).items() if cluster in since},
        settings.clock_tolerance_ms,
        stepped.steps,
        snapshots.handed_down(chapter.begin),
        chapter.next_reads_logs_since_ms,
        cuts_of(compacted),
    )


def _followed(engine: Engine, chapter: Chapter, previous: Mapping[str, int]) -> Bounds:
    """The bounds of the evidence that follows the compacted logs of the chapter before. They begin before
    this chapter's own evidence, for logs that were not written since.
    """
    since = {name: reads_logs_since(begin) for name, begin in previous.items()}
    until = {name: chapter.reads_until_ms[name] for name in previous}
    return bounds(engine, since, until)
