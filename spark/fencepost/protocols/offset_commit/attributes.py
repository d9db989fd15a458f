"""Attributes of many objects as columns of numbers, which take a fraction of their memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.replay.logs import UNKNOWN, Longs, longs


class Numbers:
    """Whole numbers; None is UNKNOWN."""

    def __init__(self, column: pa.ChunkedArray) -> None:
        self.values: Longs = longs(pc.fill_null(column.cast(pa.int64()), UNKNOWN))

    def objects(self, which: Longs) -> list[Any]:
        """Some of them, as they were."""
        return self.as_objects(self.values[which])

    def value(self, number: int) -> int | None:
        """One of them."""
        found = int(self.values[number])
        return None if found == UNKNOWN else found

    @staticmethod
    def as_objects(values: Longs) -> list[Any]:
        """Numbers of which UNKNOWN is None."""
        found = values.tolist()
        return [None if each == UNKNOWN else each for each in found] if (values == UNKNOWN).any() else found

    def column(self, which: Longs) -> pa.Array:
        """Some of them, as 64 bits."""
        values = self.values[which]
        return pa.array(values, mask=values == UNKNOWN)


class Texts:
    """Texts of which the same are there again and again: each has a number, None has -1."""

    def __init__(self, column: pa.ChunkedArray) -> None:
        """``column`` is coded, each text once."""
        coded = column.combine_chunks()
        self._names = coded.dictionary
        self.names: list[str] = self._names.to_pylist()
        """The texts by their numbers."""
        self.values: Longs = longs(pc.fill_null(coded.indices, -1))

    def objects(self, which: Longs) -> list[Any]:
        """Some of them, as they were."""
        names = self.names
        return [None if each < 0 else names[each] for each in self.values[which].tolist()]

    def column(self, which: Longs) -> pa.Array:
        """Some of them."""
        values = self.values[which]
        return self._names.take(pa.array(values, mask=values < 0))

    def value(self, number: int) -> str | None:
        """One of them."""
        found = self.values[number]
        return None if found < 0 else self.names[found]

    def places(self) -> dict[str, Longs]:
        """Where each text is, in order; those that are nowhere are left out."""
        count = np.bincount(self.values, minlength=len(self.names))
        order = np.argsort(self.values, kind="stable")
        parts = zip(self.names, count.tolist(), np.split(order, np.cumsum(count)), strict=False)
        return {name: places for name, size, places in parts if size}

    def numbers_in(self, other: Texts) -> Longs:
        """``numbers_of`` the texts of another column, which has each text once among its names."""
        # None is the last: there -1 leads to it
        found: Longs = self.numbers_of([*other.names, None])[other.values]
        return found

    def numbers_of(self, others: Iterable[str | None]) -> Longs:
        """The numbers of other texts: as here, and above these of such as are not here."""
        numbers: dict[str | None, int] = {None: -1}
        numbers.update(zip(self.names, range(len(self.names)), strict=True))
        # None is there from the beginning
        return np.array([numbers.setdefault(each, len(numbers) - 1) for each in others], dtype=np.int64)


@dataclass(frozen=True)
class Attributes:
    """The columns of many objects, by the attribute."""

    texts: Mapping[str, Texts]
    numbers: Mapping[str, Numbers]

    @classmethod
    def of(cls, rows: pa.Table) -> Self:
        """Of rows with a column for each attribute: coded texts, numbers; others are left out."""
        kinds = {field.name: field.type for field in rows.schema}
        texts = {name: Texts(rows[name]) for name, kind in kinds.items() if pa.types.is_dictionary(kind)}
        others = (name for name, kind in kinds.items() if not pa.types.is_string(kind) and name not in texts)
        return cls(texts, {name: Numbers(rows[name]) for name in others})

    def __contains__(self, name: str) -> bool:
        """Whether the objects have this attribute."""
        return name in self.texts or name in self.numbers

    def __getitem__(self, name: str) -> Texts | Numbers:
        """One column."""
        return self.texts[name] if name in self.texts else self.numbers[name]

    def objects(self, which: Longs, names: Iterable[str]) -> dict[str, list[Any]]:
        """Some attributes of some objects, as they were."""
        return {name: self[name].objects(which) for name in names}
