"""Logs of applications that were rolled, also between runs: no known value differs from that of the whole
log.
"""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from fencepost import lake
from fencepost.capture.run import capture
from fencepost.engines.tasks import TaskEngine
from fencepost.opening import ensure
from fencepost.protocols.lag_report.bronze import STREAMS_LINES
from fencepost.settings import Broker, load
from fencepost.settings import Lake as Place

CLUSTER, CLIENT = "streams-4.3.1", "race-a"
Row = dict[str, Any]
Bronze = Mapping[str, pa.Table]
Rebuild = Callable[[Bronze], Bronze]
COMPARED: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "silver.directory_deletions": ("deletion_id", ("lag_reported", "has_state", "since_release_ms")),
    "silver.assigned_tasks": (
        "assigned_task_id",
        ("on_reported_lag", "directory_exists", "deleted_by", "standby_as"),
    ),
    "silver.streams_rebalances": ("rebalance_id", ("generation", "member_id", "outcome")),
}
"""By table, the key and the compared columns of its rows."""


def parts(lines: Sequence[Row], cuts: Sequence[int], names: Sequence[str]) -> list[Row]:
    """The lines, divided at ``cuts`` into files of these names."""
    bounds = [0, *cuts, len(lines)]
    return [
        {**line, "file": name, "file_begins": f"digest of {begin}"}
        for name, begin, end in zip(names, bounds, bounds[1:], strict=False)
        for line in lines[begin:end]
    ]


@pytest.fixture(scope="module")
def lines(streams_bronze: Bronze) -> list[Row]:
    rows = streams_bronze[STREAMS_LINES.name].to_pylist()
    own = [row for row in rows if (row["cluster"], row["client"]) == (CLUSTER, CLIENT)]
    return sorted(own, key=lambda row: row["position"])


@pytest.fixture(scope="module")
def rebuilt_of(streams_bronze: Bronze, rebuild_streams: Rebuild) -> Callable[[list[Row]], Bronze]:
    """Rebuilds silver from lines alone, without their group."""
    empty = {name: rows.slice(0, 0) for name, rows in streams_bronze.items()}

    def rebuilt(rows: list[Row]) -> Bronze:
        bronze_lines = pa.Table.from_pylist(rows, schema=STREAMS_LINES.arrow_schema)
        return rebuild_streams({**empty, STREAMS_LINES.name: bronze_lines})

    return rebuilt


def rows_of_lines(silver: Bronze) -> dict[tuple[str, int], Row]:
    """The compared columns of each row, by table, position of its line and task."""
    return {
        (table, row["position"], row.get("task_id")): {name: row[name] for name in names}
        for table, (_, names) in COMPARED.items()
        for row in silver[table].to_pylist()
    }


def thirds(lines: Sequence[Row]) -> Iterator[tuple[int, int]]:
    for begin in range(10, len(lines) - 20, 17):
        for size in (5, 20, 60):
            if begin + size < len(lines) - 5:
                yield begin, begin + size


def test_a_missing_number_is_a_hole(lines: list[Row], rebuilt_of: Callable[[list[Row]], Bronze]) -> None:
    whole = rows_of_lines(rebuilt_of(lines))
    known_values = lost_values = 0
    for begin, end in thirds(lines):
        rest = [
            row
            for row in parts(lines, (begin, end), ("a.log.2", "a.log.1", "a.log"))
            if row["file"] != "a.log.1"
        ]
        silver = rebuilt_of(rest)
        covered = [row["covered"] for row in silver["silver.streams_coverage"].to_pylist()]
        assert covered.count(False) >= 1
        for key, row in rows_of_lines(silver).items():
            for name, value in row.items():
                assert value in (None, whole[key][name]), (begin, end, key, name)
                known_values += value is not None
                lost_values += value is None and whole[key][name] is not None
    assert known_values > lost_values > 0


