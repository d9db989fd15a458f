"""Whatever may be unknown says why: one list of reasons, for definitions, silver and marts alike."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from fencepost.protocols import tables
from fencepost.reasons import REASONS
from tlasql.sql.reasons import WORDS

ROOT = Path(__file__).resolve().parents[1]
MAPPINGS = {path.parent.name: path for path in sorted((ROOT / "spec").glob("*/mapping.toml"))}
MARTS = {
    model["name"]: model
    for path in sorted((ROOT / "dbt" / "models").glob("*/fct_*.yml"))
    for model in yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)["models"]
}
MAY_BE_UNKNOWN = re.compile(
    r"null[^.]*(unknown|nothing shows|hides?\b|hidden|not show|several are possible|cannot be|could not be"
    r"|not seen|may be missing|after a hole|not found"
    r"|no (\w+ )?(line|record|log|evidence|batch|file)s? (is known|shows?|has|have|names))",
    re.IGNORECASE,
)
"""What the description of a column says if a null in it may stand for something unknown."""
SAYS_IT_ELSEWHERE = {"unknown_reason", "unknown_detail", "reason"}


def test_the_glossary_lists_every_reason() -> None:
    glossary = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+)` \| (.+) \| (.+) \|$", glossary, re.MULTILINE)
    assert listed == [(name, each.means, each.settles) for name, each in REASONS.items()]
    assert all(each.endswith(".") for _, *texts in listed for each in texts)


@pytest.mark.parametrize("protocol", MAPPINGS)
def test_a_mapping_gives_every_table_that_is_read_a_reason_of_the_list(protocol: str) -> None:
    """So the compiler's own words for what it knows nothing of occur nowhere."""
    mapping = tomllib.loads(MAPPINGS[protocol].read_text(encoding="utf-8"))
    said = mapping["reasons"]
    words = {
        word for each in said.values() for word in (each["otherwise"], *each.get("columns", {}).values())
    }
    assert words <= REASONS.keys()
    folder = ROOT / mapping["outputs"]["sql"]
    compiled = {path.name: path.read_text(encoding="utf-8") for path in folder.rglob("*.sql")}
    read = {table for sql in compiled.values() for table in re.findall(r"\bsilver\.\w+", sql)}
    assert read == said.keys()
    foreign = [
        name for name, sql in compiled.items() for word in WORDS if f"'{word}'" in sql and word not in REASONS
    ]
    assert foreign == []


def test_rows_of_silver_that_say_why_have_the_columns_for_it() -> None:
    with_words = [each.name for each in tables() if "unknown_reason" in each.columns]
    assert len(with_words) > 4
    for table in tables():
        assert ("unknown_reason" in table.columns) == ("unknown_detail" in table.columns), table.name


def _unknown(column: dict[str, Any]) -> str | None:
    found: str | None = column.get("config", {}).get("meta", {}).get("unknown")
    return found


@pytest.mark.parametrize("mart", MARTS)
def test_a_column_that_may_be_unknown_says_why(mart: str) -> None:
    """By a word, or by the column in which its row says it. A new column that may be null because something
    is unknown fails here until it does.
    """
    columns = {each["name"]: each for each in MARTS[mart]["columns"]}
    names = REASONS.keys() | ({"unknown_reason"} & columns.keys())
    for name, column in columns.items():
        description = " ".join(column["description"].split())
        values = column.get("config", {}).get("meta", {}).get("values", [])
        if name in SAYS_IT_ELSEWHERE:
            continue
        if MAY_BE_UNKNOWN.search(description):
            assert _unknown(column) in names, f"{name}: add `unknown: <reason>` to its meta"
        elif _unknown(column) is not None:
            assert _unknown(column) in names, name
        if "unknown" in values and name not in {"verdict", "status"}:
            assert _unknown(column) == "unknown_reason", f"{name}: add `unknown: unknown_reason` to its meta"


@pytest.mark.parametrize("mart", MARTS)
def test_a_column_of_reasons_has_no_other_words(mart: str) -> None:
    """``sound`` checks the rows by it."""
    for column in MARTS[mart]["columns"]:
        if column["name"] == "unknown_reason":
            assert column["config"]["meta"]["values"] == "reasons"


def test_golden_rows_have_reasons_of_the_list() -> None:
    golden = ROOT / "tests" / "dbt" / "golden"
    found = {
        row[name]
        for path in golden.rglob("*.json")
        for row in json.loads(path.read_text(encoding="utf-8"))
        for name in ("unknown_reason", *(["reason"] if path.stem.startswith("verdicts.") else []))
        if row.get(name) is not None
    }
    assert len(found) > 4
    assert found <= REASONS.keys()
