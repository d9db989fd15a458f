"""What is unknown of any capture says why, and nothing else does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from fencepost.reasons import REASONS

MODELS = Path(__file__).resolve().parents[2] / "dbt" / "models"
MARTS = {
    model["name"]: {each["name"]: each.get("config", {}).get("meta", {}) for each in model["columns"]}
    for path in sorted(MODELS.glob("*/fct_*.yml"))
    for model in yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)["models"]
}
WITH_REASONS = sorted(name for name, columns in MARTS.items() if "unknown_reason" in columns)
LISTED = ", ".join(f"'{reason}'" for reason in REASONS)


@pytest.mark.parametrize(
    ("table", "is_unknown"),
    [
        ("verdicts.episodes", "verdict = 'unknown'"),
        ("marts.fct_invariant_verdicts", "verdict = 'unknown'"),
        ("verdicts.decisions", "outcome IS NULL"),
        ("verdicts.coverage", "status IN ('unknown', 'holds_partly')"),
    ],
)
def test_every_unknown_verdict_and_decision_has_a_reason(audit: Any, table: str, is_unknown: str) -> None:
    (row,) = audit.rows(
        f"SELECT count(*) AS n, sum(CASE WHEN {is_unknown} THEN 1 ELSE 0 END) AS unknown_, "
        f"sum(CASE WHEN ({is_unknown}) AND coalesce(reason IN ({LISTED}), false) THEN 1 ELSE 0 END) AS told, "
        f"sum(CASE WHEN NOT ({is_unknown}) AND reason IS NOT NULL THEN 1 ELSE 0 END) AS too_many FROM {table}"
    )
    assert row["n"] > row["unknown_"] == row["told"] > 50
    assert row["too_many"] == 0


def test_reasons_are_counted_as_often_as_something_is_unknown(audit: Any) -> None:
    counted = audit.rows("""
        SELECT cluster, invariant, sum(`unknown`) AS n FROM marts.fct_unknown_reasons GROUP BY 1, 2
    """)
    covered = audit.rows(
        "SELECT cluster, invariant, `unknown` AS n FROM marts.fct_invariant_coverage WHERE `unknown` > 0"
    )
    assert {tuple(row.values()) for row in counted} == {tuple(row.values()) for row in covered}
    found = {row["reason"] for row in audit.rows("SELECT DISTINCT reason FROM marts.fct_unknown_reasons")}
    assert len(found) > 7
    assert found <= REASONS.keys()


@pytest.mark.parametrize("mart", WITH_REASONS)
def test_every_unknown_fact_has_a_reason(audit: Any, mart: str) -> None:
    """Of the columns whose ``meta`` says that ``unknown_reason`` tells why: where one is unknown, the row has
    a reason; and a row that has one has something unknown.
    """
    columns = MARTS[mart]
    told = [name for name, meta in columns.items() if meta.get("unknown") == "unknown_reason"]
    tests = [f"coalesce(CAST({name} AS STRING), 'unknown') = 'unknown'" for name in told]
    assert tests
    (row,) = audit.rows(
        f"SELECT count(*) AS reasons, sum(CASE WHEN {' OR '.join(tests)} THEN 1 ELSE 0 END) AS of_unknown, "
        f"sum(CASE WHEN unknown_reason IN ({LISTED}) THEN 1 ELSE 0 END) AS listed "
        f"FROM marts.{mart} WHERE unknown_reason IS NOT NULL"
    )
    assert row["reasons"] == (row["listed"] or 0) == (row["of_unknown"] or 0)


def test_an_orphaned_offset_is_unknown_for_a_reason(audit: Any) -> None:
    """This mart is a view, which no build tests."""
    assert (
        audit.rows("""
            SELECT commit_id FROM marts.fct_committed_offsets WHERE unknown_reason IS NULL
              AND (kip_232 IS NULL OR shipped IS NULL OR is_orphaned IS NULL OR is_stored IS NULL)
        """)
        == []
    )
