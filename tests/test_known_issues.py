"""What known_issues.toml of each protocol lists, and where it is said."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from fencepost import known_issues
from fencepost.known_issues import MARKERS, KnownIssue, issues_behind, named, sentences, table
from fencepost.markdown import with_part
from fencepost.protocol_folders import protocol_folders

PAGE = Path(__file__).resolve().parents[1] / "docs" / "findings.md"
ISSUES = known_issues.known_issues()
RIGHT_TYPE, DANGLING = "marker_of_the_right_type", "no_dangling_transaction"


def test_each_has_a_name_of_its_own_and_a_ticket_that_is_one() -> None:
    assert len({each.id for each in ISSUES}) == len(ISSUES) > 20
    tickets = [ticket for each in ISSUES for ticket in each.tickets]
    assert all(re.fullmatch(r"(KAFKA|KIP)-\d+|[\w./-]+#\d+", each) for each in tickets)


def test_the_page_has_them_as_they_are() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert with_part(text, MARKERS, table(ISSUES)) == text


@pytest.mark.parametrize(
    ("invariant", "evidence", "ids"),
    [
        ("no_retry_fenced", {}, {"retry_fences_itself"}),
        ("every_marker_is_written", {}, {"marker_is_lost", "election_loses_a_marker"}),
        ("status_transitions", {}, set()),
        (RIGHT_TYPE, {"wrong_by_operator": True}, {"operator_aborts"}),
        (RIGHT_TYPE, {"wrong_by_operator": False}, {"marker_written_twice"}),
        (RIGHT_TYPE, {"wrong_by_operator": None}, {"marker_written_twice", "operator_aborts"}),
        (DANGLING, {"coordinator_outcome": None, "log_deleted": False}, {"late_batch"}),
        (
            DANGLING,
            {"coordinator_outcome": None, "log_deleted": True},
            {"late_batch", "transaction_log_deleted"},
        ),
        (
            DANGLING,
            {"coordinator_outcome": "committed", "log_deleted": False},
            {"marker_is_lost", "election_loses_a_marker"},
        ),
    ],
)
def test_what_may_be_behind_a_violation(invariant: str, evidence: dict[str, Any], ids: set[str]) -> None:
    assert {each.id for each in issues_behind(invariant, evidence)} == ids


def test_evidence_of_what_an_issue_violates_has_what_rules_it_out() -> None:
    for issue in ISSUES:
        folder = protocol_folders()[issue.protocol] / "compiled"
        assert issue.ruled_out_by.keys() <= set(issue.violates)
        for invariant, values in issue.ruled_out_by.items():
            query = (folder / f"{invariant}.sql").read_text(encoding="utf-8")
            assert all(re.search(rf"\.{name}\b", query) for name in values), issue.id


def test_an_issue_in_words() -> None:
    assert sentences(named(["retry_fences_itself"])) == [
        "Perhaps a known issue: A retry of InitProducerId fences itself (a fault of the broker; KAFKA-20357; "
        "corrected: after 4.4.0)."
    ]
    assert sentences(named(None)) == []
    unsettled = KnownIssue("x", "p", "It hangs", ("i",), None, (), ("4.3.1",), None)
    assert unsettled.words == (
        "It hangs (whose fault is not settled; no release that is known has a correction)"
    )
    assert "the operator's doing" in named(["operator_aborts"])[0].words


def test_an_issue_of_an_invariant_that_does_not_exist_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / known_issues.FILE).write_text('[x]\ntitle = "t"\nviolates = ["none"]\nseen_in = []\n')
    monkeypatch.setattr(known_issues, "protocol_folders", lambda: {"p": tmp_path})
    known_issues.known_issues.cache_clear()
    with pytest.raises(ValueError, match="nothing is called \\['none'\\]"):
        known_issues.known_issues()
    known_issues.known_issues.cache_clear()
