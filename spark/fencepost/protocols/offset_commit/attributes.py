"""An attribute of many objects as a column of numbers, which takes a fraction of their memory."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from fencepost.replay.logs import UNKNOWN, Longs


class Numbers:
    """Whole numbers; None is UNKNOWN."""

    def __init__(self) -> None:
        self._taken = array("q")
        self.values: Longs = np.empty(0, dtype=np.int64)

    def take(self, values: Sequence[Any]) -> None:
        """Those of the next objects."""
        self._taken.extend(
            [UNKNOWN if each is None else each for each in values] if None in values else values
        )

    @property
    def taken(self) -> Longs:
        """All that were taken."""
        return np.frombuffer(self._taken, np.int64)

    def order(self, order: Longs) -> None:
        """No more come; they are put in this order."""
        self.values = self.taken[order]
        self._taken = array("q")

    def objects(self, which: Longs) -> list[Any]:
        """Some of them, as they were."""
        values = self.values[which]
        found = values.tolist()
        return [None if each == UNKNOWN else each for each in found] if (values == UNKNOWN).any() else found


class Texts:
    """Texts of which the same are there again and again: each has a number, None has -1."""

    def __init__(self) -> None:
        self.names: list[str] = []
        """The texts by their numbers."""
        self._numbers: dict[str | None, int] = {None: -1}
        self._taken = array("i")
        self.values: Longs = np.empty(0, dtype=np.int64)

    def take(self, values: Sequence[Any]) -> None:
        """Those of the next objects."""
        self._taken.extend(_numbered(values, self._numbers))

    @property
    def taken(self) -> Longs:
        """The numbers of all that were taken."""
        return np.frombuffer(self._taken, np.int32)

    def order(self, order: Longs) -> None:
        """No more come; they are put in this order."""
        self.values = self.taken[order]
        self._taken = array("i")
        self.names = [each for each in self._numbers if each is not None]

    def objects(self, which: Longs) -> list[Any]:
        """Some of them, as they were."""
        names = self.names
        return [None if each < 0 else names[each] for each in self.values[which].tolist()]

    def ranks(self) -> Longs:
        """Of each number the place of its text among all in their order."""
        numbers = [
            number
            for text, number in sorted((text, n) for text, n in self._numbers.items() if text is not None)
        ]
        rank = np.empty(len(numbers), dtype=np.int64)
        rank[numbers] = np.arange(len(numbers))
        return rank

    def numbers_of(self, others: Iterable[str | None]) -> Longs:
        """The numbers of other texts: as here, and above these of such as are not here."""
        return np.array(_numbered(others, dict(self._numbers)), dtype=np.int64)


def _numbered(values: Iterable[str | None], numbers: dict[str | None, int]) -> list[int]:
    # None is there from the beginning
    return [numbers.setdefault(each, len(numbers) - 1) for each in values]
