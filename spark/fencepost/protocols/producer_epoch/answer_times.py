"""When which broker answered for the batches of one partition, by the broker's clock."""

from __future__ import annotations

import numpy as np

from fencepost.protocols.producer_epoch.arrow import UNKNOWN, Longs, Piece
from fencepost.protocols.producer_epoch.handed_down_logs import ANSWERED, HandedDownLog


class AnswerTimes:
    """The answers to Produce of one partition, to be asked for offsets of batches."""

    def __init__(self, answers: Piece, before: HandedDownLog | None) -> None:
        """``answers``: ``base_offset``, ``responded_ms`` and ``broker_id``; ``before``: what an earlier
        chapter knew of the log.
        """
        order = np.lexsort((answers["responded_ms"], answers["base_offset"]))
        self._answers = {name: column[order] for name, column in answers.items()}
        self._before = before

    def of(self, offsets: Longs) -> Piece:
        """When the batches at these offsets were first answered for (``answered_ms``); when the first batch
        was that is there or behind it, and by whom (``written_by_ms``, ``answered_by``). UNKNOWN where no
        answer tells.
        """
        asked, ms, broker_id = (self._answers[n] for n in ("base_offset", "responded_ms", "broker_id"))
        if not len(asked):
            told: Piece = {name: np.full(len(offsets), UNKNOWN) for name in ANSWERED}
            return self._told_before(offsets, told)
        found = np.searchsorted(asked, offsets)
        at = np.minimum(found, len(asked) - 1)
        told = {
            "answered_ms": np.where(asked[at] == offsets, ms[at], UNKNOWN),
            "written_by_ms": np.where(found < len(asked), ms[at], UNKNOWN),
            "answered_by": np.where(found < len(asked), broker_id[at], UNKNOWN),
        }
        return self._told_before(offsets, told)

    def _told_before(self, offsets: Longs, told: Piece) -> Piece:
        """The same, with what an earlier chapter was told of transactions that were open at its end."""
        if self._before is None or self._before.carried is None:
            return told
        firsts = self._before.carried.transactions.first_offset
        order = np.argsort(firsts)
        at = (
            order[np.minimum(np.searchsorted(firsts[order], offsets), len(firsts) - 1)]
            if len(firsts)
            else order
        )
        if not len(at):
            return told
        known = self._before.answered
        same = (firsts[at] == offsets) & (known["written_by_ms"][at] != UNKNOWN)
        return {name: np.where(same, known[name][at], column) for name, column in told.items()}
