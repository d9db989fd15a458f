"""Removing evidence may make a value unknown. It never makes it another value."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

Row = dict[str, Any]
Rows = dict[str, list[Row]]
Case = dict[str, Any]

# Cases that lack no evidence: every value that can be known is known.
COMPLETE = (
    "retry_after_failover", "new_instance_fences", "timeout", "client_bump", "exhausted", "hanging",
    "idempotent", "written_twice", "end_txn", "ended_by_another", "idle_coordinator", "known_past",
    "verified", "verified_offsets", "operator", "lost_marker", "ended_by_others", "operator_between_writes",
    "late_marker",
)  # fmt: skip
COMBINATIONS = 25

# By table: the key by which a row is compared, and the columns that are compared.
COLUMNS = {
    "transactional_ids": (
        ("transactional_id", "from_position"),
        ("status", "producer_id", "producer_epoch", "last_producer_epoch", "cause", "caused_by_client_id",
         "transaction_partitions"),
    ),
    "transactions": (
        ("transactional_id", "started_position"),
        ("producer_id", "producer_epoch", "outcome", "abort_cause", "prepared_position",
         "completed_position"),
    ),
    "transaction_markers": (
        ("transactional_id", "transaction_partition", "from_position"),
        ("due_type", "found", "writers", "wrong"),
    ),
    "partition_transactions": (
        ("topic", "partition", "producer_id", "first_offset"),
        ("producer_epoch", "transactional_id", "open", "aborted", "listed", "coordinator_outcome", "indexed"),
    ),
    "producer_states": (
        ("topic", "partition", "producer_id", "from_position"),
        ("producer_epoch", "first_sequence", "last_sequence", "coordinator_epoch",
         "current_txn_first_offset"),
    ),
    "local_bumps": (
        ("topic", "partition", "producer_id", "producer_epoch"), ("previous_epoch", "written_twice"),
    ),
    "producer_fencings": (
        ("position", "transactional_id"),
        ("producer_id", "victim_epoch", "current_producer_id", "current_epoch", "error", "cause",
         "caused_by_client_id", "fenced_position"),
    ),
    "init_producer_ids": (("correlation_id",), ("error", "returned_epoch", "record_offset")),
    "end_txns": (("correlation_id",), ("error", "returned_epoch", "record_offset", "by_another")),
}  # fmt: skip
STATE = (
    "known", "status", "producer_id", "producer_epoch", "last_epoch", "previous_id", "last_epoch_held",
    "previous_id_held",
)  # fmt: skip


def _parts(case: Case) -> list[tuple[str, ...]]:
    """All evidence that may be removed: requests and batches, except the newest batch of a log if nothing
    else shows that it existed.
    """
    logs = [
        ("logs", name, str(at))
        for name, batches in case["logs"].items()
        for at in range(len(batches) - ("ended_at" not in case or name != "__transaction_state-0"))
    ]
    requests = [("requests", str(at)) for at in range(len(case.get("requests", [])))]
    return logs + requests


def _thinned(name: str, case: Case) -> Iterator[tuple[list[tuple[str, ...]], Case]]:
    parts, chance = _parts(case), random.Random(name)
    chosen = [[part] for part in parts]
    chosen += [chance.sample(parts, k=chance.randint(2, len(parts) // 2)) for _ in range(COMBINATIONS)]
    for lost in chosen:
        rest = copy.deepcopy(case)
        for part in lost:
            batch = rest["requests"][int(part[1])] if part[0] == "requests" else None
            batch = batch or rest["logs"][part[1]][int(part[2])]
            fates = ("lost", "unreadable") if part[1] == "__transaction_state-0" else ("lost",)
            batch[chance.choice(fates)] = True
        yield lost, rest


def _values_by_key(rows: Rows, table: str) -> dict[tuple[Any, ...], Row]:
    keys, values = COLUMNS[table]
    return {
        tuple(row[key] for key in keys): {name: _value(row, name) for name in values} for row in rows[table]
    }


def _value(row: Row, name: str) -> Any:
    """The value as it is compared. A hole may hide one of two markers, so only "none" and "some" are
    compared, and whether there are more than wrote one.
    """
    value = row[name]
    if name == "writers" and value is not None:
        return row["found"] > value
    if name == "coordinator_outcome" and value == "unknown":
        return None
    return value > 0 if name == "found" and value is not None else value


def _states_met(rows: Rows, requests: str, states: str) -> dict[int, list[Row]]:
    lines = {row["request_id"]: row["correlation_id"] for row in rows[requests]}
    states_met: dict[int, list[Row]] = {}
    for row in rows[states]:
        states_met.setdefault(lines[row["request_id"]], []).append({name: row[name] for name in STATE})
    return states_met


Thinned = list[tuple[str, list[tuple[str, ...]], Rows]]


@pytest.fixture(scope="module")
def whole(cases: dict[str, Case], replayed: Callable[..., dict[str, Rows]]) -> dict[str, Rows]:
    """The rows of the whole cases."""
    return replayed({name: cases[name] for name in COMPLETE})


@pytest.fixture(scope="module")
def thinned(cases: dict[str, Case], replayed: Callable[..., dict[str, Rows]]) -> Thinned:
    """The rows of thinned cases: (name of the case, evidence that was removed, rows)."""
    thinned_cases = {
        f"{name} {number}": (name, lost, case)
        for name in COMPLETE
        for number, (lost, case) in enumerate(_thinned(name, cases[name]))
    }
    rows_by_cluster = replayed({cluster: case for cluster, (_, _, case) in thinned_cases.items()})
    return [(name, lost, rows_by_cluster[cluster]) for cluster, (name, lost, _) in thinned_cases.items()]


@pytest.mark.parametrize("table", COLUMNS)
def test_less_evidence_never_says_otherwise(table: str, whole: dict[str, Rows], thinned: Thinned) -> None:
    wrong, known, unknown = [], 0, 0
    for name, lost, rows in thinned:
        before = _values_by_key(whole[name], table)
        for key, values in _values_by_key(rows, table).items():
            for column, value in values.items():
                value_before = before.get(key, {}).get(column)
                known += value is not None and value_before is not None
                unknown += value is None and value_before is not None
                if value is not None and value_before is not None and value != value_before:
                    wrong.append((name, lost, key, column, value_before, value))
    assert not wrong, f"{len(wrong)} values, the first: {wrong[0]}"
    # both outcomes occurred
    assert known > 100 and unknown > 10


def test_every_state_that_a_request_may_have_met_was_possible(
    whole: dict[str, Rows], thinned: Thinned
) -> None:
    """With less evidence, all known values of each state agree with one state of the whole evidence."""
    wrong = []
    for name, lost, rows in thinned:
        before = _states_met(whole[name], "init_producer_ids", "init_producer_id_states")
        for request, states in _states_met(rows, "init_producer_ids", "init_producer_id_states").items():
            full = before.get(request, [])
            wrong += [(name, lost, request, s, full) for s in states if not any(_agrees(s, f) for f in full)]
    assert not wrong, f"{len(wrong)} states, the first: {wrong[0]}"


@pytest.mark.parametrize("api", ["end_txn", "add_partitions_to_txn"])
def test_what_a_request_met_stays_among_the_states(
    api: str, whole: dict[str, Rows], thinned: Thinned
) -> None:
    """An accepted request whose record was removed may have met several states, among them the right one."""
    wrong, seen = [], 0
    for name, lost, rows in thinned:
        before = _states_met(whole[name], f"{api}s", f"{api}_states")
        for request, states in _states_met(rows, f"{api}s", f"{api}_states").items():
            seen += 1
            full = before[request]
            if len(full) == 1 and not any(_agrees(state, full[0]) for state in states):
                wrong.append((name, lost, request, states, full))
    assert not wrong, f"{len(wrong)} requests, the first: {wrong[0]}"
    assert seen > 80


def _agrees(state: Row, full: Row) -> bool:
    return all(value is None or value == full[name] for name, value in state.items())
