"""The lag reports of cases of messages: see ``cases/README.md``. Less evidence changes no known value."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from fencepost.protocols.lag_report.lag_reports import lag_reports
from fencepost.protocols.lag_report.messages import of_lines, of_records

CASES = {path.stem: path for path in sorted(Path(__file__).with_name("cases").glob("*.json"))}
MARK = '"expect":'
Bronze = Callable[[Sequence[Any]], tuple[pa.Table, pa.Table]]
Row = dict[str, Any]


def rebuilt(bronze: Bronze, messages: Sequence[Any]) -> list[Row]:
    records, lines = bronze(messages)
    rows_of_messages = pa.concat_tables([of_records(records), of_lines(lines)])
    return list(lag_reports(rows_of_messages).to_pylist())


def _or_unknown(value: Any) -> Any:
    return "?" if value is None else value


def _ms(moment: Any) -> Any:
    return "?" if moment is None else round(moment.timestamp() * 1000)


def _as_text(row: Row) -> str:
    member = f"{_or_unknown(row['generation'])} {row['member_id']} of {_or_unknown(row['instance'])}"
    process = _or_unknown(row["process_id"])[-1]
    what = f"{_or_unknown(row['task_id'])}: {_or_unknown(row['kind'])} {_or_unknown(row['offset_sum'])}"
    assigned = _or_unknown(row["assigned_as"]) or "not assigned"
    owner = _or_unknown(row["assigned_to"])[-1]
    when = f"from {_ms(row['reported_at'])} to {_ms(row['assigned_at'])}"
    return f"{member} in {process}, {what}; {assigned}, active in {owner}; {when}"


@pytest.mark.parametrize("name", CASES)
def test_case(name: str, bronze: Bronze) -> None:
    """The reports are exactly those that the case expects."""
    text = CASES[name].read_text(encoding="utf-8")
    lines = sorted(map(_as_text, rebuilt(bronze, json.loads(text)["said"])))
    if os.environ.get("FENCEPOST_UPDATE"):
        expected = json.dumps(lines, indent=1, ensure_ascii=False)
        text = f"{text.split(MARK)[0]}{MARK} {expected}\n}}\n"
        CASES[name].write_text(text, encoding="utf-8")
    assert lines == json.loads(text)["expect"]


@pytest.mark.parametrize("name", CASES)
def test_the_order_of_evidence_changes_nothing(name: str, bronze: Bronze) -> None:
    messages = json.loads(CASES[name].read_text(encoding="utf-8"))["said"]
    shuffled = random.Random(7).sample(messages, len(messages))
    ordered, other = (sorted(rebuilt(bronze, each), key=_id) for each in (messages, shuffled))
    assert ordered == other
    assert len({_id(row) for row in ordered}) == len(ordered)


def _id(row: Row) -> str:
    return str(row["lag_report_id"])


# the values of a report, without its place
COLUMNS = (
    "process_id", "subscription_info_version", "reported", "kind", "offset_sum", "reported_at", "assigned_at",
    "assigned_to", "assigned_as",
)  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_removed_evidence_makes_values_unknown_and_changes_none(name: str, bronze: Bronze) -> None:
    messages = json.loads(CASES[name].read_text(encoding="utf-8"))["said"]
    whole = rebuilt(bronze, messages)
    for removed in range(len(messages)):
        for row in rebuilt(bronze, messages[:removed] + messages[removed + 1 :]):
            same = [each for each in whole if _key(each) == _key(row)]
            # a row for an assigned task without a known report says nothing about a report
            assert row["reported"] is None or any(_is_part_of(row, each) for each in same), messages[removed]


def _is_part_of(row: Row, whole: Row) -> bool:
    return all(row[name] in (None, whole[name]) for name in COLUMNS)


def _key(row: Row) -> tuple[Any, ...]:
    return row["generation"], row["member_id"], row["task_id"]
