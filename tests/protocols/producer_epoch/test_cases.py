"""The replay of logs of producers written by hand, one file per rule: see ``cases/README.md``."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

MARK = '"expect":'
CASES = {path.stem: path for path in sorted(Path(__file__).with_name("cases").glob("*.json"))}

Row = dict[str, Any]
Rows = dict[str, list[Row]]


def _flag(value: bool | None) -> str:
    return {True: "yes", False: "no", None: "?"}[value]


def _or_unknown(value: object) -> object:
    return "?" if value is None else value


def _span(r: Row) -> str:
    return f"[{r['from_position']}, {'' if r['to_position'] is None else r['to_position']})"


def _log(r: Row) -> str:
    return f"{r['topic']}-{r['partition']}"


def _producer(producer_id: int | None, epoch: int | None) -> str:
    return f"{_or_unknown(producer_id)}/{_or_unknown(epoch)}"


def _request_of(r: Row) -> str:
    return f"{r['api_name']} of {r['client_id']}"


def _coverage(r: Row) -> str:
    coverage = f"{'covered' if r['covered'] else 'not covered'}, to {r['last_position']}"
    at = "?" if r["last_time"] is None else f"{r['last_time'].timestamp() * 1000:.0f}"
    start = "" if r["log_start_offset"] is None else f", begins at {r['log_start_offset']}"
    return f"{_log(r)} {_span(r)}: {coverage}, at {at}{start}"


def _id(r: Row) -> str:
    if r["status"] is None:
        return f"{r['transactional_id']} {_span(r)}: unknown"
    by = r["caused_by_client_id"]
    cause = f"{_or_unknown(r['cause'])} by {_or_unknown(by)}" if r["cause"] or by else "-"
    last = f"last {_or_unknown(r['last_producer_epoch'])}"
    listed = " ".join(r["transaction_partitions"])
    producer = _producer(r["producer_id"], r["producer_epoch"])
    return f"{r['transactional_id']} {_span(r)}: {r['status']} {producer}, {last}, {cause} [{listed}]"


def _transaction(r: Row) -> str:
    at = "/".join(str(_or_unknown(r[name])) for name in ("prepared_position", "completed_position"))
    producer = _producer(r["producer_id"], r["producer_epoch"])
    why = f" by {r['abort_cause']}" if r["abort_cause"] else ""
    late = ", late" if r["late"] else ""
    listed = " ".join(r["transaction_partitions"])
    start = f"{r['transactional_id']} from {r['started_position']}, ends {at}: {producer}"
    return f"{start} {_or_unknown(r['outcome'])}{why}{late} [{listed}]"


def _unlogged(r: Row) -> str:
    producer = _producer(r["producer_id"], r["producer_epoch"])
    return f"{r['transactional_id']} {producer} at {r['record_offset']} of broker {r['broker_id']}"


def _marker(r: Row) -> str:
    several = f" of {_or_unknown(r['writers'])}" if (r["found"] or 0) > 1 else ""
    counts = f"found {_or_unknown(r['found'])}{several}, wrong {_or_unknown(r['wrong'])}"
    done = "completed" if r["completed"] else "not completed"
    where = f", at {r['marker_position']}" if r["marker_position"] is not None else ""
    producer = _producer(r["producer_id"], r["producer_epoch"])
    what = f"{r['due_type']} of {producer} in {r['transaction_partition']}"
    if r["found"] and r["marker_coordinator_epoch"] != r["coordinator_epoch"]:
        where += f" by {_or_unknown(r['marker_coordinator_epoch'])} of {_or_unknown(r['coordinator_epoch'])}"
    why = f" ({r['unknown_reason']})" if r["unknown_reason"] else ""
    return f"{r['transactional_id']} {_span(r)}: {what}, {done}, {counts}{why}{where}"


def _partition_transaction(r: Row) -> str:
    of = _or_unknown(r["transactional_id"])
    flags = ", ".join(f"{name} {_flag(r[name])}" for name in ("open", "aborted", "listed", "indexed"))
    flags += f" (not by broker {r['unindexed_broker_id']})" if r["unindexed_broker_id"] else ""
    flags += f", coordinator {r['coordinator_outcome']}" if r["coordinator_outcome"] else ""
    left = f"to {r['last_offset']}, none of them left" if r["records"] is None else f"{r['records']} records"
    count = f"{r['batches']} batches, {left}"
    producer = _producer(r["producer_id"], r["producer_epoch"])
    why = f" ({r['unknown_reason']})" if r["unknown_reason"] else ""
    return f"{_log(r)} {_span(r)}: {producer} of {of}, {count}; {flags}{why}"


def _state(r: Row) -> str:
    if r["producer_epoch"] is None:
        return f"{_log(r)} {r['producer_id']} {_span(r)}: unknown"
    sequences = f"{r['first_sequence']}..{r['last_sequence']} at {r['last_offset']}"
    opened = f"open from {_or_unknown(r['current_txn_first_offset'])}"
    cause = f", by {r['cause']}" if r["cause"] else ""
    what = "marker" if r["marker"] else "batch"
    coordinator = f"coordinator {_or_unknown(r['coordinator_epoch'])}"
    start = f"{_log(r)} {r['producer_id']} {_span(r)}: epoch {r['producer_epoch']} after a {what}"
    return f"{start}, {sequences}, {coordinator}, {opened}{cause}"


def _snapshot(r: Row) -> str:
    flags = ", ".join(f"{name} {_flag(r[name])}" for name in ("due", "present", "agrees"))
    why = f"; {r['unknown_reason']}" if r["unknown_reason"] else ""
    return f"{_log(r)} at {r['snapshot_offset']} of broker {r['broker_id']}, {r['producer_id']}: {flags}{why}"


def _local_bump(r: Row) -> str:
    again = f" ({r['batches_again']} batches, {r['records_again']} records, at {r['again_offset']} as at "
    where = f"{again}{r['original_offset']})" if r["batches_again"] else ""
    count = f"{r['batches']} batches, {r['records']} records to {r['last_offset']}"
    epochs = f"{_or_unknown(r['previous_epoch'])} to {r['producer_epoch']}"
    twice = f"twice {_flag(r['written_twice'])}{where}"
    return f"{_log(r)} {r['producer_id']} {_span(r)}: {epochs}, {count}; {twice}"


def _fencing(r: Row) -> str:
    victim = _producer(r["producer_id"], r["victim_epoch"])
    now = _producer(r["current_producer_id"], r["current_epoch"])
    by = f"{_or_unknown(r['cause'])} by {_or_unknown(r['caused_by_client_id'])}"
    what = f"{_request_of(r)} {r['error']}: {victim} fenced by {by}"
    return (
        f"{what} at {_or_unknown(r['fenced_position'])}, now {now}, in flight {_or_unknown(r['in_flight'])}"
    )


def _init(r: Row) -> str:
    presented, returned = (
        _producer(r[f"{name}_id"], r[f"{name}_epoch"]) for name in ("provided", "returned")
    )
    why = f"; {r['unknown_detail']}" if r["unknown_detail"] else ""
    record = f"record {_or_unknown(r['record_offset'])}, {r['candidates']} states"
    return f"{r['correlation_id']} {r['client_id']} {presented}: {r['error']} {returned}, {record}{why}"


def _init_state(r: Row, inits: dict[str, Row]) -> str:
    answer = (
        "granted"
        if r["granted"]
        else "fenced"
        if r["fenced"]
        else "busy"
        if r["busy"]
        else "failed"
        if r["failed"]
        else "refused"
    )
    state = f"{_or_unknown(r['status'])} {_producer(r['producer_id'], r['producer_epoch'])}"
    last = f"last {_or_unknown(r['last_epoch'])}, held {_or_unknown(r['last_epoch_held'])}"
    ids = f"previous {_or_unknown(r['previous_id'])}, held {_or_unknown(r['previous_id_held'])}"
    init = inits[r["request_id"]]
    number = f"{init['correlation_id']} #{r['candidate']}"
    is_known = f"known {_flag(r['known'])}"
    return f"{number} {answer} at {_span(r)}: {is_known}, {state}, {last}, {ids}"


def _end(r: Row) -> str:
    presented = (
        f"{'commit' if r['commit'] else 'abort'} of {_producer(r['provided_id'], r['provided_epoch'])}"
    )
    returned = _producer(r["returned_id"], r["returned_epoch"])
    request = f"{r['correlation_id']} {r['client_id']} {presented}"
    by = f", of another {_flag(r['by_another'])}" if r["error"] == "NONE" else ""
    return f"{request}: {_or_unknown(r['error'])} {returned}{by}, {_record_and_states(r)}"


def _addition(r: Row) -> str:
    what = "verifies" if r["verify_only"] else "adds"
    presented = f"{_producer(r['provided_id'], r['provided_epoch'])} {what} {r['transaction_partition']}"
    request = f"{r['correlation_id']} {r['client_id']} {presented}"
    return f"{request}: {_or_unknown(r['error'])}, {_record_and_states(r)}"


def _record_and_states(r: Row) -> str:
    why = f"; {r['unknown_detail']}" if r["unknown_detail"] else ""
    return f"record {_or_unknown(r['record_offset'])}, {r['candidates']} states{why}"


def _state_met(r: Row, requests: dict[str, Row], key: str) -> str:
    number = f"{requests[r[key]]['correlation_id']} #{r['candidate']}"
    producer = _producer(r["producer_id"], r["producer_epoch"])
    listed = f", listed {_flag(r['listed'])}" if "listed" in r else ""
    last = f"last {_or_unknown(r['last_epoch'])}, previous {_or_unknown(r['previous_id_held'])}"
    state = f"known {_flag(r['known'])}, {_or_unknown(r['status'])} {producer}"
    return f"{number} {r['error']} at {_span(r)}: {state}, {last}{listed}"


def _as_text(tables: Rows) -> dict[str, list[str]]:
    """The rows of every table that has any, as text; times are left out."""
    inits = {row["request_id"]: row for row in tables["init_producer_ids"]}
    ends = {row["request_id"]: row for row in tables["end_txns"]}
    additions = {row["addition_id"]: row for row in tables["add_partitions_to_txns"]}
    writers: dict[str, Callable[[Row], str]] = {
        "log_coverage": _coverage,
        "transactional_ids": _id,
        "transactions": _transaction,
        "unlogged_ends": _unlogged,
        "transaction_markers": _marker,
        "partition_transactions": _partition_transaction,
        "producer_states": _state,
        "producer_snapshots": _snapshot,
        "local_bumps": _local_bump,
        "producer_fencings": _fencing,
        "init_producer_ids": _init,
        "init_producer_id_states": lambda row: _init_state(row, inits),
        "end_txns": _end,
        "end_txn_states": lambda row: _state_met(row, ends, "request_id"),
        "add_partitions_to_txns": _addition,
        "add_partitions_to_txn_states": lambda row: _state_met(row, additions, "addition_id"),
    }
    lines = {name: sorted(map(write, tables[name])) for name, write in writers.items()}
    return {name: rows for name, rows in lines.items() if rows}


@pytest.fixture(scope="module")
def rows_as_text(
    cases: dict[str, Any], replayed: Callable[..., dict[str, Rows]]
) -> dict[str, dict[str, list[str]]]:
    """The rows of every case, as text, by table."""
    return {name: _as_text(tables) for name, tables in replayed(cases).items()}


@pytest.mark.parametrize("name", CASES)
def test_case(name: str, rows_as_text: dict[str, dict[str, list[str]]]) -> None:
    """The rows are exactly those that the case expects."""
    text = CASES[name].read_text(encoding="utf-8")
    if os.environ.get("FENCEPOST_UPDATE"):
        expected = json.dumps(rows_as_text[name], indent=1, ensure_ascii=False)
        text = f"{text.split(MARK)[0]}{MARK} {expected}\n}}\n"
        CASES[name].write_text(text, encoding="utf-8")
    assert rows_as_text[name] == json.loads(text)["expect"]
