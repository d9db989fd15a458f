"""The evidence of one chapter: what was written around its time, and what compaction left from before."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pyiceberg.catalog import Catalog

from fencepost.engines import Engine
from fencepost.protocols import captured, group_replays
from fencepost.replay.borders import Borders
from fencepost.replay.chapter_snapshots import ChapterSnapshots
from fencepost.replay.chapters import FIRST, Chapter, reads_logs_since
from fencepost.replay.compaction import compaction
from fencepost.replay.cuts import EvidenceSizes, cuts
from fencepost.replay.earlier_compaction import compaction_of_chapters
from fencepost.replay.evidence import Evidence, MetadataEvidence, cuts_of, metadata_logs, releases
from fencepost.replay.log_begins import Begins
from fencepost.replay.log_names import Names
from fencepost.replay.time_bounds import Bounds, bounds
from fencepost.replay.view import EvidenceView
from fencepost.settings import Settings
from fencepost.tables import COMPACTED_LOGS

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Source:
    """Where the evidence of all chapters is read. ``view``: all of it, in memory as far as chapters need it;
    ``beside``: bronze's evidence about metadata logs beyond
    the logs themselves; ``names``: the current names of text logs; ``borders``: from where on it is kept.
    """

    view: EvidenceView
    catalog: Catalog
    settings: Settings
    sizes: EvidenceSizes
    beside: MetadataEvidence
    names: Names
    borders: Borders


def evidence_of(
    chapter: Chapter, previous: Mapping[str, int], source: Source, snapshots: ChapterSnapshots
) -> Evidence:
    """The evidence from which a chapter is rebuilt.

    ``previous``: cluster -> the begin of the chapter before. For these clusters the compacted logs of this
    chapter are computed from those of the chapter before; for others an earlier run has stored them.
    """
    engine, settings = source.view, source.settings
    if source.borders.reach(chapter.begin):
        engine = replace(engine, borders=source.borders)
    since = chapter.reads_since_ms
    view = replace(engine, bounds=bounds(engine, since, chapter.reads_until_ms))
    compacted = COMPACTED_LOGS.arrow_schema.empty_table()
    if chapter.begin != FIRST:
        cut = cuts(view, dict.fromkeys(since, reads_logs_since(chapter.begin)))
        if previous:
            compacted_rows = snapshots.compacted(previous)
            before = compaction_of_chapters(engine.collect(compacted_rows[COMPACTED_LOGS.name]), previous)
            followed = replace(engine, bounds=_followed(engine, chapter, previous))
            snapshots.keep_compacted(
                chapter.begin, compaction(followed, cut, (before, compacted_rows), chapter.begin)
            )
        compacted_rows = snapshots.compacted(dict.fromkeys(since, chapter.begin))
        compacted = engine.collect(compacted_rows[COMPACTED_LOGS.name])
        view = replace(view, begins=Begins(since, cut, compacted_rows))
    ended = [cluster for cluster, until in chapter.until_ms.items() if until is not None]
    logs = metadata_logs(view, source.beside, since, ended)
    view = replace(view, names=source.names).with_line_times(settings.clock_tolerance_ms)
    view = view.with_cache(source.sizes.between(since, chapter.reads_until_ms))
    for table in captured() if log.isEnabledFor(logging.DEBUG) else ():
        log.debug("%s", view.explain(table))
    return Evidence(
        view,
        source.catalog,
        logs,
        {cluster: each for cluster, each in releases(settings).items() if cluster in since},
        settings.clock_tolerance_ms,
        view.line_times,
        snapshots.handed_down(chapter.begin),
        chapter.next_reads_logs_since_ms,
        cuts_of(compacted),
        group_replays(),
    )


def _followed(engine: Engine, chapter: Chapter, previous: Mapping[str, int]) -> Bounds:
    """The bounds of the evidence that follows the compacted logs of the chapter before. They begin before
    this chapter's own evidence, for logs that were not written since.
    """
    since = {name: reads_logs_since(begin) for name, begin in previous.items()}
    until = {name: chapter.reads_until_ms[name] for name in previous}
    return bounds(engine, since, until)
