"""How much of its history a cluster keeps: the chapters that reach into the window of the audit, of those
that have all their evidence.

Only evidence decides: a window ends with the newest time that the cluster's brokers wrote. The wall clock is
never used, so the same evidence always has the same window.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import inf
from types import MappingProxyType

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.conditions import Condition, Where, Within
from fencepost.replay.borders import evidence_since
from fencepost.replay.chapters import FIRST, Chapter
from fencepost.replay.cuts import COMPACTED
from fencepost.replay.keys import METADATA_TOPIC
from fencepost.tables import BATCHES, CHAPTER, REQUESTS, WINDOWS


@dataclass(frozen=True)
class Kept:
    """``since``: cluster -> the begin of the first chapter that is kept, for clusters that have earlier ones.
    ``newest``: cluster -> the newest time of its evidence, in ms.
    """

    since: Mapping[str, int]
    newest: Mapping[str, int]

    def has(self, cluster: str, begin: int) -> bool:
        """Whether a chapter is kept."""
        return begin >= self.since.get(cluster, FIRST)

    @property
    def others(self) -> Where:
        """Chooses the rows of chapters that are not kept."""
        return [{"cluster": name, CHAPTER: Within(below=begin)} for name, begin in self.since.items()]

    def rows(self) -> pa.Table:
        """Rows of WINDOWS."""
        return WINDOWS.rows(
            (cluster, _utc(self.since.get(cluster)), _utc(newest))
            for cluster, newest in sorted(self.newest.items())
        )


def kept(
    catalog: Catalog,
    plan: Sequence[Chapter],
    window_ms: int | None,
    borders_ms: Mapping[str, int] = MappingProxyType({}),
) -> Kept:
    """What is kept of the planned chapters; ``window_ms``: the length of the window, None if all of history
    is audited; ``borders_ms``: cluster -> from when on its evidence is kept, for clusters of which older
    evidence was deleted. Of these only chapters are kept that have all of theirs, and the last one.
    """
    newest = _newest(catalog, {name for each in plan for name in each.until_ms})
    since: dict[str, int] = {}
    before: dict[str, int] = {}
    for chapter in plan:
        for name in chapter.until_ms:
            in_window = window_ms is None or newest.get(name, FIRST) - window_ms < chapter.begin
            lacks_some = name in before and evidence_since(before[name]) < borders_ms.get(name, -inf)
            if chapter.begin > FIRST and (lacks_some or not in_window):
                since[name] = chapter.begin
            before[name] = chapter.begin
    return Kept(since, newest)


def _newest(catalog: Catalog, clusters: set[str]) -> dict[str, int]:
    """The newest time of each cluster's request lines and metadata log; of a cluster that has neither, of
    coordinators' logs.
    """
    newest: dict[str, int] = {}
    for cluster in clusters:
        ms = lake.greatest(catalog, REQUESTS, "logged_at_ms", [{"cluster": cluster}])
        # the metadata log is long: only files are read that may have a newer time
        for topics in (frozenset({METADATA_TOPIC}), COMPACTED - {METADATA_TOPIC}):
            since: Condition = {} if ms is None else {"max_timestamp_ms": Within(least=ms)}
            where = [{"cluster": cluster, "topic": topics, **since}]
            written = lake.scan(catalog, BATCHES, ("max_timestamp_ms",), where)
            if written.num_rows:
                ms = pc.max(written["max_timestamp_ms"]).as_py()
            if ms is not None:
                newest[cluster] = ms
                break
    return newest


def _utc(ms: int | None) -> datetime | None:
    return None if ms is None else datetime.fromtimestamp(ms / 1000, UTC)
