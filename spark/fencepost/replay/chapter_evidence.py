"""What a chapter is rebuilt from: what was written about then, and what was left before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyiceberg.catalog import Catalog

from fencepost.engines import Engine
from fencepost.replay.begins import Begins
from fencepost.replay.bounded import Bounded, Bounds, bounds
from fencepost.replay.carried import left_before
from fencepost.replay.chapters import FIRST, Chapter, reads_logs_since
from fencepost.replay.compaction import compaction
from fencepost.replay.evidence import Beside, Evidence, cuts_of, metadata_logs, releases
from fencepost.replay.held import held
from fencepost.replay.log_names import AsNamedNow, Names
from fencepost.replay.window import EvidenceSizes, cuts
from fencepost.replay.windowed import Windowed
from fencepost.settings import Settings
from fencepost.tables import COMPACTED_LOGS


@dataclass(frozen=True)
class Source:
    """Where the evidence of all chapters is read; ``beside``: what bronze has of metadata logs beside
    them; ``names``: what logs in text are called now.
    """

    engine: Engine
    catalog: Catalog
    settings: Settings
    sizes: EvidenceSizes
    beside: Beside
    names: Names


def evidence_of(chapter: Chapter, previous: Mapping[str, int], source: Source, begins: Begins) -> Evidence:
    """What a chapter is rebuilt from.

    ``previous``: by cluster, the begin of the chapter before, if what compaction leaves before this one is to
    be made of what it left before that; for others it stands as an earlier run has made it.
    """
    engine, settings = source.engine, source.settings
    since = chapter.reads_since_ms
    limits = bounds(engine, since, chapter.reads_until_ms)
    read: Engine = Bounded(engine, limits)
    compacted = COMPACTED_LOGS.arrow_schema.empty_table()
    if chapter.begin != FIRST:
        cut = cuts(read, dict.fromkeys(since, reads_logs_since(chapter.begin)))
        if previous:
            left = begins.left(previous)
            before = left_before(engine.collect(left[COMPACTED_LOGS.name]), previous)
            followed = Bounded(engine, _followed(engine, chapter, previous))
            begins.leave(
                chapter.begin, compaction(followed, source.catalog, cut, (before, left), chapter.begin)
            )
        left = begins.left(dict.fromkeys(since, chapter.begin))
        compacted = engine.collect(left[COMPACTED_LOGS.name])
        read = Windowed(read, since, cut, left)
    ended = [cluster for cluster, until in chapter.until_ms.items() if until is not None]
    return Evidence(
        held(AsNamedNow(read, source.names), source.sizes.between(since, chapter.reads_until_ms)),
        source.catalog,
        metadata_logs(read, source.beside, since, ended),
        {cluster: each for cluster, each in releases(settings).items() if cluster in since},
        settings.clock_tolerance_ms,
        begins.handed_down(chapter.begin),
        chapter.next_reads_logs_since_ms,
        cuts_of(compacted),
    )


def _followed(engine: Engine, chapter: Chapter, previous: Mapping[str, int]) -> Bounds:
    """The bounds of what followed what compaction left before: also of a log that nobody has written to since
    this chapter's own evidence begins.
    """
    since = {name: reads_logs_since(begin) for name, begin in previous.items()}
    until = {name: chapter.reads_until_ms[name] for name in previous}
    return bounds(engine, since, until)
