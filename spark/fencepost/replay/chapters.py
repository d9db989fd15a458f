"""The chapters of a cluster's history: each is rebuilt by itself, so that a run rebuilds only what changed.

History is cut at whole multiples of ``[audit] chapter`` of evidence time, where request lines follow, so the
same evidence has the same chapters in whatever order and in how many runs it came. A chapter reads what was
written from some time before its begin until some time after its end (OVERLAP_MS), and begins with what
compaction left of coordinators' logs before. Of what is rebuilt from that, it keeps what was over in it; the
last chapter also keeps what goes on. So the rows of a chapter and all later ones are what was true at its
begin or after.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.replay.requests import LATEST_MS
from fencepost.tables import REQUESTS

FIRST = 0
"""The begin of the first chapter, which has all that was before the second."""

MOST = 4_000
"""A cluster has no more chapters than that, eleven years of days: each costs something, whatever it holds."""

OVERLAP_MS = 3_600_000
"""How far a chapter reads beyond its begin and its end: for so long what was said before an event, or after,
tells about it.
"""


@dataclass(frozen=True)
class Chapter:
    """``begin``: in ms, FIRST of the first; ``until_ms``: by cluster that has this chapter, the begin of its
    next one, None in its last.
    """

    begin: int
    until_ms: Mapping[str, int | None]

    @property
    def reads_since_ms(self) -> dict[str, int]:
        """From when on each cluster's lines are read."""
        return dict.fromkeys(self.until_ms, _reads_since(self.begin))

    @property
    def reads_until_ms(self) -> dict[str, int | None]:
        """Until when each cluster's evidence is read."""
        return {
            cluster: None if until is None else until + OVERLAP_MS for cluster, until in self.until_ms.items()
        }

    @property
    def next_reads_logs_since_ms(self) -> dict[str, int]:
        """From when on logs are read for the next chapter of each cluster that has one."""
        return {name: reads_logs_since(until) for name, until in self.until_ms.items() if until is not None}

    def since(self, first: Mapping[str, int]) -> Chapter:
        """This chapter of the clusters that are rebuilt from it, or an earlier one, on."""
        changed = {
            name: until
            for name, until in self.until_ms.items()
            if first.get(name, self.begin + 1) <= self.begin
        }
        return Chapter(self.begin, changed)

    @property
    def goes_on_in(self) -> list[int]:
        """The begins of the chapters that follow it, of whatever cluster."""
        return sorted({until for until in self.until_ms.values() if until is not None})

    def ending_at(self, begin: int) -> list[str]:
        """The clusters whose next chapter begins then."""
        return [cluster for cluster, until in self.until_ms.items() if until == begin]

    def ends_of(self, rows: pa.Table) -> pa.Array:
        """Of each row when this chapter of its cluster ends, in ms; null in the last one."""
        ends = pa.array(self.until_ms.values(), pa.int64())
        return ends.take(pc.index_in(rows["cluster"], pa.array(self.until_ms, pa.string())))

    @property
    def is_all(self) -> bool:
        """Whether no cluster has another one."""
        return self.begin == FIRST and not any(until is not None for until in self.until_ms.values())


def _reads_since(begin: int) -> int:
    return begin - OVERLAP_MS if begin != FIRST else FIRST


def reads_logs_since(begin: int) -> int:
    """From when on logs are read for a chapter that begins then."""
    return _reads_since(begin) - LATEST_MS


def chapters(begins: Mapping[str, Iterable[int]]) -> list[Chapter]:
    """The chapters of all clusters, in order; ``begins``: of each cluster, FIRST among them."""
    found: dict[int, dict[str, int | None]] = {}
    for cluster, each in begins.items():
        ordered = sorted(each)
        for begin, until in zip(ordered, [*ordered[1:], None], strict=True):
            found.setdefault(begin, {})[cluster] = until
    return [Chapter(begin, until) for begin, until in sorted(found.items())]


def begins(catalog: Catalog, cluster: str, length_ms: int | None) -> list[int]:
    """Where the chapters of a cluster begin: at each multiple of ``length_ms`` that lines of request logs
    follow, before the next one. The first chapter has at least one whole length; all of history is one
    chapter where there are no lines, and where no length is given.

    Brokers date lines. What clients date is not asked, nor is a multiple without lines a chapter: so a clock
    that was wrong for a moment, by years, makes one chapter more. Where there are more than MOST, each is
    twice as long, or as often twice as is needed.
    """
    if length_ms is None:
        return [FIRST]
    found = lake.multiples(catalog, REQUESTS, "logged_at_ms", length_ms, [{"cluster": cluster}])
    while len(found) > MOST:
        length_ms *= 2
        found = {each // length_ms * length_ms for each in found}
    # lines seldom begin with a length
    second = max(FIRST, min(found, default=FIRST)) + 2 * length_ms
    return [FIRST, *sorted(each for each in found if each >= second)]
