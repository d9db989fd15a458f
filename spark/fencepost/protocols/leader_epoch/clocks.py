"""Where in the metadata log something was that another clock dated.

Brokers' clocks differ, and nothing says by how much. What must have been before what bounds it: a leader
writes after it was elected, its successor after it, a topic's record lies between the request for it and the
answer, and a broker told what was overtaken before it had heard of the change. Where nothing bounds two
clocks they are taken to be within MOST_MS of each other.
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

MOST_MS = 600_000
"""No two clocks of a cluster are further apart than this."""

_NEVER = 2**62
_UNNAMED = -(2**31)


class Order(NamedTuple):
    """What ``first`` dated ``first_ms`` was before what ``then`` dated ``then_ms``; both are broker ids."""

    first: int
    first_ms: int
    then: int
    then_ms: int


class AppliedPosition(NamedTuple):
    """A broker had applied the metadata log up to ``position`` before ``clock`` said ``ms``."""

    broker_id: int
    clock: int
    ms: int
    position: int


class Window(NamedTuple):
    """The lowest and the highest offset of the metadata log that something may have met."""

    lowest: int
    highest: int


Pair = tuple[int, int]


@dataclass(frozen=True)
class Clocks:
    """By how much clocks are ahead of each other: ``ahead[a, b]`` bounds a's from above.

    ``wrong``: by how much what a clock said may be wrong where the evidence contradicts itself: a line that
    was logged late, a request log whose timezone is set wrong.
    """

    ahead: Mapping[Pair, int]
    wrong: Mapping[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, orders: Iterable[Order]) -> Clocks:
        """From everything that was before something else."""
        told: dict[Pair, int] = {}
        wrong: dict[int, int] = {}
        for each in orders:
            apart = each.then_ms - each.first_ms
            if each.first != each.then:
                key = (each.then, each.first)
                told[key] = min(told.get(key, apart), apart)
            elif apart < 0:
                wrong[each.first] = max(wrong.get(each.first, 0), -2 * apart)
        while True:
            clocks = cls(_closed(told, wrong), wrong)
            against = clocks._contradictions()
            if not against:
                return clocks
            wrong = {**wrong, **{clock: wrong.get(clock, 0) + 2 * ms for clock, ms in against.items()}}

    def _contradictions(self) -> dict[int, int]:
        """By how much each clock would be both behind and ahead of another."""
        found: dict[int, int] = {}
        for one, other in self.ahead:
            apart = self.most(one, other) + self.most(other, one)
            for clock in (one, other) if apart < 0 else ():
                found[clock] = max(found.get(clock, 0), -apart)
        return found

    def least(self, one: int, other: int) -> int:
        """How far ``one`` is at least ahead of ``other``, in milliseconds; negative when it may be behind."""
        return -self.most(other, one)

    def most(self, one: int, other: int) -> int:
        """How far ``one`` is at most ahead of ``other``."""
        if one == other:
            return self.wrong.get(one, 0)
        at_most = MOST_MS + self.wrong.get(one, 0) + self.wrong.get(other, 0)
        return min(self.ahead.get((one, other), at_most), at_most)


def _closed(told: Mapping[Pair, int], wrong: Mapping[int, int]) -> dict[Pair, int]:
    """Bounds that follow from others, too: over a third clock two may be bounded closer."""
    ahead = {pair: ms + sum(wrong.get(clock, 0) for clock in pair) for pair, ms in told.items()}
    clocks = sorted({clock for pair in ahead for clock in pair})
    for via in clocks:
        for one in clocks:
            for other in clocks:
                if one != other and (one, via) in ahead and (via, other) in ahead:
                    through = ahead[one, via] + ahead[via, other]
                    ahead[one, other] = min(ahead.get((one, other), through), through)
    return ahead


class Moments:
    """Finds the offsets of a cluster's metadata log by the times of brokers."""

    def __init__(
        self,
        history: ClusterHistory,
        clocks: Clocks,
        tolerance_ms: int,
        applied: Iterable[AppliedPosition] = (),
    ) -> None:
        """``tolerance_ms``: how exact times of one clock are to each other."""
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
        """Between two times of a broker's clock. A broker may learn late what the controller has decided."""
        latest, earliest = self._bounds(broker_id)
        lowest = bisect_right(latest, start_ms - self._tolerance_ms)
        highest = bisect_right(earliest, end_ms + self._tolerance_ms)
        return Window(self._positions[lowest], self._positions[max(lowest, highest)])

    def windows(self, broker_id: int, ms: Longs) -> tuple[Longs, Longs]:
        """The lowest and the highest offset of the window of each moment of a broker's clock."""
        latest, earliest = self._bounds(broker_id)
        positions = np.array(self._positions, dtype=np.int64)
        lowest = np.searchsorted(np.array(latest, dtype=np.int64), ms - self._tolerance_ms, side="right")
        highest = np.searchsorted(np.array(earliest, dtype=np.int64), ms + self._tolerance_ms, side="right")
        return positions[lowest], positions[np.maximum(lowest, highest)]

    def answered_from(self, broker_id: int, start_ms: int, end_ms: int, told: int = 0) -> Window:
        """What a broker may have had of the log between two times of its clock: it may be behind, and no
        further than it told itself before. ``told``: an offset that it certainly had.
        """
        times, positions = self._applied.get(broker_id, ([], []))
        at = bisect_right(times, start_ms - self._tolerance_ms)
        highest = self.window(broker_id, start_ms, end_ms).highest
        return Window(min(max(told, positions[at - 1] if at else 0), highest), highest)

    def _by_broker(self, applied: Iterable[AppliedPosition]) -> dict[int, tuple[list[int], list[int]]]:
        """By broker, when by its clock it had what of the log, at the latest."""
        found: dict[int, list[tuple[int, int]]] = {}
        for each in applied:
            ms = each.ms + self._clocks.most(each.broker_id, each.clock)
            found.setdefault(each.broker_id, []).append((ms, each.position))
        return {
            broker_id: ([ms for ms, _ in told], list(accumulate((position for _, position in told), max)))
            for broker_id, told in ((broker_id, sorted(of)) for broker_id, of in found.items())
        }

    def since(self, broker_id: int, position: int, ms: int) -> int:
        """How long what the controller wrote at an offset had been there at least, in milliseconds."""
        at = bisect_left(self._positions, position, lo=1) - 1
        if at >= len(self._dated) or isinstance(self._pieces[at], Hole):
            return 0
        latest, _ = self._bounds(broker_id)
        return max(0, ms - self._tolerance_ms - latest[at])

    def _bounds(self, broker_id: int) -> tuple[list[int], list[int]]:
        """By a broker's clock, when each piece of the log was there at the latest, and not before.

        The log is in the order of time: what was there when a later commit was is bounded by that one too. A
        hole may begin as soon as what is before it ends, and nobody knows what is in it; so may what comes
        behind the end.
        """
        found = self._of_broker.get(broker_id)
        if found is None:
            latest, earliest = [], []
            for piece, (ms, by) in zip(self._pieces, self._dated, strict=True):
                is_hole = isinstance(piece, Hole)
                latest.append(_NEVER if is_hole else ms + self._clocks.most(broker_id, by))
                ended = is_hole and piece.ms is None
                earliest.append(-_NEVER if ended else ms + self._clocks.least(broker_id, by))
            found = (list(accumulate(reversed(latest), min))[::-1], list(accumulate(earliest, max)))
            self._of_broker[broker_id] = found
        return found


def controller_at(history: ClusterHistory, position: int) -> int:
    """The clock that dated an offset of the metadata log: its controller's, by the id of the node.

    A broker that has the id of the active controller is in one process with it: any other node of that id
    cannot follow it (QuorumState). A controller that is not known has a number that no node has.
    """
    for term in reversed(history.log.terms):
        if term.position <= position:
            return term.controller_id if term.controller_id is not None else _UNNAMED + term.epoch
    return _UNNAMED
