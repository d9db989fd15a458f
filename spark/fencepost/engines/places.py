"""The places of one run: where its tasks write, and the rows that they wrote there."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.engines import piece_files
from fencepost.engines.outputs import Output, Place
from fencepost.engines.parts import Part, Parts, Rows, parts_of, whole
from fencepost.engines.scratch import Scratches
from fencepost.tables import Table

FEW_BYTES = 256 << 10
"""A task in another process returns so many bytes of the rows of a table; for more it writes a file."""


class Places:
    """``is_here``: tasks run in the driver's process, so rows need not leave it."""

    def __init__(self, catalog: Catalog, scratches: Scratches, *, is_here: bool) -> None:
        self._catalog, self._scratches, self._is_here = catalog, scratches, is_here

    def of_table(self, table: Table) -> Place:
        """Data files of a table, to be committed."""
        stored = self._catalog.load_table(table.name)
        metadata = lake.without_history(stored.metadata)
        return Place(table.arrow_schema, self._few_bytes, self._scratches.own, table, metadata, stored.io)

    def of_replay(self, table: Table) -> Place:
        """For rows that are made of evidence. Those of silver go to data files of their table, which
        ``replace`` then only commits.
        """
        if not self._is_here and table.name.startswith("silver.") and self._catalog.table_exists(table.name):
            return self.of_table(table)
        return self.temporary(table.arrow_schema)

    def temporary(self, schema: pa.Schema) -> Place:
        """Temporary files, for this run only."""
        return Place(schema, self._few_bytes, None if self._is_here else self._scratches.own)

    @property
    def _few_bytes(self) -> int:
        return piece_files.PIECE_BYTES if self._is_here else FEW_BYTES


def rows_of(place: Place, outputs: Iterable[Output]) -> Rows:
    """The rows that tasks wrote to a place."""
    few: list[pa.Table] = []
    parts: list[Part] = []
    for output in outputs:
        if output.rows is not None:
            few.append(output.rows.rows)
        parts += output.parts(place)
    in_driver = whole(few, place.schema)
    return Parts(place.schema, (*parts, *parts_of(in_driver).parts)) if parts else in_driver
