"""Logs of applications, written by hand, and the verdicts about them: see ``applications/README.md``."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from fencepost.protocols.lag_report.bronze import STREAMS_LINES
from fencepost.protocols.lag_report.tables import LAG_REPORTS
from fencepost.reasons import NOT_CAPTURED, NOT_LOGGED
from fencepost.tables import RECORDS, REQUESTS

CASES = {path.stem: path for path in sorted(Path(__file__).with_name("applications").glob("*.json"))}
Tables = Mapping[str, pa.Table]
Verdicts = Mapping[str, dict[str, str]]
"""By case, the verdict about each definition that the case exercises."""


def of_case(table: pa.Table, name: str) -> pa.Table:
    return table.set_column(
        table.schema.get_field_index("cluster"), "cluster", pa.array([name] * len(table), pa.string())
    )


@pytest.fixture(scope="module")
def silver(
    bronze: Callable[..., Any],
    entries_of: Callable[[str, str], pa.Table],
    rebuild_streams: Callable[[Tables], Tables],
) -> Tables:
    """The silver of all cases: each is a cluster."""
    bronze_tables: dict[str, list[pa.Table]] = {RECORDS.name: [], REQUESTS.name: [], STREAMS_LINES.name: []}
    for name, path in CASES.items():
        case = json.loads(path.read_text(encoding="utf-8"))
        records, lines = bronze(case["said"])
        bronze_tables[RECORDS.name].append(of_case(records, name))
        bronze_tables[REQUESTS.name].append(of_case(lines, name))
        bronze_tables[STREAMS_LINES.name].append(entries_of(name, "\n".join(case["log"]) + "\n"))
    return rebuild_streams({name: pa.concat_tables(tables) for name, tables in bronze_tables.items()})


@pytest.fixture(scope="module")
def verdicts(silver: Tables, judge_streams: Callable[[Tables], Any]) -> Verdicts:
    judged = judge_streams(silver)
    verdicts_by_case: dict[str, dict[str, str]] = {name: {} for name in CASES}
    for name, definition in judged.exercised:
        verdicts_by_case[name][definition] = "holds"
    for name, definition, _ in judged.unknown:
        verdicts_by_case[name][definition] = "unknown"
    for name, definition, _ in judged.violated:
        verdicts_by_case[name][definition] = "violated"
    return verdicts_by_case


@pytest.mark.parametrize("name", CASES)
def test_case(name: str, verdicts: Verdicts) -> None:
    verdicts_of_case = dict(sorted(verdicts[name].items()))
    case = json.loads(CASES[name].read_text(encoding="utf-8"))
    if os.environ.get("FENCEPOST_UPDATE"):
        case["expect"] = verdicts_of_case
        CASES[name].write_text(json.dumps(case, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert verdicts_of_case == case["expect"]


def test_every_invariant_is_seen_holding_violated_and_unknown(verdicts: Verdicts) -> None:
    verdicts_by_definition: dict[str, set[str]] = {}
    for verdicts_of_case in verdicts.values():
        for definition, verdict in verdicts_of_case.items():
            verdicts_by_definition.setdefault(definition, set()).add(verdict)
    assert set(verdicts_by_definition) == {
        "assigned_directory_exists", "no_cleaning_while_lag_is_reported", "no_cleaning_within_the_delay",
        "no_locked_directory_deleted", "reported_sum_is_of_logged_stores", "zero_is_the_identity",
    }  # fmt: skip
    assert {
        definition: each_verdict
        for definition, each_verdict in verdicts_by_definition.items()
        if len(each_verdict) < 3
    } == {}


@pytest.mark.parametrize(
    ("begins", "why"),
    [("1970-01-01 00:00:0", NOT_LOGGED), ("1970-01-01 00:00:1", NOT_CAPTURED), (None, NOT_CAPTURED)],
)
def test_a_sum_that_a_captured_log_does_not_show_is_not_logged(
    begins: str | None,
    why: str,
    bronze: Callable[..., Any],
    entries_of: Callable[[str, str], pa.Table],
    rebuild_streams: Callable[[Tables], Tables],
) -> None:
    """``begins``: when the log begins; a second after the first of January the task was reported."""
    case = json.loads(CASES["sum_not_shown"].read_text(encoding="utf-8"))
    records, lines = bronze(case["said"])
    text = "\n".join(case["log"]).replace("2026-01-05 10:00:0", begins) if begins else ""
    log = entries_of(lines["cluster"][0].as_py(), text)
    silver = rebuild_streams({RECORDS.name: records, REQUESTS.name: lines, STREAMS_LINES.name: log})
    rows = silver[LAG_REPORTS.name].to_pylist()
    assert [each["sum_unknown"] for each in rows if each["reported"]] == [why]
