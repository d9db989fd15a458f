"""Other tools read the lake as docs/reading.md says: its examples run, and so does the notebook."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "reading.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^## (\w+)\n.*?```python\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL)
CATALOG = "sqlite:////var/lib/fencepost/catalog.db"
DIMENSIONS = {
    "dim_broker": ["fct_broker_fencings", "fct_fencing_events"],
    "dim_client": ["fct_offset_commits", "fct_init_producer_ids"],
    "dim_cluster": ["fct_incidents"],
    "dim_group": ["fct_offset_commits", "fct_ownership_intervals", "fct_incident_verdicts"],
    "dim_invariant": ["fct_invariant_verdicts"],
    "dim_member": ["fct_offset_commits", "fct_ownership_intervals"],
    "dim_topic": ["fct_offset_commits", "fct_leader_epochs", "fct_orphaned_offsets"],
    "dim_transactional_id": ["fct_producer_epochs", "fct_fencing_events"],
}
KEYS = {
    "dim_broker": "cluster, broker_id",
    "dim_client": "cluster, client_id",
    "dim_cluster": "cluster",
    "dim_group": "cluster, group_id",
    "dim_invariant": "invariant",
    "dim_member": "cluster, group_id, member_id",
    "dim_topic": "cluster, topic",
    "dim_transactional_id": "cluster, transactional_id",
}


@pytest.mark.parametrize(("tool", "example"), EXAMPLES, ids=[tool for tool, _ in EXAMPLES])
def test_an_example_reads_rows(audit: Any, tool: str, example: str) -> None:
    given = example.replace(CATALOG, audit.settings.lake.catalog)
    assert given != example
    found: dict[str, Any] = {}
    exec(compile(given, tool, "exec"), found)
    assert len(found["frame"]) > 0


def test_there_is_an_example_for_each_tool_that_can_be_tried() -> None:
    assert [tool for tool, _ in EXAMPLES] == ["PyIceberg", "DuckDB"]


def test_the_notebook_answers_its_questions(
    audit: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CATALOG", audit.settings.lake.catalog)
    answers = runpy.run_path(str(DOCS / "notebooks" / "ten_questions.py"))["answers"]
    assert len(answers) == 10
    assert [question for question, frame in answers.items() if frame.empty] == []
    printed = capsys.readouterr().out
    assert [question for question in answers if f"\n{question}\n" not in printed] == []


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_a_join_to_a_dimension_multiplies_no_rows(audit: Any, dimension: str) -> None:
    """Each fact has one row after the join, and for most of those with the key the dimension has a row."""
    key = KEYS[dimension]
    condition = " AND ".join(f"{name} IS NOT NULL AND {name} <> ''" for name in key.split(", "))
    if "broker_id" in key:
        condition = "broker_id IS NOT NULL"
    for fact in DIMENSIONS[dimension]:
        (counted,) = audit.rows(
            f"SELECT count(*) AS joined, (SELECT count(*) FROM marts.{fact}) AS facts FROM marts.{fact} "
            f"LEFT JOIN marts.{dimension} USING ({key})"
        )
        assert counted["joined"] == counted["facts"] > 0, fact
        (found,) = audit.rows(
            f"SELECT count(*) AS n FROM marts.{fact} JOIN marts.{dimension} USING ({key}) WHERE {condition}"
        )
        assert found["n"] > 0, fact
