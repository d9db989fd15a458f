"""Which module reads which kind of file."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa

from fencepost.capture import client_logs, request_logs, segments, state_files
from fencepost.capture.plan import ABORTED_INDEX, CLIENT_LOG, PRODUCER_SNAPSHOT, REQUEST_LOG, SEGMENT, Source
from fencepost.tables import (
    ABORTED_TRANSACTIONS,
    BATCHES,
    CLIENT_LINES,
    PRODUCER_SNAPSHOT_ENTRIES,
    RECORDS,
    REQUESTS,
    Table,
)

_ROWS: dict[str, Callable[[Source, Table], Iterator[pa.RecordBatch]]] = {
    SEGMENT: segments.rows,
    PRODUCER_SNAPSHOT: state_files.rows,
    ABORTED_INDEX: state_files.rows,
    REQUEST_LOG: request_logs.rows,
    CLIENT_LOG: client_logs.rows,
}
TABLES: dict[str, tuple[Table, ...]] = {
    SEGMENT: (BATCHES, RECORDS),
    PRODUCER_SNAPSHOT: (PRODUCER_SNAPSHOT_ENTRIES,),
    ABORTED_INDEX: (ABORTED_TRANSACTIONS,),
    REQUEST_LOG: (REQUESTS,),
    CLIENT_LOG: (CLIENT_LINES,),
}
"""The tables whose rows a kind of file holds."""


def rows(source: Source, table: Table) -> Iterator[pa.RecordBatch]:
    """The rows of ``table``, or of OUTCOME, in the source's range; an OSError on the way ends them."""
    return _ROWS[source.kind](source, table)
