"""The current names of text logs, which are rolled, renamed and packed while runs read them.

A row of bronze has the name that its file had when it was captured. Most often that was the name of the log
being written, which another file has by now. A rebuild uses a line's file and position to identify the line,
to order lines, to find out whether a line between two others could not be read, and to point a person to it.
So it sees each line in the file in which it is now. A fresh capture of the same files would give the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

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
_OF_FILES = ("cluster", "broker_id", "file", _BEGINS, "captured_at")

Names = Mapping[tuple[str, int | None, str], str]
"""(cluster, broker id or None for a client, digest of the log's beginning) -> the log's name."""


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
    rows = [row for row in tuples(files.select(_OF_FILES)) if row[3] is not None]
    rows.sort(key=lambda row: row[4])
    holders: dict[tuple[str, int | None, str], str] = {}
    files_of_log: defaultdict[tuple[str, int | None, str], defaultdict[Any, set[str]]]
    files_of_log = defaultdict(lambda: defaultdict(set))
    for cluster, broker_id, file, begins, captured_at in rows:
        holders[cluster, broker_id, file] = begins
        files_of_log[cluster, broker_id, begins][captured_at].add(file)
    names = {}
    for (cluster, broker_id, begins), runs in files_of_log.items():
        if any(len(run_files) > 1 for run_files in runs.values()):
            continue
        (name,) = runs[max(runs)]
        has_name = holders[cluster, broker_id, name] == begins
        names[cluster, broker_id, begins] = name if has_name else f"{name}{GONE}{begins[:12]}"
    return names


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
