"""When the Produce of each batch of one partition was answered, and by which broker."""

from __future__ import annotations

import numpy as np

from fencepost.protocols.producer_epoch.arrow import UNKNOWN, Longs, Piece
from fencepost.protocols.producer_epoch.log_state import LogState


class AnswerTimes:
    """The answers to Produce of one partition, by the offsets of batches. Times are by the broker's clock."""

    def __init__(self, answers: Piece, state: LogState) -> None:
        """``answers``: ``base_offset``, ``responded_ms`` and ``broker_id``; ``state``: what was known before
        these.
        """
        self._answers = _by_offset(answers, np.lexsort((answers["responded_ms"], answers["base_offset"])))
        firsts = state.carried.transactions.first_offset
        self._known = _by_offset({"base_offset": firsts, **state.answered}, np.argsort(firsts))

    def of(self, offsets: Longs) -> Piece:
        """For batches at these offsets: ``answered_ms``, when a Produce of the batch was first answered;
        ``written_by_ms`` and ``answered_by``, when the first Produce of this or of a later batch was
        answered, and by which broker. UNKNOWN without such an answer.
        """
        at = np.searchsorted(self._answers["base_offset"][:-1], offsets)
        base_offset, ms, broker_id = (
            self._answers[name][at] for name in ("base_offset", "responded_ms", "broker_id")
        )
        answers: Piece = {
            "answered_ms": np.where(base_offset == offsets, ms, UNKNOWN),
            "written_by_ms": ms,
            "answered_by": broker_id,
        }
        at = np.searchsorted(self._known["base_offset"][:-1], offsets)
        is_known = self._known["base_offset"][at] == offsets
        is_known &= self._known["written_by_ms"][at] != UNKNOWN
        return {name: np.where(is_known, self._known[name][at], column) for name, column in answers.items()}


def _by_offset(columns: Piece, order: Longs) -> Piece:
    """The columns in this order, and behind them a row that is UNKNOWN."""
    return {name: np.append(column[order], UNKNOWN) for name, column in columns.items()}
