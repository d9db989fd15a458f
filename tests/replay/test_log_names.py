"""What logs in text are called now, as the runs that read them noted it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from fencepost.replay.log_names import _named, names_of
from fencepost.tables import CLIENT_LINES, FILES, REQUESTS, Table

START = datetime(2026, 1, 1, tzinfo=UTC)
WRITTEN = "r.log"


def files(*read: tuple[int, str, str | None], broker_id: int | None = 1) -> pa.Table:
    """Rows of bronze.files: in which run, under which name, and how the file begins."""
    rows = [
        {"cluster": "c", "broker_id": broker_id, "kind": "request_log", "file": file, "file_begins": begins,
         "captured_at": START + timedelta(hours=run)}
        for run, file, begins in read
    ]  # fmt: skip
    return pa.Table.from_pylist(rows, schema=FILES.arrow_schema)


def now(*read: tuple[int, str, str | None]) -> dict[str, str]:
    """The name of each log of the broker, by how it begins."""
    return {begins: name for (_, _, begins), name in names_of(files(*read)).items()}


def test_a_rolled_log_is_called_what_it_is_called_now() -> None:
    assert now((0, WRITTEN, "a"), (1, "r.log.1", "a"), (1, WRITTEN, "b")) == {"a": "r.log.1", "b": WRITTEN}
    assert now((1, "r.log.2.gz", "a"), (0, "r.log.1", "a")) == {"a": "r.log.2.gz"}


def test_a_log_that_is_gone_is_not_taken_for_the_one_that_has_its_name() -> None:
    names = now((0, WRITTEN, "a"), (1, "r.log.1", "a"), (2, "r.log.1", "b"))
    assert names == {"a": "r.log.1#a", "b": "r.log.1"}
    assert now((0, WRITTEN, "a" * 40), (1, WRITTEN, "b"))["a" * 40] == f"{WRITTEN}#{'a' * 12}"


def test_what_two_files_of_one_run_begin_with_tells_neither_of_them() -> None:
    assert now((0, "x", "a"), (0, "y", "a"), (1, "z", "a")) == {}
    assert now((0, "x", None)) == {}


def test_every_line_is_where_its_file_is_now() -> None:
    names = {("c", 1, "a"): "1.a", ("c", 1, "b"): "1.b", ("c", 2, "a"): "2.a", ("d", None, "a"): "client"}
    told: Sequence[tuple[str, int, str | None]] = [
        ("c", 1, "a"), ("c", 2, "a"), ("c", 1, None), ("d", 1, "a"), ("c", 1, "b"), ("c", 1, "a"),
    ]  # fmt: skip
    rows = [
        {"cluster": cluster, "broker_id": broker_id, "file_begins": begins, "file": WRITTEN, "position": at}
        for at, (cluster, broker_id, begins) in enumerate(told)
    ]
    assert _files(REQUESTS, rows, names) == ["1.a", "2.a", WRITTEN, WRITTEN, "1.b", "1.a"]
    assert _files(REQUESTS, [], names) == []
    of_client = [{"cluster": "d", "client": "x", "file_begins": "a", "file": WRITTEN}]
    assert _files(CLIENT_LINES, of_client, names) == ["client"]


def _files(table: Table, rows: list[dict[str, Any]], names: dict[Any, str]) -> list[str]:
    given = pa.Table.from_pylist(rows, schema=table.arrow_schema)
    found = _named(names, list(table.columns), given)
    assert found.schema == given.schema
    assert found.drop_columns("file") == given.drop_columns("file")
    called: list[str] = found["file"].to_pylist()
    return called
