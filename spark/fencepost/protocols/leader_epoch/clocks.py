"""Where the metadata log ended at a time on a broker's clock.

Brokers' clocks differ, and nothing says by how much. Pairs of events whose order is certain bound the
difference: a leader writes after it was elected, and before its successor; the record of a new topic lies
between the request that created the topic and its answer; a broker that answers with old metadata applied the
change later. Two clocks that nothing bounds are taken to be within MOST_MS of each other.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from fencepost.protocols.leader_epoch.cluster import ClusterHistory
from fencepost.replay.logs import Longs
from fencepost.replay.metadata_log import Hole, Piece
from fencepost.replay.rising import Rising

MOST_MS = 600_000
"""No two clocks of a cluster are further apart than this."""

_NEVER = 2**62
_UNNAMED = -(2**31)


class Order(NamedTuple):
    """An event that broker ``first`` dated ``first_ms`` came before one that broker ``then`` dated
    ``then_ms``.
    """

    first: int
    first_ms: int
    then: int
    then_ms: int


class AppliedPosition(NamedTuple):
    """Broker ``broker_id`` had applied the metadata log up to ``position`` before broker ``clock``'s clock
    was at ``ms``.
    """

    broker_id: int
    clock: int
    ms: int
    position: int


class Window(NamedTuple):
    """The lowest and the highest offset at which the metadata log may have ended when something happened."""

    lowest: int
    highest: int


Pair = tuple[int, int]


@dataclass(frozen=True)
class Clocks:
    """By how much clocks are ahead of each other, in milliseconds: a's is at most ``ahead[a, b]`` ahead of
    b's.

    ``wrong``: by how much times of a clock may be wrong where the evidence contradicts itself, because a line
    was logged late or the timezone of a request log is set wrong.
    """

    ahead: Mapping[Pair, int]
    wrong: Mapping[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, orders: Iterable[Order]) -> Clocks:
        """From pairs of events whose order is certain."""
        bounds: dict[Pair, int] = {}
        wrong: dict[int, int] = {}
        for each in orders:
            apart = each.then_ms - each.first_ms
            if each.first != each.then:
                key = (each.then, each.first)
                bounds[key] = min(bounds.get(key, apart), apart)
            elif apart < 0:
                wrong[each.first] = max(wrong.get(each.first, 0), -2 * apart)
        while True:
            clocks = cls(_closed(bounds, wrong), wrong)
            contradictions = clocks._contradictions()
            if not contradictions:
                return clocks
            wrong = {**wrong, **{clock: wrong.get(clock, 0) + 2 * ms for clock, ms in contradictions.items()}}

    def _contradictions(self) -> dict[int, int]:
        """By how much each clock would have to be both behind and ahead of another."""
        contradictions: dict[int, int] = {}
        for one, other in self.ahead:
            apart = self.most(one, other) + self.most(other, one)
            for clock in (one, other) if apart < 0 else ():
                contradictions[clock] = max(contradictions.get(clock, 0), -apart)
        return contradictions

    def least(self, one: int, other: int) -> int:
        """How far clock ``one`` is at least ahead of ``other``, in milliseconds; negative if it may be
        behind.
        """
        return -self.most(other, one)

    def most(self, one: int, other: int) -> int:
        """How far clock ``one`` is at most ahead of ``other``, in milliseconds."""
        if one == other:
            return self.wrong.get(one, 0)
        at_most = MOST_MS + self.wrong.get(one, 0) + self.wrong.get(other, 0)
        return min(self.ahead.get((one, other), at_most), at_most)


def _closed(bounds: Mapping[Pair, int], wrong: Mapping[int, int]) -> dict[Pair, int]:
    """All bounds that follow: a third clock may bound two clocks more closely than they bound each other."""
    ahead = {pair: ms + sum(wrong.get(clock, 0) for clock in pair) for pair, ms in bounds.items()}
    clocks = sorted({clock for pair in ahead for clock in pair})
    for via in clocks:
        for one in clocks:
            for other in clocks:
                if one != other and (one, via) in ahead and (via, other) in ahead:
                    through = ahead[one, via] + ahead[via, other]
                    ahead[one, other] = min(ahead.get((one, other), through), through)
    return ahead


class Moments:
    """Finds the offsets at which a cluster's metadata log may have ended at times on brokers' clocks."""

    def __init__(
        self,
        history: ClusterHistory,
        clocks: Clocks,
        tolerance_ms: int,
        applied: Iterable[AppliedPosition] = (),
    ) -> None:
        """``tolerance_ms``: by how much two times of one clock may be in the wrong order."""
        self._clocks, self._tolerance_ms = clocks, tolerance_ms
        self._applied = self._by_broker(applied)
        log = history.log
        self._pieces: list[Piece] = [*log.pieces, Hole(log.known_to, log.known_ms)]
        self._positions = [0, *(piece.position for piece in self._pieces)]
        self._dated = [(piece.ms or 0, controller_at(history, piece.position)) for piece in self._pieces]
        self._of_broker: dict[int, tuple[list[int], list[int]]] = {}
        self._ahead: dict[Pair, int] = {}

    def is_later(self, one: tuple[int, int], other: tuple[int, int]) -> bool:
        """Whether a broker's time (broker id, ms) is certainly after another's."""
        pair = (one[0], other[0])
        ahead = self._ahead.get(pair)
        if ahead is None:
            ahead = self._ahead[pair] = self._clocks.most(*pair)
        return one[1] - other[1] - ahead > self._tolerance_ms

    def window(self, broker_id: int, start_ms: int, end_ms: int) -> Window:
        """The window of the metadata log between two times of a broker's clock.

        The broker itself may have been behind: see ``answered_from``.
        """
        latest, earliest = self._bounds(broker_id)
        lowest = bisect_right(latest, start_ms - self._tolerance_ms)
        highest = bisect_right(earliest, end_ms + self._tolerance_ms)
        return Window(self._positions[lowest], self._positions[max(lowest, highest)])

    def windows(self, broker_id: int, ms: Longs) -> tuple[Longs, Longs]:
        """The lowest and the highest offset of the window of each time ``ms`` of a broker's clock."""
        latest, earliest = self._bounds(broker_id)
        positions = np.array(self._positions, dtype=np.int64)
        lowest = np.searchsorted(np.array(latest, dtype=np.int64), ms - self._tolerance_ms, side="right")
        highest = np.searchsorted(np.array(earliest, dtype=np.int64), ms + self._tolerance_ms, side="right")
        return positions[lowest], positions[np.maximum(lowest, highest)]

    def answered_from(self, broker_id: int, start_ms: int, end_ms: int, known_position: int = 0) -> Window:
        """The offsets up to which a broker may have applied the log between two times of its clock.

        It may be behind the log, but not behind a position that it had applied before. ``known_position``: an
        offset up to which it had certainly applied the log.
        """
        known_position = max(known_position, self.applied(broker_id, start_ms))
        highest = self.window(broker_id, start_ms, end_ms).highest
        return Window(min(known_position, highest), highest)

    def applied(self, broker_id: int, ms: int) -> int:
        """An offset up to which a broker had certainly applied the log at a time of its clock; 0 if nothing
        shows one.
        """
        return self._applied.get(broker_id, Rising()).greatest_before(ms - self._tolerance_ms + 1)

    def _by_broker(self, applied: Iterable[AppliedPosition]) -> dict[int, Rising[int]]:
        """By broker: the positions that it had applied, by the latest times of its own clock."""
        times: dict[int, list[tuple[int, int]]] = {}
        for each in applied:
            ms = each.ms + self._clocks.most(each.broker_id, each.clock)
            times.setdefault(each.broker_id, []).append((ms, each.position))
        return {broker_id: Rising(positions) for broker_id, positions in times.items()}

    def since(self, broker_id: int, position: int, ms: int) -> int:
        """For how long, at least, the record at ``position`` had been written at a broker's time ``ms``, in
        milliseconds; 0 where that is not known.
        """
        at = bisect_left(self._positions, position, lo=1) - 1
        if at >= len(self._dated) or isinstance(self._pieces[at], Hole):
            return 0
        latest, _ = self._bounds(broker_id)
        return max(0, ms - self._tolerance_ms - latest[at])

    def _bounds(self, broker_id: int) -> tuple[list[int], list[int]]:
        """The latest and the earliest time, by a broker's clock, at which each piece of the log was written.

        The log is in the order of time, so a later commit also bounds when an earlier one was written. A hole
        may begin as soon as the piece before it ends, and nobody knows what is in it; the same is true of
        what comes behind the end of the log.
        """
        bounds = self._of_broker.get(broker_id)
        if bounds is None:
            latest, earliest = [], []
            for piece, (ms, by) in zip(self._pieces, self._dated, strict=True):
                is_hole = isinstance(piece, Hole)
                latest.append(_NEVER if is_hole else ms + self._clocks.most(broker_id, by))
                ended = is_hole and piece.ms is None
                earliest.append(-_NEVER if ended else ms + self._clocks.least(broker_id, by))
            bounds = (list(accumulate(reversed(latest), min))[::-1], list(accumulate(earliest, max)))
            self._of_broker[broker_id] = bounds
        return bounds


def controller_at(history: ClusterHistory, position: int) -> int:
    """The node whose clock dated the record at an offset of the metadata log: the active controller.

    A broker with the id of the active controller shares its process: no other node with that id can follow it
    (QuorumState). A controller that is not known gets a number that no node has.
    """
    for term in reversed(history.log.terms):
        if term.position <= position:
            return term.controller_id if term.controller_id is not None else _UNNAMED + term.epoch
    return _UNNAMED
