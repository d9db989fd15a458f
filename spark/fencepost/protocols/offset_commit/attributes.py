"""Attributes of many objects as columns of numbers, which take a fraction of the objects' memory."""

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
        """The values with these numbers, UNKNOWN as None."""
        return self.as_objects(self.values[which])

    def value(self, number: int) -> int | None:
        """The value with this number."""
        found = int(self.values[number])
        return None if found == UNKNOWN else found

    @staticmethod
    def as_objects(values: Longs) -> list[Any]:
        """A list of the numbers, UNKNOWN as None."""
        found = values.tolist()
        return [None if each == UNKNOWN else each for each in found] if (values == UNKNOWN).any() else found

    def column(self, which: Longs) -> pa.Array:
        """The values with these numbers, as 64 bits."""
        values = self.values[which]
        return pa.array(values, mask=values == UNKNOWN)


class Texts:
    """Texts that repeat: each distinct text has a number, None has -1."""

    def __init__(self, column: pa.ChunkedArray) -> None:
        """``column`` is dictionary-encoded; its dictionary has each text once."""
        coded = column.combine_chunks()
        self._names = coded.dictionary
        self.names: list[str] = self._names.to_pylist()
        """The texts by their numbers."""
        self.values: Longs = longs(pc.fill_null(coded.indices, -1))

    def objects(self, which: Longs) -> list[Any]:
        """The texts of these rows."""
        names = self.names
        return [None if each < 0 else names[each] for each in self.values[which].tolist()]

    def column(self, which: Longs) -> pa.Array:
        """The texts of these rows, dictionary-decoded."""
        values = self.values[which]
        return self._names.take(pa.array(values, mask=values < 0))

    def value(self, number: int) -> str | None:
        """The text of one row."""
        found = self.values[number]
        return None if found < 0 else self.names[found]

    def places(self) -> dict[str, Longs]:
        """The rows of each text, in order; a text that no row has is left out."""
        count = np.bincount(self.values, minlength=len(self.names))
        order = np.argsort(self.values, kind="stable")
        parts = zip(self.names, count.tolist(), np.split(order, np.cumsum(count)), strict=False)
        return {name: places for name, size, places in parts if size}

    def numbers_in(self, other: Texts) -> Longs:
        """``numbers_of`` the texts of another column, whose names have each text once."""
        # None is the last of the list: the index -1 finds it
        found: Longs = self.numbers_of([*other.names, None])[other.values]
        return found

    def numbers_of(self, others: Iterable[str | None]) -> Longs:
        """The numbers of other texts: that of an equal text of this column, else a new, higher number."""
        numbers: dict[str | None, int] = {None: -1}
        numbers.update(zip(self.names, range(len(self.names)), strict=True))
        # None has an entry from the beginning, but no number of its own
        return np.array([numbers.setdefault(each, len(numbers) - 1) for each in others], dtype=np.int64)


@dataclass(frozen=True)
class Attributes:
    """The columns of many objects, by the attribute."""

    texts: Mapping[str, Texts]
    numbers: Mapping[str, Numbers]

    @classmethod
    def of(cls, rows: pa.Table) -> Self:
        """The attributes of rows that have a column for each: dictionary-encoded texts and numbers. Other
        columns are left out.
        """
        kinds = {field.name: field.type for field in rows.schema}
        texts = {name: Texts(rows[name]) for name, kind in kinds.items() if pa.types.is_dictionary(kind)}
        others = (name for name, kind in kinds.items() if not pa.types.is_string(kind) and name not in texts)
        return cls(texts, {name: Numbers(rows[name]) for name in others})

    def __contains__(self, name: str) -> bool:
        """Whether the objects have this attribute."""
        return name in self.texts or name in self.numbers

    def __getitem__(self, name: str) -> Texts | Numbers:
        """The column of one attribute."""
        return self.texts[name] if name in self.texts else self.numbers[name]

    def objects(self, which: Longs, names: Iterable[str]) -> dict[str, list[Any]]:
        """These attributes of these objects, as Python values."""
        return {name: self[name].objects(which) for name in names}
