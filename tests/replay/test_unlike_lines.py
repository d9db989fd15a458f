"""Of which requests a log shows what they wrote."""

from __future__ import annotations

import numpy as np
import pytest

from fencepost.replay.logs import Batches, Log
from fencepost.replay.unlike_lines import are_shown


def _log(*offsets: int, cleaned_to: tuple[int, ...] = ()) -> Log:
    """A log of batches with one record each, which were written at a hundred times their offset."""
    base = np.array(offsets, dtype=np.int64)
    ones, zeros = np.ones_like(base), np.zeros_like(base)
    batches = Batches(base, base, zeros, ones, base * 100, zeros, base, ("a",))
    return Log(batches, cleaned_to=cleaned_to)


@pytest.mark.parametrize(
    ("log", "shown"),
    [
        (_log(0, 1, 2, 3), [True, True, False]),
        # compaction has removed what was before 2
        (_log(2, 3, cleaned_to=(2,)), [False, False, False]),
        (_log(1, 2, 3, cleaned_to=(2,)), [False, True, False]),
        # nobody knows what was there
        (_log(2, 3), [False, False, False]),
        (_log(0, 2, 3), [False, False, False]),
    ],
)
def test_a_log_shows_what_it_has_without_a_hole(log: Log, shown: list[bool]) -> None:
    assert are_shown(log, [50, 150, 350], [90, 250, 390]).tolist() == shown
