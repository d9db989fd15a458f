"""Finds the rows that a table does not have yet: exactly, with only eight bytes in memory for each stored
key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.conditions import Where, Within
from fencepost.engines.key_hashes import Hashes, hashes_of, is_in, numbered
from fencepost.lake import ROW_GROUP
from fencepost.tables import Table

# A condition on thousands of values rules out no file.
_FEW_VALUES = 32
_NUMBERS = ("int", "bigint")


class KnownKeys:
    """The keys of a table that are known: those that it has, and those of rows that are on their way into it.

    Nulls in keys are equal. A row is new if no known key has the same hash. Only rows with a known hash are
    compared with the keys themselves, since two keys may have the same hash.
    """

    def __init__(
        self,
        table: Table,
        keys: Callable[[Where], Iterable[pa.Table]],
        again: Callable[[pa.Table, pa.Table], None] | None = None,
    ) -> None:
        """``keys``: returns the known keys that meet a condition, in pieces. ``again`` is given the rows that
        are left out, and as many with their keys: as ``keys`` gave them, or else the first of the rows.
        """
        self._table, self._keys, self._again = table, keys, again
        self._hashes: Hashes = np.empty(0, dtype=np.uint64)

    def read(self, within: Where) -> None:
        """Know exactly the keys that meet this condition."""
        hashes = [self._hashed(keys) for keys in self._keys(within)]
        self._hashes = np.sort(np.concatenate([np.empty(0, dtype=np.uint64), *hashes]), kind="stable")

    def learn(self, hashes: Hashes) -> None:
        """Know the keys with these hashes, too."""
        # both parts are sorted already, so a stable sort only merges them
        self._hashes = np.sort(np.concatenate([self._hashes, np.unique(hashes)]), kind="stable")

    def new(self, rows: pa.Table, hashes: Hashes) -> pa.Table:
        """The rows whose key is not known, of each key the first; ``hashes``: those of their keys."""
        is_known = is_in(hashes, self._hashes)
        in_order = np.sort(hashes)
        is_repeated = is_in(hashes, in_order[1:][in_order[1:] == in_order[:-1]])
        unsure = is_known | is_repeated
        if not unsure.any():
            return rows
        unsure_rows = rows.filter(pa.array(unsure))
        known = self._keys_like(unsure_rows, hashes[is_known])
        first = _first_of_each(self._table, known, unsure_rows)
        own = np.arange(known.num_rows, known.num_rows + unsure_rows.num_rows)
        is_first = first == own
        if self._again is not None:
            together = pa.concat_tables([known, unsure_rows.select(known.column_names)])
            self._again(unsure_rows.filter(pa.array(~is_first)), together.take(pa.array(first[~is_first])))
        chosen = ~unsure
        chosen[unsure] = is_first
        return rows.filter(pa.array(chosen))

    def _keys_like(self, rows: pa.Table, hashes: Hashes) -> pa.Table:
        """The known keys with one of these hashes, which are those of the rows."""
        wanted_hashes = np.unique(hashes)
        keys_found = []
        for keys in self._keys(_around(self._table, rows)) if len(wanted_hashes) else ():
            keys_found.append(keys.filter(pa.array(is_in(self._hashed(keys), wanted_hashes))))
        return pa.concat_tables(keys_found) if keys_found else rows.slice(0, 0)

    def _hashed(self, keys: pa.Table) -> Hashes:
        return hashes_of(keys.select(list(self._table.key)))


class NewRows:
    """Appends to one table, in any number of calls, the rows whose key it does not have yet, once each.

    ``within`` is a condition that all rows are known to meet.
    """

    def __init__(self, catalog: Catalog, table: Table, within: Where) -> None:
        self._catalog, self._table, self._within = catalog, table, within
        self._known = KnownKeys(table, partial(lake.by_file, catalog, table, table.key))
        self._snapshot: int | None = None

    def append(self, rows: pa.Table) -> int:
        """Append the new ones of the rows, in one commit; returns how many they are."""
        if not rows.num_rows:
            return 0
        # unless nobody else has written to the table since the last time
        if lake.snapshot(self._catalog, self._table) != self._snapshot:
            self._known.read(self._within)
        rows = rows.select(list(self._table.columns)).cast(self._table.arrow_schema)
        hashes = hashes_of(rows.select(list(self._table.key)))
        new = self._known.new(rows, hashes)
        count = lake.append(self._catalog, self._table, by_date(new, self._table.dated_by))
        self._known.learn(hashes)
        self._snapshot = lake.snapshot(self._catalog, self._table)
        return count


def by_date(rows: pa.Table, column: str | None) -> pa.Table:
    """The rows in order of their dates, so that a reader of some days finds them in few row groups."""
    if column is None or rows.num_rows < ROW_GROUP:
        return rows
    dates = rows[column]
    in_order = pc.all(pc.less_equal(dates.slice(0, rows.num_rows - 1), dates.slice(1)))
    return rows if in_order.as_py() else rows.sort_by(column)


def _around(table: Table, rows: pa.Table) -> Where:
    """A condition that these rows meet, and few others."""
    condition: dict[str, object] = {}
    for name in table.key:
        values = pc.unique(rows[name])
        if len(values) <= _FEW_VALUES:
            condition[name] = frozenset(values.to_pylist())
        elif table.columns[name] in _NUMBERS and not values.null_count:
            condition[name] = Within(least=pc.min(values).as_py())
    return [condition]


def _first_of_each(table: Table, known: pa.Table, rows: pa.Table) -> NDArray[np.int64]:
    """For each row the index of the first one with its key among those that are known and the rows."""
    keys = [each.select(list(table.key)) for each in (known, rows)]
    _, first, number = np.unique(numbered(pa.concat_tables(keys)), return_index=True, return_inverse=True)
    return np.asarray(first[number][known.num_rows :])
