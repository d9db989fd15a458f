"""Logs of classic groups written by hand, and the rows that the replay gives: ``cases/README.md``."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

CASES = {path.stem: path for path in sorted(Path(__file__).with_name("cases").glob("*.json"))}
MARK = ' "expect":'

Row = Mapping[str, Any]
Rows = Mapping[str, list[Row]]


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "?", True: "yes", False: "no"}[value]
    return ", ".join(value) or "nobody" if isinstance(value, list) else str(value)


def _ms(time: Any) -> str:
    return "?" if time is None else str(int(time.timestamp() * 1000))


def _others(row: Row, who: str) -> str:
    greatest, number = row["greatest_claim_of_others"], row["others_at_greatest_claim"]
    if greatest is None:
        return "others ?"
    return "no other" if greatest == -2 else f"{number} other of {greatest} ({row[who]})"


def _first_record(row: Row) -> int:
    return int(row["record_offset"])


def _records(row: Row) -> str:
    first, last = row["record_offset"], row["last_record_offset"]
    return f"{first}" if row["records"] == 1 else f"{first} to {last} ({row['records']})"


def _as_text(rows: Rows) -> Iterator[str]:
    for row in rows["classic_group_coverage"]:
        covered = "covered" if row["covered"] else "not covered"
        yield f"life {row['life']} [{row['from_position']}, {_text(row['to_position'])}) {covered}"
    for row in rows["group_generations"]:
        cooperative = {True: "cooperative", False: "eager", None: "?"}[row["is_cooperative"]]
        yield (
            f"{row['record_offset']} [{row['from_position']}, {_text(row['to_position'])}) generation "
            f"{row['generation']} after {_text(row['previous_generation'])} (+{_text(row['abandoned'])}), "
            f"{row['protocol_type']} {row['protocol']} {cooperative}, {row['members']} members "
            f"(joined {_text(row['members_joined'])}, left {_text(row['members_left'])}), "
            f"unread {row['unread_members']} {row['unread_reason'] or ''}, changed "
            f"{_text(row['assignment_changed'])}"
        )
        yield (
            f"  prepared {_ms(row['prepared_at'])}, joined {_ms(row['joined_at'])}, took "
            f"{_text(row['rebalance_ms'])}, waited {_text(row['waited_ms'])} for "
            f"{_text(row['waited_for'])}; {row['reason_source']}: {row['reason']}"
        )
    for row in sorted(rows["ownership_claims"], key=_first_record):
        why = f" {row['was_assigned_unknown']}" if row["was_assigned_unknown"] else ""
        yield (
            f"{_records(row)} {row['member_id']} (v{row['subscription_version']}) claims "
            f"{row['topic']}-{row['partition']} of {_text(row['claimed_generation'])} "
            f"({row['claim_source']}, held {_text(row['is_held'])}), {_others(row, 'contradicted_by')}, "
            f"greatest {_text(row['greatest_claimed_generation'])}; was assigned "
            f"{_text(row['was_assigned'])}{why}; now self {_text(row['assigned_to_self'])}, another "
            f"{_text(row['assigned_to_another'])}: {row['assigned_to']}"
            f"{' ' + row['unread_reason'] if row['unread_reason'] else ''}"
        )
    for row in sorted(rows["classic_assignments"], key=_first_record):
        yield (
            f"{_records(row)} {row['member_id']} gets {row['topic']}-{row['partition']}: held "
            f"{_text(row['claimed_by_self'])} of {_text(row['own_claim'])}, "
            f"{_others(row, 'claimed_by_another')}; before {row['previous_owner']}, stays "
            f"{_text(row['previous_owner_stays'])}, joined {_text(row['previous_owner_joined'])}, added "
            f"{_text(row['is_added'])}, owners {_text(row['owners'])}"
            f"{' ' + row['unknown_reason'] if row['unknown_reason'] else ''}"
        )
    for row in rows["group_joins"]:
        yield (
            f"line {row['position']} join of {row['member_id'] or '(new)'} presents "
            f"{_text(row['presented_generation'])} ({row['claim_source']}), {_text(row['claims'])} claims: "
            f"{row['error']} {row['response_generation']}, {row['candidates']} states "
            f"{row['unknown_detail'] or ''}"
        )
    line_of = {row["request_id"]: row["position"] for row in rows["group_joins"]}
    for row in rows["group_join_states"]:
        yield (
            f"  line {line_of[row['request_id']]} at {_text(row['current_generation'])}: member "
            f"{_text(row['member_known'])}, instance {_text(row['instance_known'])}, fenced "
            f"{_text(row['instance_fenced'])}, protocols {_text(row['protocols_supported'])}, elsewhere "
            f"{_text(row['elsewhere'])}"
        )


@pytest.mark.parametrize("name", CASES)
def test_case(name: str, replay_of: Callable[[dict[str, Any]], Rows]) -> None:
    """The rows are exactly those that the case expects."""
    case_text = CASES[name].read_text(encoding="utf-8")
    lines = list(_as_text(replay_of(json.loads(case_text))))
    if os.environ.get("FENCEPOST_UPDATE"):
        expected = json.dumps(lines, indent=1, ensure_ascii=False)
        case_text = f"{case_text.split(MARK, maxsplit=1)[0]}{MARK} {expected}\n}}\n"
        CASES[name].write_text(case_text, encoding="utf-8")
    assert lines == json.loads(case_text)["expect"]
