"""Recorded plays are judged again, and every oracle finds what it is there for."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

import pytest
from plays.audits import DONE, configure, rows_of
from plays.oracles import judge
from plays.oracles.case import Case
from plays.recordings import FOLDER, recorded

from fencepost import cli

NAMES = sorted(path.name for path in FOLDER.iterdir() if path.is_dir())
BROKEN = "broken-4.3.1"
"""The recording in which rows and facts are altered."""


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Case]:
    """All recordings, audited as clusters of one lake."""
    home = tmp_path_factory.mktemp("plays")
    found = {p.home.name: p for p in recorded(home)}
    config = configure(home / "lake", {name: (p.home, p.script.setting.brokers) for name, p in found.items()})
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        code = cli.main(["audit", "--config", str(config)])
    assert code in DONE, said.getvalue()
    rows = rows_of(config)
    return {name: Case(p.script, p.facts, rows[name]) for name, p in found.items()}


@pytest.mark.parametrize("name", NAMES)
def test_no_fault(cases: dict[str, Case], name: str) -> None:
    assert judge(cases[name]) == []


def test_the_recordings_are_worth_it(cases: dict[str, Case]) -> None:
    """They have what the oracles compare, so that finding nothing means something."""
    facts = [fact for case in cases.values() for fact in case.facts]
    apis = {fact["api"] for fact in facts if fact["event"] == "request"}
    assert {"Produce", "EndTxn", "WriteTxnMarkers", "OffsetCommit", "TxnOffsetCommit", "JoinGroup"} <= apis
    assert {"ConsumerGroupHeartbeat", "StreamsGroupHeartbeat", "ShareGroupHeartbeat", "DeleteRecords"} <= apis
    assert {"owner", "anothers"} <= {fact.get("truth") for fact in facts}


def alter(rows: list[dict[str, Any]], column: str, value: Any, **where: Any) -> None:
    """Change a column of the first row that is like this."""
    row = next(row for row in rows if all(row[name] == wanted for name, wanted in where.items()))
    row[column] = value(row[column]) if callable(value) else value
