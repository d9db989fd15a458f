"""Splits the evidence by entity, so that each entity's replay gets its own rows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.engines.parts import Parts, Rows, union, whole
from fencepost.engines.piece_files import PieceFile

HELD_BYTES = 32 << 20
"""So many bytes of the rows of all entities but the largest are kept in memory."""
_ROWS_AT_ONCE = 1 << 16


def by_entity(evidence: dict[str, list[Rows]]) -> Iterator[tuple[str, dict[str, pa.Table]]]:
    """Each entity, in the order of names, with its rows by name: in their order, without the column
    ``entity``.

    Every entity gets a table for every name. Only one entity's rows are copied at a time, and nothing but the
    caller refers to them. The dict ``evidence`` is emptied.
    """
    by_name = {name: _of_each(evidence.pop(name)) for name in list(evidence)}
    for entity in sorted({entity for places in by_name.values() for entity in places.entities}):
        yield entity, {name: places.take(entity) for name, places in by_name.items()}


def _of_each(parts: Sequence[Rows]) -> _Places | _Shuffled:
    rows = union(parts)
    return _Shuffled(rows) if isinstance(rows, Parts) else _Places(rows)


class _Places:
    """The places of each entity's rows in a table with a column ``entity``; rows with null belong to none."""

    def __init__(self, rows: pa.Table) -> None:
        own = rows.drop_columns("entity")
        self._empty = own.schema.empty_table()
        self._pieces: list[tuple[pa.Table, dict[str, pa.Array]]] = []
        self._of_one: pa.Table | None = None
        if rows.num_rows and not rows["entity"].null_count and len(names := pc.unique(rows["entity"])) == 1:
            # not copied: all rows belong to the same entity, which may be a whole cluster
            self._of_one, self.entities = own, {names[0].as_py()}
            return
        for first in range(0, rows.num_rows, _ROWS_AT_ONCE):
            # one chunk each: Arrow's take() on several chunks first copies all of them, every time
            piece = rows.slice(first, _ROWS_AT_ONCE).combine_chunks()
            places = _places(piece["entity"].chunk(0))
            self._pieces.append((piece.drop_columns("entity"), places))
        self.entities = {entity for _, places in self._pieces for entity in places}

    def take(self, entity: str) -> pa.Table:
        """The rows of an entity, which are forgotten here."""
        if self._of_one is not None and entity in self.entities:
            rows, self._of_one = self._of_one, None
            return rows
        own = [piece.take(places.pop(entity)) for piece, places in self._pieces if entity in places]
        return pa.concat_tables([self._empty, *own])


class _Shuffled:
    """The rows of each entity, as a table for each piece that has some; rows with null belong to none.

    All rows of an entity are in memory when it is replayed. So those of the largest entity, which may be
    nearly all rows, stay in memory from the start; those of the others are written to a file when they are
    many.
    """

    def __init__(self, rows: Parts) -> None:
        self._schema = rows.schema.remove(rows.schema.get_field_index("entity"))
        self._in_memory: defaultdict[str, list[pa.Table]] = defaultdict(list)
        self._file: PieceFile | None = None
        self._numbers: defaultdict[str, list[int]] = defaultdict(list)
        sizes: Counter[str] = Counter()
        bytes_in_memory: Counter[str] = Counter()
        for piece in rows:
            for entity, own in by_entity({"": [piece]}):
                self._in_memory[entity].append(own[""])
                added = own[""].nbytes
                sizes[entity] += added
                bytes_in_memory[entity] += added
            largest = max(sizes, key=sizes.__getitem__, default="")
            if bytes_in_memory.total() - bytes_in_memory[largest] > HELD_BYTES:
                self._store([entity for entity in self._in_memory if entity != largest])
                bytes_in_memory = Counter({largest: bytes_in_memory[largest]})
        self.entities = self._in_memory.keys() | self._numbers.keys()

    def take(self, entity: str) -> pa.Table:
        """The rows of an entity, which are forgotten here."""
        stored = [] if self._file is None else [self._file.read(self._numbers.pop(entity, ()))]
        return whole([*stored, *self._in_memory.pop(entity, ())], self._schema)

    def _store(self, entities: Iterable[str]) -> None:
        if self._file is None:
            self._file = PieceFile(self._schema)
        for entity in entities:
            self._numbers[entity] += self._file.write(pa.concat_tables(self._in_memory.pop(entity)))


def _places(entities: pa.Array) -> dict[str, pa.Array]:
    """By entity, the indexes of its rows."""
    encoded = entities.dictionary_encode()
    names = encoded.dictionary.to_pylist()
    codes = encoded.indices.fill_null(len(names))
    ends = np.cumsum(np.bincount(np.asarray(codes), minlength=len(names)))
    parts = np.split(np.asarray(pc.array_sort_indices(codes)), ends)
    return dict(zip(names, map(pa.array, parts), strict=False))
