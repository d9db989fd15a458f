"""Recorded plays are judged again, and what is altered in their rows is found."""

from __future__ import annotations

import copy
import io
import json
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

import pytest
from plays.audits import DONE, Rows, configure, rows_of
from plays.oracles import judge
from plays.oracles.case import Case
from plays.oracles.rules import ALWAYS
from plays.recordings import FOLDER, recorded

from fencepost import cli

Row = dict[str, Any]
NAMES = sorted(path.name for path in FOLDER.iterdir() if path.is_dir())
LARGE = ("s20", "s31")
"""Seeds, whose recordings have rows in every table."""


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
    """None but those in ``faults.json``, which Fencepost is known to have, until they are repaired."""
    known = FOLDER / name / "faults.json"
    found = sorted({fault["fault"] for fault in judge(cases[name])})
    assert found == (json.loads(known.read_text()) if known.exists() else [])


def test_the_recordings_have_what_oracles_compare(cases: dict[str, Case]) -> None:
    facts = [fact for case in cases.values() for fact in case.facts]
    apis = {fact["api"] for fact in facts if fact["event"] == "request"}
    assert {"Produce", "EndTxn", "WriteTxnMarkers", "OffsetCommit", "TxnOffsetCommit", "JoinGroup"} <= apis
    assert {"ConsumerGroupHeartbeat", "StreamsGroupHeartbeat", "ShareGroupHeartbeat", "DeleteRecords"} <= apis
    assert {"owner", "anothers"} <= {fact.get("truth") for fact in facts}


def sure_commits(case: Case) -> list[Row]:
    """The rows of owners' accepted commits."""
    sure = {
        (fact["client"], fact["correlation_id"])
        for fact in case.requests()
        if fact.get("truth") == "owner" and fact["errors"] == ["NONE"]
    }
    return [row for row in case.rows["commits"] if (row["client_id"], row["correlation_id"]) in sure]


def first(rows: Rows, table: str, **like: Any) -> Row:
    return next(row for row in rows[table] if all(row[name] == value for name, value in like.items()))


def postpone(row: Row) -> None:
    told = json.loads(row["evidence"])
    row["evidence"] = json.dumps(told | {"fenced_at": "2100-01-01T00:00:00.000Z"})


ALTERED: dict[str, Callable[[Case], object]] = {
    "O2": lambda case: case.rows["verdicts"].append(
        {**case.rows["verdicts"][0], "invariant": min(ALWAYS), "verdict": "violated"}
    ),
    "O3:members": lambda case: case.rows["members"].clear(),
    "O3:owned": lambda case: case.rows["owned"].clear(),
    "O3:epoch": lambda case: [row.update(producer_epoch=99) for row in case.rows["epochs"]],
    "O3:offsets": lambda case: first(case.rows, "offsets", is_stored=True).update(committed_offset=987),
    "O3:topics": lambda case: first(case.rows, "topics", is_live=True).update(topic_id="another"),
    "O3:last_stable_offset": lambda case: [
        row.update(last_stable_offset=987) for row in case.rows["extents"]
    ],
    "O3:outcome": lambda case: [
        row.update(outcome={"committed": "aborted"}.get(row["outcome"], "committed"))
        for row in case.rows["transactions"]
    ],
    "O3:dangling_by_marts_only": lambda case: case.rows["dangling"].append(
        {"topic": "a", "partition": 0, "producer_id": 1}
    ),
    "O4:no_event": lambda case: case.rows["events"].clear(),
    "O4:cause_after_effect": lambda case: postpone(first(case.rows, "events", protocol="producer_epoch")),
    "O4:cause": lambda case: [row.update(cause=row["cause"] and "another") for row in case.rows["events"]],
    "O5:commit_not_in_mart": lambda case: case.rows["commits"].clear(),
    "O5:owner_accused": lambda case: [row.update(truth="zombie") for row in sure_commits(case)],
}
"""How rows are altered, by the fault that must be found."""


@pytest.mark.parametrize("fault", ALTERED)
def test_every_oracle_finds_what_is_altered(cases: dict[str, Case], fault: str) -> None:
    found = []
    for case in (cases[name] for name in LARGE):
        altered = Case(case.script, case.facts, copy.deepcopy(case.rows))
        ALTERED[fault](altered)
        found += [each["fault"] for each in judge(altered)]
    assert any(name.startswith(fault) for name in found), found
    assert not any(name.startswith("oracle") for name in found), found
