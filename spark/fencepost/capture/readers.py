"""Which module reads which kind of file."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fencepost.capture import client_logs, request_logs, segments, state_files
from fencepost.capture.plan import ABORTED_INDEX, CLIENT_LOG, PRODUCER_SNAPSHOT, REQUEST_LOG, SEGMENT, Source
from fencepost.capture.rows import OUTCOME, Rows, outcome, unreadable
from fencepost.tables import (
    ABORTED_TRANSACTIONS,
    BATCHES,
    CLIENT_LINES,
    PRODUCER_SNAPSHOT_ENTRIES,
    RECORDS,
    REQUESTS,
    Table,
)

_ROWS: dict[str, Callable[[Source], Rows]] = {
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


def read_all(sources: Sequence[Source]) -> Rows:
    """The rows of every source, each read once.

    One that cannot be read has no progress, so the next run reads the same range again; what was read of it
    until then counts once. One that is gone was renamed or deleted since it was found: the next run finds it
    under its new name, or nothing is left to be read.
    """
    for source in sources:
        try:
            yield from _ROWS[source.kind](source)
        except FileNotFoundError:
            continue
        except OSError as error:
            yield OUTCOME, outcome(source, [unreadable(source, error)])
