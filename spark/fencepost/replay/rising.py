"""Numbers that rise with their keys, as records do with times: not always, because a clock may go back."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from functools import cached_property
from itertools import accumulate
from typing import Generic, TypeVar

Key = TypeVar("Key", int, tuple[int, int])


class Rising(Generic[Key]):
    """Numbers from 1 on, by keys such as the times of a broker's clock."""

    def __init__(self, pairs: Iterable[tuple[Key, int]] = ()) -> None:
        """``pairs``: key and number, in any order."""
        ordered = sorted(pairs)
        self._keys: list[Key] = [key for key, _ in ordered]
        self._numbers = [number for _, number in ordered]

    def between(self, first: Key, last: Key) -> list[int]:
        """The numbers whose keys lie between two keys (inclusive), in the order of keys."""
        return self._numbers[bisect_left(self._keys, first) : bisect_right(self._keys, last)]

    def greatest_before(self, key: Key) -> int:
        """The greatest number with a lower key; 0 for none."""
        return self._greatest[bisect_left(self._keys, key)]

    def least_after(self, key: Key) -> int | None:
        """The least number with a higher key; None for none."""
        at = bisect_right(self._keys, key)
        return self._least[at] if at < len(self._least) else None

    @cached_property
    def _greatest(self) -> list[int]:
        return [0, *accumulate(self._numbers, max)]

    @cached_property
    def _least(self) -> list[int]:
        return list(accumulate(reversed(self._numbers), min))[::-1]
