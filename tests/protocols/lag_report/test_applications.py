"""Logs of applications, written by hand, and what is judged of them: see ``applications/README.md``."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from fencepost.protocols.lag_report.bronze import STREAMS_LINES
from fencepost.tables import RECORDS, REQUESTS

CASES = {path.stem: path for path in sorted(Path(__file__).with_name("applications").glob("*.json"))}
Tables = Mapping[str, pa.Table]
Verdicts = Mapping[str, dict[str, str]]
"""What is said of each definition that a case exercises, by case."""


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
    """What is rebuilt of all cases: each is a cluster."""
    given: dict[str, list[pa.Table]] = {RECORDS.name: [], REQUESTS.name: [], STREAMS_LINES.name: []}
    for name, path in CASES.items():
        case = json.loads(path.read_text(encoding="utf-8"))
        records, lines = bronze(case["said"])
        given[RECORDS.name].append(of_case(records, name))
        given[REQUESTS.name].append(of_case(lines, name))
        given[STREAMS_LINES.name].append(entries_of(name, "\n".join(case["log"]) + "\n"))
    return rebuild_streams({name: pa.concat_tables(tables) for name, tables in given.items()})


@pytest.fixture(scope="module")
def verdicts(silver: Tables, judge_streams: Callable[[Tables], Any]) -> Verdicts:
    judged = judge_streams(silver)
    found: dict[str, dict[str, str]] = {name: {} for name in CASES}
    for name, definition in judged.exercised:
        found[name][definition] = "holds"
    for name, definition, _ in judged.unknown:
        found[name][definition] = "unknown"
    for name, definition, _ in judged.violated:
        found[name][definition] = "violated"
    return found


@pytest.mark.parametrize("name", CASES)
def test_case(name: str, verdicts: Verdicts) -> None:
    told = dict(sorted(verdicts[name].items()))
    case = json.loads(CASES[name].read_text(encoding="utf-8"))
    if os.environ.get("FENCEPOST_UPDATE"):
        case["expect"] = told
        CASES[name].write_text(json.dumps(case, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert told == case["expect"]


def test_every_invariant_is_seen_holding_violated_and_unknown(verdicts: Verdicts) -> None:
    seen: dict[str, set[str]] = {}
    for told in verdicts.values():
        for definition, verdict in told.items():
            seen.setdefault(definition, set()).add(verdict)
    assert set(seen) == {
        "assigned_directory_exists", "no_cleaning_while_lag_is_reported", "no_cleaning_within_the_delay",
        "no_locked_directory_deleted", "reported_sum_is_of_logged_stores", "zero_is_the_identity",
    }  # fmt: skip
    assert {definition: said for definition, said in seen.items() if len(said) < 3} == {}
