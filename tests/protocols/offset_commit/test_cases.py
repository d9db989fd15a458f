"""The replay of logs written by hand, one file per rule: see ``cases/README.md``."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace as Row

import pytest

MARK = '"expect":'
CASES = {path.stem: path for path in sorted(Path(__file__).with_name("cases").glob("*.json"))}


def _span(row: Row) -> str:
    return f"[{row.from_position}, {'' if row.to_position is None else row.to_position})"


def _flag(value: bool | None) -> str:
    return {True: "yes", False: "no", None: "?"}[value]


def _or_unknown(value: object) -> object:
    return "?" if value is None else value


def _topic(key: str | None) -> str:
    names = {"O": "orders", "U": "audit", "X": "nowhere", "N": "anew"}
    return "?" if not key else names[key[0]] + key[22:] if key[0] in names else key


def _group(r: Row) -> str:
    epochs = f"epoch {r.group_epoch}, target {_or_unknown(r.target_assignment_epoch)}"
    return f"{r.group_id} life {r.life} {r.group_type} {_span(r)}: {epochs}"


def _member(r: Row) -> str:
    own = (
        f"epoch {r.member_epoch}, was {r.previous_member_epoch}, revocation {_or_unknown(r.revocation_epoch)}"
    )
    group = _from_to(r.group_epoch, r.last_group_epoch)
    target = _from_to(r.target_assignment_epoch, r.last_target_assignment_epoch)
    beside = f"{r.state}, group {group}, target {target}"
    return f"{r.group_id} life {r.life} {r.protocol} {r.member_id} {_span(r)}: {own}, {beside}"


def _from_to(first: object, last: object) -> object:
    return _or_unknown(first) if first == last else f"{_or_unknown(first)} to {_or_unknown(last)}"


def _owned(r: Row) -> str:
    pending = ", pending" if r.pending_revocation else ""
    to = f" to {r.last_member_epoch}" if r.last_member_epoch != r.member_epoch else ""
    what = f"assigned at {r.assignment_epoch}, member {r.member_epoch}{to}, since {r.owned_since}{pending}"
    if r.topic_id is None and r.topic is not None:
        what += f", of {r.topic!r}"
    return f"{r.group_id} life {r.life} {r.member_id} {_topic(r.partition_key)} {_span(r)}: {what}"


def _revoked(r: Row) -> str:
    what = f"revoked at {r.partition_revocation_epoch}, member's {_or_unknown(r.revocation_epoch)}"
    return f"{r.group_id} life {r.life} {r.member_id} {_topic(r.partition_key)} {_span(r)}: {what}"


def _coverage(r: Row) -> str:
    return f"{r.group_id} life {r.life} {_span(r)}: {'covered' if r.covered else 'not covered'}"


def _commit(r: Row) -> str:
    where = f"record {r.record_offset}, {r.candidates} states"
    became = f", {r.outcome} at {r.transaction_ended_position}" if r.transaction_outcome else ""
    before = f", after {r.offset_before}" if r.offset_before is not None else ""
    who = f"{r.committer} of {r.group_type or 'no'} group"
    known = r.unknown_detail or "known"
    return (
        f"{r.correlation_id} {_topic(r.partition_key)} by {who}: {r.broker_error}, {where}{became}{before}; "
        f"{known}"
    )


def _state(r: Row, commits: dict[str, Row]) -> str:
    commit = commits[r.commit_id]
    answer = "accepted" if r.accepted else "fenced" if r.fenced else "refused"
    answer += " rebalancing" if r.rebalancing else ""
    own = f"epoch {_or_unknown(r.member_epoch)}, revocation {_or_unknown(r.revocation_epoch)}"
    part = (
        f"partition's {_or_unknown(r.partition_revocation_epoch)}, assigned {_or_unknown(r.assignment_epoch)}"
    )
    truth = "/".join(_flag(v) for v in (r.owned_at_client_epoch, r.uninterrupted, r.reassigned_since))
    other = f"{_flag(r.owned_by_another)} {r.owner_member_id or ''}".strip()
    # what only an error asks for, where it is not as in most groups
    known = "" if r.group_known else f", group {_flag(r.group_known)}"
    classic = "" if r.classic_member is (r.protocol == "classic") else f", classic {_flag(r.classic_member)}"
    fenced = "" if r.instance_fenced is False else f", instance fenced {_flag(r.instance_fenced)}"
    return (
        f"{commit.correlation_id} {_topic(r.partition_key)} #{r.candidate} "
        f"life {r.life} at {r.client_epoch}: "
        f"{answer} by {_or_unknown(r.rule)}, unfenced {_flag(r.unfenced)}, member {_flag(r.member_known)}, "
        f"{own}, {part}, owned/kept/taken {truth}, self {_flag(r.owned_by_self)}, another {other}"
        f"{known}{classic}{fenced}"
    )


def _unlogged(r: Row) -> str:
    commit = f"{r.group_id} {r.topic}-{r.partition} {r.committed_offset}"
    return f"{commit}: record {r.record_offset}, broker {r.broker_id}"


def _told(tables: dict[str, list[Row]]) -> dict[str, list[str]]:
    """The rows of every table that has any, as text."""
    commits = {row.commit_id: row for row in tables["silver.offset_commits"]}
    writers: dict[str, Callable[[Row], str]] = {
        "silver.consumer_groups": _group,
        "silver.group_members": _member,
        "silver.owned_partitions": _owned,
        "silver.revoked_partitions": _revoked,
        "silver.coverage": _coverage,
        "silver.offset_commits": _commit,
        "silver.offset_commit_states": lambda row: _state(row, commits),
        "silver.unlogged_commits": _unlogged,
    }
    lines = {
        name.removeprefix("silver."): sorted(map(write, tables[name])) for name, write in writers.items()
    }
    return {name: rows for name, rows in lines.items() if rows}


@pytest.mark.parametrize("name", CASES)
def test_case(name: str, replayed: dict[str, dict[str, list[Row]]]) -> None:
    """The tables are exactly those the case expects."""
    found = _told(replayed[name])
    text = CASES[name].read_text(encoding="utf-8")
    if os.environ.get("FENCEPOST_UPDATE"):
        expected = json.dumps(found, indent=1, ensure_ascii=False)
        text = f"{text.split(MARK)[0]}{MARK} {expected}\n}}\n"
        CASES[name].write_text(text, encoding="utf-8")
    assert found == json.loads(text)["expect"]
