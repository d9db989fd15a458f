"""Numbers and times in words."""

from __future__ import annotations

import pytest

from fencepost.words import duration


@pytest.mark.parametrize(
    ("ms", "words"), [(0, "0 ms"), (14, "14 ms"), (99, "99 ms"), (100, "0.1 s"), (2_140, "2.1 s")]
)
def test_what_is_short_is_not_said_to_take_no_time(ms: int, words: str) -> None:
    assert duration(ms) == words
