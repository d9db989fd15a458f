"""Logs of classic groups written by hand, and what the replay makes of them: ``cases/README.md``."""

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


def _known(value: Any) -> str:
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


def _told(rows: Rows) -> Iterator[str]:
    for row in rows["classic_group_coverage"]:
        covered = "covered" if row["covered"] else "not covered"
        yield f"life {row['life']} [{row['from_position']}, {_known(row['to_position'])}) {covered}"
    for row in rows["group_generations"]:
        cooperative = {True: "cooperative", False: "eager", None: "?"}[row["is_cooperative"]]
        yield (
            f"{row['record_offset']} [{row['from_position']}, {_known(row['to_position'])}) generation "
            f"{row['generation']} after {_known(row['previous_generation'])} (+{_known(row['abandoned'])}), "
            f"{row['protocol_type']} {row['protocol']} {cooperative}, {row['members']} members "
            f"(joined {_known(row['members_joined'])}, left {_known(row['members_left'])}), "
            f"unread {row['unread_members']} {row['unread_reason'] or ''}, changed "
            f"{_known(row['assignment_changed'])}"
        )
        yield (
            f"  prepared {_ms(row['prepared_at'])}, joined {_ms(row['joined_at'])}, took "
            f"{_known(row['rebalance_ms'])}, waited {_known(row['waited_ms'])} for "
            f"{_known(row['waited_for'])}; {row['reason_source']}: {row['reason']}"
        )
    for row in sorted(rows["ownership_claims"], key=_first_record):
        yield (
            f"{_records(row)} {row['member_id']} (v{row['subscription_version']}) claims "
            f"{row['topic']}-{row['partition']} of {_known(row['claimed_generation'])} "
            f"({row['claim_source']}, held {_known(row['is_held'])}), {_others(row, 'contradicted_by')}, "
            f"greatest {_known(row['greatest_claimed_generation'])}; was assigned "
            f"{_known(row['was_assigned'])}; now self {_known(row['assigned_to_self'])}, another "
            f"{_known(row['assigned_to_another'])}: {row['assigned_to']}"
            f"{' ' + row['unread_reason'] if row['unread_reason'] else ''}"
        )
    for row in sorted(rows["classic_assignments"], key=_first_record):
        yield (
            f"{_records(row)} {row['member_id']} gets {row['topic']}-{row['partition']}: held "
            f"{_known(row['claimed_by_self'])} of {_known(row['own_claim'])}, "
            f"{_others(row, 'claimed_by_another')}; before {row['previous_owner']}, stays "
            f"{_known(row['previous_owner_stays'])}, joined {_known(row['previous_owner_joined'])}, added "
            f"{_known(row['is_added'])}, owners {_known(row['owners'])}"
        )
    for row in rows["group_joins"]:
        yield (
            f"line {row['position']} join of {row['member_id'] or '(new)'} presents "
            f"{_known(row['presented_generation'])} ({row['claim_source']}), {_known(row['claims'])} claims: "
            f"{row['error']} {row['response_generation']}, {row['candidates']} states "
            f"{row['unknown_reason'] or ''}"
        )
    line_of = {row["request_id"]: row["position"] for row in rows["group_joins"]}
    for row in rows["group_join_states"]:
        yield (
            f"  line {line_of[row['request_id']]} at {_known(row['current_generation'])}: member "
            f"{_known(row['member_known'])}, instance {_known(row['instance_known'])}, fenced "
            f"{_known(row['instance_fenced'])}, protocols {_known(row['protocols_supported'])}, elsewhere "
            f"{_known(row['elsewhere'])}"
        )


@pytest.mark.parametrize("name", CASES)
def test_case(name: str, replay_of: Callable[[dict[str, Any]], Rows]) -> None:
    """What is told is exactly what the case expects."""
    text = CASES[name].read_text(encoding="utf-8")
    told = list(_told(replay_of(json.loads(text))))
    if os.environ.get("FENCEPOST_UPDATE"):
        expected = json.dumps(told, indent=1, ensure_ascii=False)
        text = f"{text.split(MARK, maxsplit=1)[0]}{MARK} {expected}\n}}\n"
        CASES[name].write_text(text, encoding="utf-8")
    assert told == json.loads(text)["expect"]
