"""The evidence of entities: each is given its own rows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.engines.pieces import PieceFile, Pieces, Some, pieces_of, union

HELD_BYTES = 32 << 20
"""So much is held of the rows of all entities but the largest."""
_ROWS_AT_ONCE = 1 << 16


def by_entity(evidence: dict[str, list[Some]]) -> Iterator[tuple[str, dict[str, pa.Table]]]:
    """Each entity, in the order of their names, with its rows of each name, in their order and without the
    column ``entity``; every name is there for each. Only one entity's rows are copied at a time, and who is
    given them is the only one that has them. The evidence is emptied.
    """
    given = {name: _of_each(evidence.pop(name)) for name in list(evidence)}
    for entity in sorted({entity for places in given.values() for entity in places.entities}):
        yield entity, {name: places.take(entity) for name, places in given.items()}


def _of_each(parts: Sequence[Some]) -> _Places | _Shuffled:
    rows = union(parts)
    return _Shuffled(rows) if isinstance(rows, Pieces) else _Places(rows)


class _Places:
    """Where the rows of each entity are in a table with a column ``entity``; null is nobody."""

    def __init__(self, rows: pa.Table) -> None:
        own = rows.drop_columns("entity")
        self._empty = own.schema.empty_table()
        self._pieces: list[tuple[pa.Table, dict[str, pa.Array]]] = []
        self._of_one: pa.Table | None = None
        if rows.num_rows and not rows["entity"].null_count and len(names := pc.unique(rows["entity"])) == 1:
            # as they are: the rows of a whole cluster are not copied only to be chosen by nothing
            self._of_one, self.entities = own, {names[0].as_py()}
            return
        for first in range(0, rows.num_rows, _ROWS_AT_ONCE):
            # of one chunk each: to take rows out of several would copy all of them first, each time
            piece = rows.slice(first, _ROWS_AT_ONCE).combine_chunks()
            places = _places(piece["entity"].chunk(0))
            self._pieces.append((piece.drop_columns("entity"), places))
        self.entities = {entity for _, places in self._pieces for entity in places}

    def take(self, entity: str) -> pa.Table:
        """The rows of an entity; once."""
        if self._of_one is not None and entity in self.entities:
            found, self._of_one = self._of_one, None
            return found
        own = [piece.take(places.pop(entity)) for piece, places in self._pieces if entity in places]
        return pa.concat_tables([self._empty, *own])


class _Shuffled:
    """The rows of each entity, a table for each piece that has some; null is nobody. At its turn an entity
    has all of its rows in memory. So those of the largest one stay there: one group may have nearly all rows.
    Those of the others go to a file when they are many.
    """

    def __init__(self, rows: Pieces) -> None:
        self._schema = rows.schema.remove(rows.schema.get_field_index("entity"))
        self._held: defaultdict[str, list[pa.Table]] = defaultdict(list)
        self._file: PieceFile | None = None
        self._numbers: defaultdict[str, list[int]] = defaultdict(list)
        sizes: Counter[str] = Counter()
        for piece in pieces_of(rows):
            for entity, own in by_entity({"": [piece]}):
                self._held[entity].append(own[""])
                sizes[entity] += own[""].nbytes
            largest = max(sizes, key=sizes.__getitem__, default=None)
            others = [entity for entity in self._held if entity != largest]
            if sum(rows.nbytes for entity in others for rows in self._held[entity]) > HELD_BYTES:
                self._store(others)
        self.entities = self._held.keys() | self._numbers.keys()

    def take(self, entity: str) -> pa.Table:
        """The rows of an entity; once."""
        stored = [] if self._file is None else [self._file.read(self._numbers.pop(entity, ()))]
        return pa.concat_tables([self._schema.empty_table(), *stored, *self._held.pop(entity, ())])

    def _store(self, entities: Iterable[str]) -> None:
        if self._file is None:
            self._file = PieceFile(self._schema)
        for entity in entities:
            self._numbers[entity] += self._file.write(pa.concat_tables(self._held.pop(entity)))


def _places(entities: pa.Array) -> dict[str, pa.Array]:
    """By entity, the places of its rows."""
    encoded = entities.dictionary_encode()
    names = encoded.dictionary.to_pylist()
    codes = encoded.indices.fill_null(len(names))
    ends = np.cumsum(np.bincount(np.asarray(codes), minlength=len(names)))
    parts = np.split(np.asarray(pc.array_sort_indices(codes)), ends)
    return dict(zip(names, map(pa.array, parts), strict=False))
