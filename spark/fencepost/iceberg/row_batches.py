"""Reads the rows of one Parquet file a few thousand at a time.

PyIceberg 0.12 reads all rows of a file before it returns the first one. Memory for so many is new to the
process each time, and the kernel may take as long to provide it as Arrow takes to decode the rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.dataset as ds
from pyiceberg.expressions import AlwaysTrue, BooleanExpression
from pyiceberg.expressions.visitors import bind, translate_column_names
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import (
    _get_column_projection_values,
    _to_requested_schema,
    expression_to_pyarrow,
    pyarrow_to_schema,
)
from pyiceberg.manifest import FileFormat
from pyiceberg.schema import Schema, prune_columns
from pyiceberg.table import FileScanTask
from pyiceberg.table.metadata import TableMetadata

ROWS_AT_ONCE = 1 << 14
_FORMAT = ds.ParquetFileFormat(pre_buffer=True)


def can_read(task: FileScanTask) -> bool:
    """Whether ``row_batches`` can read the file: it is Parquet, and none of its rows have been deleted."""
    return not task.delete_files and task.file.file_format == FileFormat.PARQUET


def row_batches(
    metadata: TableMetadata, io: FileIO, projected: Schema, row_filter: BooleanExpression, task: FileScanTask
) -> Iterator[pa.RecordBatch]:
    """The rows of a table's file that ``row_filter`` chooses, in their order, with the columns of the schema
    ``projected``.
    """
    with io.new_input(task.file.file_path).open() as file:
        fragment = _FORMAT.make_fragment(file)
        physical = fragment.physical_schema
        stored = pyarrow_to_schema(physical, metadata.name_mapping(), format_version=metadata.format_version)
        missing = _get_column_projection_values(
            task.file, projected, metadata.schema(), metadata.specs().get(task.file.spec_id), stored.field_ids
        )
        chosen = None
        if row_filter != AlwaysTrue():
            named = translate_column_names(
                bind(metadata.schema(), row_filter, case_sensitive=True),
                stored,
                case_sensitive=True,
                projected_field_values=missing,
            )
            chosen = expression_to_pyarrow(bind(stored, named, case_sensitive=True), stored)
        present = prune_columns(stored, projected.field_ids, select_full_types=False)
        scanner = ds.Scanner.from_fragment(
            fragment,
            schema=physical,
            columns=[column.name for column in present.columns],
            filter=chosen,
            batch_size=ROWS_AT_ONCE,
            # nothing is read ahead: that would be all of the file again
            batch_readahead=0,
            use_threads=False,
        )
        for batch in scanner.to_batches():
            if batch.num_rows:
                yield _to_requested_schema(
                    projected,
                    present,
                    batch,
                    projected_missing_fields=missing,
                    allow_timestamp_tz_mismatch=True,
                )
