"""The lines of request logs that could not be read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.capture.plan import REQUEST_LOG
from fencepost.replay.entities import tuples

UNREAD = pa.schema([("cluster", pa.string()), ("file", pa.string()), ("position", pa.int64())])

UnreadLines = Mapping[str, Sequence[int]]
"""File of a request log -> positions of lines that could not be read."""


def are_read(unread_lines: UnreadLines, file: str, after: int, before: int | None = None) -> bool:
    """Whether all lines of a request log were read between two positions of one file; ``before`` is None for
    its end. A file has all lines of its time, except those that could not be read.
    """
    return not any(after < at and (before is None or at < before) for at in unread_lines.get(file, ()))


def of_request_logs(quarantine: pa.Table) -> pa.Table:
    """The rows of ``bronze.quarantine`` about request logs, with the columns UNREAD."""
    return quarantine.filter(pc.equal(quarantine["kind"], REQUEST_LOG)).select(UNREAD.names)


def unread_lines(rows: pa.Table) -> dict[str, UnreadLines]:
    """By cluster, from rows with the columns UNREAD."""
    by_cluster: defaultdict[str, dict[str, list[int]]] = defaultdict(dict)
    for cluster, file, position in tuples(rows):
        by_cluster[cluster].setdefault(file, []).append(position or 0)
    return dict(by_cluster)
