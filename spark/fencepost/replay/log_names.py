"""The current names of text logs, which are rolled, renamed and packed while runs read them.

A row of bronze has the name that its file had when it was captured. Most often that was the name of the log
being written, which another file has by now. A rebuild uses a line's file and position to identify the line,
to order lines, to find out whether a line between two others could not be read, and to point a person to it.
So it sees each line in the file in which it is now. A fresh capture of the same files would give the same.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.conditions import Where
from fencepost.engines import Engine, Rows
from fencepost.replay.entities import distinct, tuples
from fencepost.replay.scan import Scan
from fencepost.tables import FILES, Table

GONE = "#"
"""Separates the last name of a log that is gone from a digest of its beginning, if another log has that
name.
"""

_BEGINS = "file_begins"
OF_LOG = ("cluster", "broker_id", _BEGINS)
"""The columns that identify a log in text, whatever its name."""

_OF_FILES = (*OF_LOG, "file", "captured_at")

Log = tuple[str, int | None, str]
"""(cluster, broker id or None for a client, digest of the log's beginning)."""

Names = Mapping[Log, str]
"""The name of each log."""


def is_renamed(table: Table, columns: Collection[str]) -> bool:
    """Whether these columns of a table have names of logs."""
    return table is not FILES and _BEGINS in table.columns and "file" in columns


def renamed(engine: Engine, names: Names, read: Scan) -> Scan:
    """Reads rows with the current names of their files; ``read`` reads them with their names of then."""

    def scan(table: Table, columns: tuple[str, ...], where: Where | None) -> Rows:
        if not names or not is_renamed(table, columns):
            return read(table, columns, where)
        of_log = [name for name in ("cluster", "broker_id", _BEGINS) if name in table.columns]
        rows = read(table, tuple(dict.fromkeys((*columns, *of_log))), where)
        return engine.map(rows, partial(_named, names, columns), table.schema_of(columns))

    return scan


def current_names(engine: Engine) -> Names:
    """The names of all logs in ``bronze.files``."""
    return names_of(engine.collect(engine.scan(FILES, _OF_FILES)))


def names_of(files: pa.Table) -> Names:
    """The names of all logs in rows of ``bronze.files``, also of logs that had only one name: a run that was
    killed has not noted under which name it read a log.

    If several files of one run have the same beginning, it does not identify a log: their rows keep their
    names.
    """
    files = files.select(_OF_FILES).filter(pc.field(_BEGINS).is_valid())
    # each run adds rows, so Python sees one of each log and name
    newest = files.group_by([*OF_LOG, "file"]).aggregate([("captured_at", "max")])
    unclear = unclear_logs(files)
    name_of: dict[Log, str] = {}
    holder: dict[tuple[str, int | None, str], str] = {}
    for cluster, broker_id, begins, file, _ in tuples(newest.sort_by("captured_at_max")):
        name_of[cluster, broker_id, begins] = file
        holder[cluster, broker_id, file] = begins
    return {
        log: name if holder[*log[:2], name] == log[2] else f"{name}{GONE}{log[2][:12]}"
        for log, name in name_of.items()
        if log not in unclear
    }


def unclear_logs(files: pa.Table) -> set[Log]:
    """The logs in rows of ``bronze.files`` of which a run has read several files."""
    files = files.filter(pc.field(_BEGINS).is_valid())
    files_of_runs = files.group_by([*OF_LOG, "captured_at"]).aggregate([("file", "count_distinct")])
    return set(tuples(files_of_runs.filter(pc.field("file_count_distinct") > 1).select(OF_LOG)))


def _named(names: Names, columns: Sequence[str], rows: pa.Table) -> pa.Table:
    """The rows with current names. There are many rows of few files, so names are looked up once per file."""
    if rows.num_rows == 0:
        return rows.select(list(columns))
    of_client = pa.chunked_array([pa.nulls(rows.num_rows, pa.int32())])
    broker = rows["broker_id"] if "broker_id" in rows.column_names else of_client
    logs, number = distinct([rows["cluster"], broker, rows[_BEGINS], rows["file"]])
    current = pa.array([names.get(tuple(log), old_name) for *log, old_name in logs], pa.string())
    at = rows.column_names.index("file")
    return rows.set_column(at, "file", current.take(number)).select(list(columns))
