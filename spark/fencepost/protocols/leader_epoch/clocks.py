"""Where in the metadata log something was that another clock dated.

Brokers' clocks differ, and nothing says by how much. What must have been before what bounds it: a leader
writes after it was elected, its successor after it, a topic's record lies between the request for it and the
answer. Where nothing bounds two clocks they are taken to be within MOST_MS of each other.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from fencepost.protocols.leader_epoch.cluster import ClusterHistory
from fencepost.replay.metadata_log import Hole, Piece

MOST_MS = 600_000
"""No two clocks of a cluster are further apart than this."""

_NEVER = 2**62


class Order(NamedTuple):
    """What ``first`` dated ``first_ms`` was before what ``then`` dated ``then_ms``; both are broker ids."""

    first: int
    first_ms: int
    then: int
    then_ms: int


class Window(NamedTuple):
    """The lowest and the highest offset of the metadata log that something may have met."""

    lowest: int
    highest: int


@dataclass(frozen=True)
class Clocks:
    """By how much clocks are ahead of each other: ``ahead[a, b]`` bounds a's from above."""

    ahead: dict[tuple[int, int], int]

    @classmethod
    def of(cls, orders: Iterable[Order]) -> Clocks:
        """From everything that was before something else."""
        ahead: dict[tuple[int, int], int] = {}
        brokers: set[int] = set()
        for each in orders:
            if each.first == each.then:
                continue
            brokers |= {each.first, each.then}
            key = (each.then, each.first)
            least = min(each.then_ms - each.first_ms, MOST_MS)
            ahead[key] = min(ahead.get(key, MOST_MS), least)
        for via in sorted(brokers):
            for one in brokers:
                for other in brokers:
                    if (one, via) in ahead and (via, other) in ahead and one != other:
                        through = ahead[one, via] + ahead[via, other]
                        ahead[one, other] = min(ahead.get((one, other), MOST_MS), through)
        return cls(ahead)

    def least(self, one: int, other: int) -> int:
        """How far ``one`` is at least ahead of ``other``, in milliseconds; negative when it may be behind."""
        return 0 if one == other else -self.ahead.get((other, one), MOST_MS)

    def most(self, one: int, other: int) -> int:
        """How far ``one`` is at most ahead of ``other``."""
        return 0 if one == other else self.ahead.get((one, other), MOST_MS)


class Moments:
    """Finds the offsets of a cluster's metadata log by the times of brokers."""

    def __init__(self, history: ClusterHistory, clocks: Clocks, tolerance_ms: int) -> None:
        """``tolerance_ms``: how exact times of one clock are to each other."""
        self._clocks, self._tolerance_ms = clocks, tolerance_ms
        log = history.log
        self._pieces: list[Piece] = [*log.pieces, Hole(log.known_to, log.known_ms)]
        self._positions = [0, *(piece.position for piece in self._pieces)]
        self._dated = [(piece.ms or 0, controller_at(history, piece.position)) for piece in self._pieces]
        self._of_broker: dict[int, tuple[list[int], list[int]]] = {}

    def is_later(self, one: tuple[int, int], other: tuple[int, int]) -> bool:
        """Whether a broker's time (broker id, ms) is certainly after another's."""
        ahead = self._clocks.most(one[0], other[0])
        return one[1] - other[1] - ahead > self._tolerance_ms

    def window(self, broker_id: int, start_ms: int, end_ms: int) -> Window:
        """Between two times of a broker's clock. A broker may learn late what the controller has decided."""
        latest, earliest = self._bounds(broker_id)
        lowest = bisect_right(latest, start_ms - self._tolerance_ms)
        highest = bisect_right(earliest, end_ms + self._tolerance_ms)
        return Window(self._positions[lowest], self._positions[max(lowest, highest)])

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
    """The broker whose clock dated an offset of the metadata log; negative for one that is not known."""
    for term in reversed(history.log.terms):
        if term.position <= position:
            return -1 - term.epoch if term.controller_id is None else term.controller_id
    return -1
