"""The current names of text logs: a log is rolled, renamed and packed while runs read it.

A row of bronze has the name that its file had when it was taken, which was most often that of the log that is
being written: another file has it now. Where a line stands is what tells lines apart, says which came first
and whether one between them could not be read, and leads a person to it. So a rebuild sees each line in
the file it is in now. A fresh capture of the same files would say the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from fencepost.engines import Engine, Rows
from fencepost.engines.delegating import DelegatingEngine
from fencepost.lake import Where
from fencepost.replay.entities import distinct, tuples
from fencepost.tables import FILES, Table

GONE = "#"
"""Behind the last name of a log that is gone, when another has that name now, with how it begins."""

_BEGINS = "file_begins"
_OF_FILES = ("cluster", "broker_id", "file", _BEGINS, "captured_at")

Names = Mapping[tuple[str, int | None, str], str]
"""The name of a log by cluster, broker (None: a client's) and how it begins."""


class RenamingEngine(DelegatingEngine):
    """An engine that gives lines of logs with the name that their file has now."""

    def __init__(self, engine: Engine, names: Names) -> None:
        super().__init__(engine)
        self._names = names

    def scan(self, table: Table, columns: Sequence[str] = (), where: Where | None = None) -> Rows:
        """Rows of a table."""
        chosen = tuple(columns) or tuple(table.columns)
        if not self._names or table is FILES or _BEGINS not in table.columns or "file" not in chosen:
            return super().scan(table, columns, where)
        of_log = [name for name in ("cluster", "broker_id", _BEGINS) if name in table.columns]
        rows = super().scan(table, tuple(dict.fromkeys((*chosen, *of_log))), where)
        return self.map(rows, partial(_named, self._names, chosen), table.schema_of(chosen))


def with_current_names(engine: Engine) -> Engine:
    """The engine for a rebuild."""
    return RenamingEngine(engine, current_names(engine))


def current_names(engine: Engine) -> Names:
    """The names of all logs in ``bronze.files``."""
    return names_of(engine.collect(engine.scan(FILES, _OF_FILES)))


def names_of(files: pa.Table) -> Names:
    """The names of all logs in rows of ``bronze.files``, also of those that had but one: a run that was
    killed has not noted under which name it read them.

    What several files of one run begin with tells no log apart: their rows keep the names they have.
    """
    rows = [row for row in tuples(files.select(_OF_FILES)) if row[3] is not None]
    rows.sort(key=lambda row: row[4])
    holders: dict[tuple[str, int | None, str], str] = {}
    seen: defaultdict[tuple[str, int | None, str], defaultdict[Any, set[str]]]
    seen = defaultdict(lambda: defaultdict(set))
    for cluster, broker_id, file, begins, captured_at in rows:
        holders[cluster, broker_id, file] = begins
        seen[cluster, broker_id, begins][captured_at].add(file)
    names = {}
    for (cluster, broker_id, begins), runs in seen.items():
        if any(len(found) > 1 for found in runs.values()):
            continue
        (name,) = runs[max(runs)]
        is_there = holders[cluster, broker_id, name] == begins
        names[cluster, broker_id, begins] = name if is_there else f"{name}{GONE}{begins[:12]}"
    return names


def _named(names: Names, columns: Sequence[str], rows: pa.Table) -> pa.Table:
    """The rows, which are many and of few files."""
    if rows.num_rows == 0:
        return rows.select(list(columns))
    of_client = pa.chunked_array([pa.nulls(rows.num_rows, pa.int32())])
    broker = rows["broker_id"] if "broker_id" in rows.column_names else of_client
    logs, number = distinct([rows["cluster"], broker, rows[_BEGINS], rows["file"]])
    now = pa.array([names.get(tuple(log), called) for *log, called in logs], pa.string())
    at = rows.column_names.index("file")
    return rows.set_column(at, "file", now.take(number)).select(list(columns))
