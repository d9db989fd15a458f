"""The records that commits may have written, without those that order and other commits exclude.

This uses no clock, only two facts: one commit wrote each record, and the requests of a connection are in
order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fencepost.protocols.offset_commit.order import ANYWHERE, Places
from fencepost.replay.logs import Longs

_ROUNDS = 16

Flags = NDArray[np.bool_]
Between = Callable[[Places], Places]
"""Order.between."""


class Pairs(NamedTuple):
    """Pairs of a commit and a record that it may have written, by their numbers. Sorted by commit, and for
    one commit by offset.
    """

    commits: Longs
    records: Longs

    def filter(self, which: Flags) -> Pairs:
        """The pairs for which ``which`` is true."""
        return Pairs(self.commits[which], self.records[which])


class RequestSizes(NamedTuple):
    """``request``: each commit's request, by its number; ``size``: how many commits each request has."""

    request: Longs
    size: Longs


def offset_bounds(pairs: Pairs, sizes: RequestSizes, offsets: Longs) -> Places:
    """The first and the last offset, both included, that the records of each request may have, by the records
    that its commits may have written; ANYWHERE for requests without any. ``offsets``: of the records.
    """
    count = len(sizes.size)
    bounds = Places(np.full(count, ANYWHERE.after), np.full(count, ANYWHERE.before))
    differs = pairs.commits[1:] != pairs.commits[:-1]
    some = [True] if len(pairs.commits) else []
    first, last = np.flatnonzero([*some, *differs]), np.flatnonzero([*differs, *some])
    np.maximum.at(bounds.after, sizes.request[pairs.commits[first]], offsets[pairs.records[first]])
    np.minimum.at(bounds.before, sizes.request[pairs.commits[last]], offsets[pairs.records[last]])
    return bounds


def narrow(pairs: Pairs, sizes: RequestSizes, offsets: Longs, between: Between) -> Pairs:
    """The pairs without those whose record another commit must have written, or that the order of requests
    excludes.

    If a commit has no pair left, some evidence is missing that was assumed to be complete. Then all pairs are
    dropped of the commits that share a record with it, directly or through other commits.
    """
    while True:
        open_pairs = _OpenPairs(pairs, sizes, offsets)
        open_pairs.narrow(between)
        refuted = open_pairs.refuted()
        if not len(refuted):
            return pairs.filter(open_pairs.is_open)
        doubted = np.zeros(len(sizes.request), dtype=np.bool_)
        doubted[_connected(pairs.filter(open_pairs.shared), refuted)] = True
        pairs = pairs.filter(~doubted[pairs.commits])


class _OpenPairs:
    """The pairs that are not excluded (``is_open``). ``shared``: pairs whose record has several commits."""

    def __init__(self, pairs: Pairs, sizes: RequestSizes, offsets: Longs) -> None:
        self._pairs, self._sizes, self._offsets = pairs, sizes, offsets
        self.is_open = np.ones(len(pairs.commits), dtype=np.bool_)
        self._counts = np.bincount(pairs.commits, minlength=len(sizes.request))
        self._had_pairs = self._counts > 0
        self._begins = np.searchsorted(pairs.commits, np.arange(len(sizes.request) + 1))
        shared = np.bincount(pairs.records, minlength=len(offsets)) > 1
        self.shared = shared[pairs.records]
        self._takers: defaultdict[int, list[int]] = defaultdict(list)
        for at in np.flatnonzero(self.shared).tolist():
            self._takers[int(pairs.records[at])].append(at)

    def narrow(self, between: Between) -> None:
        """Exclude pairs until no rule excludes more, or for _ROUNDS rounds."""
        before = -1
        for _ in range(_ROUNDS):
            now = int(self.is_open.sum())
            if now == before:
                break
            before = now
            self._apply_order(between)
            self._assign_singles()

    def refuted(self) -> Longs:
        """The commits that had pairs and have none left."""
        return np.flatnonzero(self._had_pairs & (self._counts == 0))

    def _apply_order(self, between: Between) -> None:
        pairs, sizes = self._pairs.filter(self.is_open), self._sizes
        own = offset_bounds(pairs, sizes, self._offsets)
        places = between(own)
        # the records of one request have consecutive offsets
        is_known = own.after > ANYWHERE.after
        after = np.maximum(places.after, np.where(is_known, own.after - sizes.size, ANYWHERE.after))
        before = np.minimum(
            places.before, np.where(is_known, np.where(is_known, own.before, 0) + sizes.size, ANYWHERE.before)
        )
        offsets, of = self._offsets[pairs.records], sizes.request[pairs.commits]
        excluded = np.flatnonzero((offsets <= after[of]) | (offsets >= before[of]))
        self.is_open[np.flatnonzero(self.is_open)[excluded]] = False
        np.subtract.at(self._counts, pairs.commits[excluded], 1)

    def _assign_singles(self) -> None:
        """Exclude other commits from a record that is the only one left for its commit."""
        pairs, counts = self._pairs, self._counts
        singles = pairs.commits[self.is_open & self.shared & (counts[pairs.commits] == 1)].tolist()
        while singles:
            commit = singles.pop()
            if not counts[commit]:
                continue
            begin, end = self._begins[commit], self._begins[commit + 1]
            record = int(pairs.records[begin + int(np.argmax(self.is_open[begin:end]))])
            for at in self._takers.get(record, ()):
                other = int(pairs.commits[at])
                if other != commit and self.is_open[at]:
                    self.is_open[at] = False
                    counts[other] -= 1
                    if counts[other] == 1:
                        singles.append(other)


def _connected(shared: Pairs, commits: Longs) -> list[int]:
    """These commits, and all that share a record with one of them, directly or through other commits."""
    records: defaultdict[int, list[int]] = defaultdict(list)
    takers: defaultdict[int, list[int]] = defaultdict(list)
    for commit, record in zip(shared.commits.tolist(), shared.records.tolist(), strict=True):
        records[commit].append(record)
        takers[record].append(commit)
    connected, waiting = set(commits.tolist()), commits.tolist()
    while waiting:
        for record in records[waiting.pop()]:
            for other in takers.pop(record, ()):
                if other not in connected:
                    connected.add(other)
                    waiting.append(other)
    return list(connected)
