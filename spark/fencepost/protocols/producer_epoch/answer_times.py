"""When the Produce of each batch of one partition was answered, and by which broker."""

from __future__ import annotations

import numpy as np

from fencepost.protocols.producer_epoch.arrow import UNKNOWN, Longs, Piece
from fencepost.protocols.producer_epoch.handed_down_logs import ANSWERED, HandedDownLog


class AnswerTimes:
    """The answers to Produce of one partition, by the offsets of batches. Times are by the broker's clock."""

    def __init__(self, answers: Piece, before: HandedDownLog | None) -> None:
        """``answers``: ``base_offset``, ``responded_ms`` and ``broker_id``; ``before``: what an earlier
        chapter handed down of the log.
        """
        order = np.lexsort((answers["responded_ms"], answers["base_offset"]))
        self._answers = {name: column[order] for name, column in answers.items()}
        self._before = before

    def of(self, offsets: Longs) -> Piece:
        """For batches at these offsets: ``answered_ms``, when a Produce of the batch was first answered;
        ``written_by_ms`` and ``answered_by``, when the first Produce of this or of a later batch was
        answered, and by which broker. UNKNOWN without such an answer.
        """
        base_offsets, ms, broker_id = (self._answers[n] for n in ("base_offset", "responded_ms", "broker_id"))
        if not len(base_offsets):
            answers: Piece = {name: np.full(len(offsets), UNKNOWN) for name in ANSWERED}
            return self._with_handed_down(offsets, answers)
        place = np.searchsorted(base_offsets, offsets)
        at = np.minimum(place, len(base_offsets) - 1)
        answers = {
            "answered_ms": np.where(base_offsets[at] == offsets, ms[at], UNKNOWN),
            "written_by_ms": np.where(place < len(base_offsets), ms[at], UNKNOWN),
            "answered_by": np.where(place < len(base_offsets), broker_id[at], UNKNOWN),
        }
        return self._with_handed_down(offsets, answers)

    def _with_handed_down(self, offsets: Longs, answers: Piece) -> Piece:
        """The same, with what an earlier chapter knew of the transactions that were open at its end."""
        if self._before is None or self._before.carried is None:
            return answers
        firsts = self._before.carried.transactions.first_offset
        order = np.argsort(firsts)
        at = (
            order[np.minimum(np.searchsorted(firsts[order], offsets), len(firsts) - 1)]
            if len(firsts)
            else order
        )
        if not len(at):
            return answers
        handed_down = self._before.answered
        same = (firsts[at] == offsets) & (handed_down["written_by_ms"][at] != UNKNOWN)
        return {name: np.where(same, handed_down[name][at], column) for name, column in answers.items()}
