"""The records that commits may have written, less those that order and other commits exclude.

No clock is asked: each record was written by one commit, and requests of a connection are in order.
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
    """Commits and the records that each may have written, by their numbers: in the order of the commits, and
    of one commit by offset.
    """

    commits: Longs
    records: Longs

    def filter(self, which: Flags) -> Pairs:
        """Some of them."""
        return Pairs(self.commits[which], self.records[which])


class RequestSizes(NamedTuple):
    """Of each commit the number of its request, and of each request how many commits it has."""

    request: Longs
    size: Longs


def offset_bounds(pairs: Pairs, asked: RequestSizes, offsets: Longs) -> Places:
    """Between which offsets, both included, the records of each request are, by what each of its commits may
    have written; ANYWHERE of others. ``offsets`` of the records.
    """
    count = len(asked.size)
    found = Places(np.full(count, ANYWHERE.after), np.full(count, ANYWHERE.before))
    differs = pairs.commits[1:] != pairs.commits[:-1]
    some = [True] if len(pairs.commits) else []
    first, last = np.flatnonzero([*some, *differs]), np.flatnonzero([*differs, *some])
    np.maximum.at(found.after, asked.request[pairs.commits[first]], offsets[pairs.records[first]])
    np.minimum.at(found.before, asked.request[pairs.commits[last]], offsets[pairs.records[last]])
    return found


def narrow(pairs: Pairs, asked: RequestSizes, offsets: Longs, between: Between) -> Pairs:
    """The pairs less those that another commit must have written, or that the order of requests excludes.

    Where nothing is left to a commit, something that was taken for whole is not: of all that share a record
    with it, directly or through others, nothing is said.
    """
    while True:
        left = _Left(pairs, asked, offsets)
        left.narrow(between)
        refuted = left.refuted()
        if not len(refuted):
            return pairs.filter(left.are)
        doubted = np.zeros(len(asked.request), dtype=np.bool_)
        doubted[_connected(pairs.filter(left.shared), refuted)] = True
        pairs = pairs.filter(~doubted[pairs.commits])


class _Left:
    """Which pairs are left. ``shared``: those of records that several commits may have written."""

    def __init__(self, pairs: Pairs, asked: RequestSizes, offsets: Longs) -> None:
        self._pairs, self._asked, self._offsets = pairs, asked, offsets
        self.are = np.ones(len(pairs.commits), dtype=np.bool_)
        self._counts = np.bincount(pairs.commits, minlength=len(asked.request))
        self._some = self._counts > 0
        self._begins = np.searchsorted(pairs.commits, np.arange(len(asked.request) + 1))
        shared = np.bincount(pairs.records, minlength=len(offsets)) > 1
        self.shared = shared[pairs.records]
        self._takers: defaultdict[int, list[int]] = defaultdict(list)
        for at in np.flatnonzero(self.shared).tolist():
            self._takers[int(pairs.records[at])].append(at)

    def narrow(self, between: Between) -> None:
        """Apply what excludes pairs, until it excludes no more."""
        before = -1
        for _ in range(_ROUNDS):
            now = int(self.are.sum())
            if now == before:
                break
            before = now
            self._apply_order(between)
            self._take_singles()

    def refuted(self) -> Longs:
        """The commits to which nothing is left."""
        return np.flatnonzero(self._some & (self._counts == 0))

    def _apply_order(self, between: Between) -> None:
        pairs, asked = self._pairs.filter(self.are), self._asked
        own = offset_bounds(pairs, asked, self._offsets)
        places = between(own)
        # the records of one request are written one behind the other
        is_known = own.after > ANYWHERE.after
        after = np.maximum(places.after, np.where(is_known, own.after - asked.size, ANYWHERE.after))
        before = np.minimum(
            places.before, np.where(is_known, np.where(is_known, own.before, 0) + asked.size, ANYWHERE.before)
        )
        offsets, of = self._offsets[pairs.records], asked.request[pairs.commits]
        excluded = np.flatnonzero((offsets <= after[of]) | (offsets >= before[of]))
        self.are[np.flatnonzero(self.are)[excluded]] = False
        np.subtract.at(self._counts, pairs.commits[excluded], 1)

    def _take_singles(self) -> None:
        """A record that is all that is left to one commit was not written by another."""
        pairs, counts = self._pairs, self._counts
        singles = pairs.commits[self.are & self.shared & (counts[pairs.commits] == 1)].tolist()
        while singles:
            commit = singles.pop()
            if not counts[commit]:
                continue
            begin, end = self._begins[commit], self._begins[commit + 1]
            record = int(pairs.records[begin + int(np.argmax(self.are[begin:end]))])
            for at in self._takers.get(record, ()):
                other = int(pairs.commits[at])
                if other != commit and self.are[at]:
                    self.are[at] = False
                    counts[other] -= 1
                    if counts[other] == 1:
                        singles.append(other)


def _connected(shared: Pairs, commits: Longs) -> list[int]:
    """These commits, and all that share a record with one of them, directly or through others."""
    records: defaultdict[int, list[int]] = defaultdict(list)
    takers: defaultdict[int, list[int]] = defaultdict(list)
    for commit, record in zip(shared.commits.tolist(), shared.records.tolist(), strict=True):
        records[commit].append(record)
        takers[record].append(commit)
    found, waiting = set(commits.tolist()), commits.tolist()
    while waiting:
        for record in records[waiting.pop()]:
            for other in takers.pop(record, ()):
                if other not in found:
                    found.add(other)
                    waiting.append(other)
    return list(found)