@pytest.mark.parametrize(
    ("names", "holes"),
    [
        (("a.log.2", "a.log.1", "a.log"), 0),
        (("a.log.1", "a.log.2", "a.log"), 0),  # log4j's default: larger is newer
        (("a.log.2.gz", "a.log.1.gz", "a.log"), 0),
        (("a-2026-01-05-1.log.gz", "a-2026-01-05-2.log.gz", "a.log"), 0),
        (("a-2026-01-05.log", "a-2026-01-06.log", "a-2026-01-09.log"), 0),  # parts of a date are no numbers
        (("x.log", "y.log", "z.log"), 0),
        (("a.log.3", "a.log.1", "a.log"), 1),
        (("a.log.3", "a.log.2", "a.log"), 1),
        (("a-2026-01-05-1.log.gz", "a-2026-01-05-3.log.gz", "a.log"), 1),
    ],
)
def test_names_that_were_rolled(
    names: tuple[str, ...], holes: int, lines: list[Row], rebuilt_of: Callable[[list[Row]], Bronze]
) -> None:
    cuts = len(lines) // 3, len(lines) // 2
    silver = rebuilt_of(parts(lines, cuts, names))
    covered = [row["covered"] for row in silver["silver.streams_coverage"].to_pylist()]
    assert covered.count(False) == holes
    if not holes:
        assert rows_of_lines(silver) == rows_of_lines(rebuilt_of(lines))


def test_states_that_do_not_join_are_a_hole(
    lines: list[Row], rebuilt_of: Callable[[list[Row]], Bronze]
) -> None:
    """A line was lost, and the name of its file shows no gap; but a thread's states do not follow one
    another.
    """
    at = next(
        index
        for index, row in enumerate(lines)
        if (row["event"], row["to_state"]) == ("thread_state", "RUNNING")
    )
    silver = rebuilt_of([*lines[:at], *lines[at + 1 :]])
    holes = [row for row in silver["silver.streams_coverage"].to_pylist() if not row["covered"]]
    assert len(holes) == 1
    whole = rows_of_lines(rebuilt_of(lines))
    for key, row in rows_of_lines(silver).items():
        assert all(value in (None, whole[key][name]) for name, value in row.items()), key


def test_a_log_that_is_rolled_while_it_is_read_is_the_same_log(
    captures: Path, tmp_path: Path, lines: list[Row], rebuilt_of: Callable[[list[Row]], Bronze]
) -> None:
    """A run reads the log after each of six parts, two of which share a file."""
    shutil.copytree(captures / CLUSTER / "clients", tmp_path / "clients")
    log = tmp_path / "clients" / f"{CLIENT}.log"
    entries = log.read_text(encoding="utf-8").replace("\n[2026", "\n\0[2026").split("\0")
    (cluster,) = load(captures / CLUSTER / "fencepost.toml").clusters
    (client,) = (each for each in cluster.clients if each.name == CLIENT)
    client = dataclasses.replace(client, logs=(f"{log}*",))
    settings = dataclasses.replace(
        load(captures / CLUSTER / "fencepost.toml"),
        lake=Place(str(tmp_path / "warehouse"), f"sqlite:///{tmp_path / 'catalog.db'}"),
        clusters=(dataclasses.replace(cluster, brokers=(Broker(1),), clients=(client,)),),
    )
    catalog = ensure(settings.lake)
    log.unlink()
    for part in range(6):
        if part in (2, 4):
            for number in (1, 0):
                older = log.with_name(f"{log.name}.{number}") if number else log
                if older.exists():
                    older.rename(log.with_name(f"{log.name}.{number + 1}"))
        with log.open("a", encoding="utf-8") as file:
            file.writelines(entries[len(entries) * part // 6 : len(entries) * (part + 1) // 6])
        capture(settings, catalog, lambda size, what: TaskEngine(catalog), "test")
    read = lake.scan(catalog, STREAMS_LINES).to_pylist()
    assert len(read) == len(lines)
    assert len({row["file_begins"] for row in read}) == 3
    silver = rebuilt_of(read)
    assert all(row["covered"] for row in silver["silver.streams_coverage"].to_pylist())

    def all_rows(tables: Bronze) -> dict[str, list[tuple[Any, ...]]]:
        return {
            table: sorted((tuple(row[name] for name in names) for row in tables[table].to_pylist()), key=repr)
            for table, (_, names) in COMPARED.items()
        }

    assert all_rows(silver) == all_rows(rebuilt_of(lines))
