"""What the judge asks of the lake without a JVM: how many rows, the rows, and to replace them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from fencepost.settings import Settings
from fencepost.tables import Table

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog


def open_catalog(settings: Settings) -> Catalog:
    """The configured catalog, under the name by which Spark knows it."""
    from pyiceberg.catalog import load_catalog

    lake = settings.lake
    return load_catalog("lake", type="sql", uri=lake.catalog, warehouse=lake.warehouse)


def count(catalog: Catalog, table: Table) -> int:
    """How many rows the table has, as its newest snapshot says: nothing is read."""
    snapshot = catalog.load_table(table.name).current_snapshot()
    if snapshot is None or snapshot.summary is None:
        return 0
    return int(snapshot.summary["total-records"] or 0)


def batches(catalog: Catalog, table: Table, columns: Sequence[str]) -> pa.RecordBatchReader:
    """``columns`` of all rows, a batch at a time."""
    return catalog.load_table(table.name).scan(selected_fields=tuple(columns)).to_arrow_batch_reader()


def replace(catalog: Catalog, table: Table, rows: pa.RecordBatchReader) -> None:
    """Make ``rows`` the whole content of the table, in one commit; a batch at a time."""
    target = catalog.load_table(table.name)
    if target.current_snapshot() is None:
        target.append(rows)
    else:
        target.overwrite(rows)
