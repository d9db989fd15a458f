"""Appends, replaces and deletes rows of tables, each time in one commit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.manifest import DataFile

from fencepost.conditions import Where
from fencepost.conditions.iceberg import expression
from fencepost.iceberg import commits
from fencepost.iceberg.listing import Listing
from fencepost.lake.partitions import files_of_partitions
from fencepost.tables import CHAPTER, Table

__all__ = [
    "aligned",
    "append",
    "append_files",
    "compact_files",
    "delete",
    "keep_since",
    "replace",
    "replace_by_batches",
    "replace_by_files",
    "replace_by_pieces",
]


def append(catalog: Catalog, table: Table, rows: pa.Table) -> int:
    """Append rows, in one commit; returns how many."""
    if rows.num_rows:
        commits.append(catalog.load_table(table.name), aligned(rows, table))
    return int(rows.num_rows)


def replace(catalog: Catalog, table: Table, rows: pa.Table, where: Where | None = None) -> int:
    """Make ``rows`` the content of the table (or of the part that ``where`` chooses), in one commit."""
    replace_by_pieces(catalog, table, [rows], where)
    return int(rows.num_rows)


def replace_by_pieces(
    catalog: Catalog, table: Table, pieces: Iterable[pa.Table], where: Where | None = None
) -> None:
    """As ``replace``, for rows that come in pieces, of which one at a time is in memory."""
    as_stored = (aligned(rows, table) for rows in pieces)
    listing = Listing(catalog.load_table(table.name))
    old_files = files_of_partitions(listing, where)
    if old_files is None:
        commits.replace(listing.table, as_stored, expression(where))
    else:
        commits.exchange(listing, old_files, as_stored)


def replace_by_batches(
    catalog: Catalog, table: Table, rows: Iterable[pa.RecordBatch], where: Where | None = None
) -> None:
    """As ``replace``, for rows that come in batches, of which one at a time is in memory."""
    replace_by_pieces(catalog, table, (pa.Table.from_batches([batch]) for batch in rows), where)


def replace_by_files(
    catalog: Catalog, table: Table, files: Sequence[DataFile], where: Where | None = None
) -> bool:
    """As ``replace``, for rows that are in files already, written for this table. Returns False, and does
    nothing, if ``where`` may choose a part of a file.
    """
    listing = Listing(catalog.load_table(table.name))
    old_files = files_of_partitions(listing, where)
    if old_files is None:
        return False
    commits.exchange_files(listing, old_files, files)
    return True


def append_files(catalog: Catalog, table: Table, files: Sequence[DataFile]) -> int:
    """As ``append``, for rows that are in files already, written for this table."""
    commits.exchange_files(Listing(catalog.load_table(table.name)), (), files)
    return sum(each.record_count for each in files)


def delete(catalog: Catalog, table: Table, where: Where) -> None:
    """Delete the rows that ``where`` chooses, in one commit."""
    replace_by_pieces(catalog, table, (), where)


def compact_files(catalog: Catalog, table: Table) -> None:
    """Rewrite many small files as few; the rows stay the same."""
    commits.compact_files(catalog.load_table(table.name))


def keep_since(catalog: Catalog, table: Table, snapshot: int) -> None:
    """Let a snapshot, as of which the table was read, and those after it not expire: ``added`` and
    ``scan_at`` need them until a later one was read.
    """
    commits.keep_since(catalog.load_table(table.name), snapshot)


def aligned(rows: pa.Table, table: Table) -> pa.Table:
    """Exactly the table's columns, in its order and types. Fails when one is missing.

    Rows without a chapter get the first one, 0: all of history may be one chapter.
    """
    if table.in_chapters and CHAPTER not in rows.column_names:
        rows = rows.append_column(CHAPTER, pa.repeat(pa.scalar(0, pa.int64()), rows.num_rows))
    return rows.select(list(table.stored)).cast(table.stored_schema)
