"""Taking evidence away may make a value unknown. It never makes it another value."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

Row = dict[str, Any]
Rows = dict[str, list[Row]]
Case = dict[str, Any]

# Cases that lack nothing: what they tell is all that there is to know.
COMPLETE = (
    "retry_after_failover", "new_instance_fences", "timeout", "client_bump", "exhausted", "hanging",
    "idempotent",
)  # fmt: skip
COMBINATIONS = 25

# By what a row of the whole evidence is found again, and what it says.
SAID = {
    "transactional_ids": (
        ("transactional_id", "from_position"),
        ("status", "producer_id", "producer_epoch", "last_producer_epoch", "cause", "caused_by_client_id",
         "transaction_partitions"),
    ),
    "transactions": (
        ("transactional_id", "started_position"),
        ("producer_id", "producer_epoch", "outcome", "abort_cause", "prepared_position", "completed_position"),
    ),
    "transaction_markers": (
        ("transactional_id", "transaction_partition", "from_position"), ("due_type", "found", "wrong"),
    ),
    "partition_transactions": (
        ("topic", "partition", "producer_id", "first_offset"),
        ("producer_epoch", "transactional_id", "open", "aborted", "listed", "indexed"),
    ),
    "producer_states": (
        ("topic", "partition", "producer_id", "from_position"),
        ("producer_epoch", "first_sequence", "last_sequence", "coordinator_epoch",
         "current_txn_first_offset"),
    ),
    "producer_fencings": (
        ("request_id", "transactional_id"),
        ("producer_id", "victim_epoch", "current_producer_id", "current_epoch", "error", "cause",
         "caused_by_client_id", "fenced_position"),
    ),
    "init_producer_ids": (("request_id",), ("error", "returned_epoch", "record_offset")),
}  # fmt: skip
STATE = (
    "known", "status", "producer_id", "producer_epoch", "last_epoch", "previous_id", "last_epoch_held",
    "previous_id_held",
)  # fmt: skip


def _parts(case: Case) -> list[tuple[str, ...]]:
    """Everything that may be taken away: batches (but each log's newest) and requests."""
    logs = [
        ("logs", name, str(at)) for name, batches in case["logs"].items() for at in range(len(batches) - 1)
    ]
    requests = [("requests", str(at)) for at in range(len(case.get("requests", [])))]
    return logs + requests


def _thinned(name: str, case: Case) -> Iterator[tuple[list[tuple[str, ...]], Case]]:
    parts, chance = _parts(case), random.Random(name)
    chosen = [[part] for part in parts]
    chosen += [chance.sample(parts, k=chance.randint(2, len(parts) // 2)) for _ in range(COMBINATIONS)]
    for lost in chosen:
        left = copy.deepcopy(case)
        for part in lost:
            batch = left["requests"][int(part[1])] if part[0] == "requests" else None
            batch = batch or left["logs"][part[1]][int(part[2])]
            fates = ("lost", "unreadable") if part[1] == "__transaction_state-0" else ("lost",)
            batch[chance.choice(fates)] = True
        yield lost, left


def _said(rows: Rows, table: str) -> dict[tuple[Any, ...], Row]:
    keys, values = SAID[table]
    return {tuple(row[key] for key in keys): {name: row[name] for name in values} for row in rows[table]}


def _met(rows: Rows) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows["init_producer_id_states"]:
        found.setdefault(row["request_id"], []).append({name: row[name] for name in STATE})
    return found


@pytest.mark.parametrize("name", COMPLETE)
def test_less_evidence_never_says_otherwise(
    name: str, cases: dict[str, Case], replayed: Callable[[Case], Rows]
) -> None:
    case = cases[name]
    whole = replayed(case)
    wrong, known, unknown = [], 0, 0
    for lost, left in _thinned(name, case):
        now = replayed(left)
        for table in SAID:
            before = _said(whole, table)
            for key, values in _said(now, table).items():
                for column, value in values.items():
                    then = before.get(key, {}).get(column)
                    known += value is not None and then is not None
                    unknown += value is None and then is not None
                    if value is not None and then is not None and value != then:
                        wrong.append((lost, table, key, column, then, value))
    assert not wrong, f"{len(wrong)} values, the first: {wrong[0]}"
    # both sides of the claim were met
    assert known > 100 and unknown > 10


@pytest.mark.parametrize("name", COMPLETE)
def test_every_state_that_a_request_may_have_met_was_possible(
    name: str, cases: dict[str, Case], replayed: Callable[[Case], Rows]
) -> None:
    """With less evidence each state agrees, in all that it says, with one of the whole evidence."""
    case = cases[name]
    whole = _met(replayed(case))
    wrong = []
    for lost, left in _thinned(name, case):
        for request, states in _met(replayed(left)).items():
            wrong += [
                (lost, request, state, whole.get(request))
                for state in states
                if not any(_agrees(state, full) for full in whole.get(request, []))
            ]
    assert not wrong, f"{len(wrong)} states, the first: {wrong[0]}"


def _agrees(state: Row, full: Row) -> bool:
    return all(value is None or value == full[name] for name, value in state.items())
