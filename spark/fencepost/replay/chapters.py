"""The chapters of a cluster's history: each is rebuilt separately, so that a run rebuilds only what changed.

A chapter begins at a multiple of ``[audit] chapter``, by the times in the evidence, if lines of request logs
follow there. One with many lines is divided in halves, and these again; where few lines follow, up to eight
are one. So the same evidence has the same chapters, in whatever order and in how many runs it was captured. A
chapter reads what was written from some time before its begin until some time after its end (OVERLAP_MS), and
begins with compacted logs of coordinators. Of the rows rebuilt from that it keeps those that ended in the
chapter; the last chapter also keeps those that go on. So a chapter and all later ones together have the rows
that were true at its begin or later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.replay.requests import LATEST_MS
from fencepost.settings.values import SHORTEST_CHAPTER_MS

FIRST = 0
"""The begin of the first chapter, which has everything before the second one."""

MOST = 4_000
"""The most chapters of a cluster before any is divided, eleven years of days: each has a cost, however little
evidence it has.
"""

MOST_LINES = 100_000
"""A chapter with more lines is divided: while its lines come in, each run rebuilds it."""

FEW_LINES = 8_000
"""A chapter that is longer than ``[audit] chapter`` has at most so many: to rebuild and to judge them takes
about as long as every later run takes for the files of a dozen chapters.
"""

SHORTEST_MS = SHORTEST_CHAPTER_MS
"""No chapter is divided into shorter ones."""

OVERLAP_MS = 3_600_000
"""How far a chapter reads beyond its begin and its end: lines and records up to so long before or after an
event are evidence about it.
"""


@dataclass(frozen=True)
class Chapter:
    """``begin``: in ms, FIRST for the first one. ``until_ms``: for each cluster that has this chapter the
    begin of its next one, None for its last.
    """

    begin: int
    until_ms: Mapping[str, int | None]

    @property
    def reads_since_ms(self) -> dict[str, int]:
        """The time from which on each cluster's lines are read."""
        return dict.fromkeys(self.until_ms, _reads_since(self.begin))

    @property
    def reads_until_ms(self) -> dict[str, int | None]:
        """The time up to which each cluster's evidence is read."""
        return {
            cluster: None if until is None else until + OVERLAP_MS for cluster, until in self.until_ms.items()
        }

    @property
    def next_reads_logs_since_ms(self) -> dict[str, int]:
        """The time from which on logs are read for the next chapter, for clusters that have one."""
        return {name: reads_logs_since(until) for name, until in self.until_ms.items() if until is not None}

    def since(self, first: Mapping[str, int]) -> Chapter:
        """This chapter for the clusters that are rebuilt from this or an earlier chapter on."""
        changed = {
            name: until
            for name, until in self.until_ms.items()
            if first.get(name, self.begin + 1) <= self.begin
        }
        return Chapter(self.begin, changed)

    @property
    def goes_on_in(self) -> list[int]:
        """The begins of the next chapters of all clusters."""
        return sorted({until for until in self.until_ms.values() if until is not None})

    def ending_at(self, begin: int) -> list[str]:
        """The clusters whose next chapter begins at ``begin``."""
        return [cluster for cluster, until in self.until_ms.items() if until == begin]

    def ends_of(self, rows: pa.Table) -> pa.Array:
        """For each row the end of this chapter of its cluster, in ms; null in the last chapter."""
        ends = pa.array(self.until_ms.values(), pa.int64())
        return ends.take(pc.index_in(rows["cluster"], pa.array(self.until_ms, pa.string())))

    @property
    def is_all(self) -> bool:
        """Whether no cluster has another chapter."""
        return self.begin == FIRST and not any(until is not None for until in self.until_ms.values())


def _reads_since(begin: int) -> int:
    return begin - OVERLAP_MS if begin != FIRST else FIRST


def reads_logs_since(begin: int) -> int:
    """The time from which on logs are read for a chapter that begins at ``begin``."""
    return _reads_since(begin) - LATEST_MS


def chapters(begins: Mapping[str, Iterable[int]]) -> list[Chapter]:
    """The chapters of all clusters, in order; ``begins``: cluster -> begins, FIRST among them."""
    until: dict[int, dict[str, int | None]] = {}
    for cluster, each in begins.items():
        ordered = sorted(each)
        for begin, following in zip(ordered, [*ordered[1:], None], strict=True):
            until.setdefault(begin, {})[cluster] = following
    return [Chapter(begin, following) for begin, following in sorted(until.items())]


def shortest(length_ms: int) -> int:
    """The length of the parts into which a chapter may be divided."""
    while length_ms % 2 == 0 and length_ms // 2 >= SHORTEST_MS:
        length_ms //= 2
    return length_ms


def begins(lines: Mapping[int, int], length_ms: int, longest_ms: int | None = None) -> list[int]:
    """When the chapters of a cluster begin; ``lines``: the begins of the parts of its history, of the
    shortest length, that have lines -> how many.

    A chapter begins at each multiple of ``length_ms`` that lines of request logs follow before the next
    multiple. While a chapter has more than MOST_LINES, it is divided in halves; a half without lines begins
    no chapter. Chapters up to ``longest_ms`` long (None: they are not united) are one if they have FEW_LINES
    together. The first chapter has at least one whole length. All of history is one chapter if there are no
    lines.

    Brokers date lines; dates that clients set are not used. A multiple without lines begins no chapter, so a
    clock that was wrong by years for a moment adds only one chapter. If there are more than MOST multiples,
    the length is doubled until there are not.
    """
    if not lines:
        return [FIRST]
    part_ms = shortest(length_ms)
    while len({each // length_ms for each in lines}) > MOST:
        length_ms *= 2
    united_ms = length_ms
    while 2 * united_ms <= (longest_ms or 0):
        united_ms *= 2
    divided = _divided(lines, united_ms, part_ms, length_ms)
    # lines seldom begin at a multiple: the first chapter also has the part before it
    begin, length = divided[0]
    second = max(FIRST, begin) + 2 * length
    return [FIRST, *(each for each, _ in divided if each >= second)]


def _divided(lines: Mapping[int, int], length_ms: int, part_ms: int, usual_ms: int) -> list[tuple[int, int]]:
    """The begins and the lengths of the parts of a history that have at most MOST_LINES (FEW_LINES, where
    they are longer than ``usual_ms``), or are no longer than ``part_ms``.
    """
    most = MOST_LINES if length_ms <= usual_ms else FEW_LINES
    by_begin: dict[int, dict[int, int]] = {}
    for begin in sorted(lines):
        by_begin.setdefault(begin // length_ms * length_ms, {})[begin] = lines[begin]
    parts: list[tuple[int, int]] = []
    for begin, each in by_begin.items():
        if length_ms > part_ms and sum(each.values()) > most:
            parts += _divided(each, length_ms // 2, part_ms, usual_ms)
        else:
            parts.append((begin, length_ms))
    return parts
