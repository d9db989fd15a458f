"""Taking evidence away may make a value unknown. It never makes it another value."""

from __future__ import annotations

import datetime as dt
from types import SimpleNamespace as Row
from typing import Any

_STATE = (
    "unfenced", "member_known", "member_epoch", "revocation_epoch", "partition_revocation_epoch",
    "assignment_epoch", "owned_at_client_epoch", "uninterrupted", "reassigned_since", "owned_by_self",
    "owned_by_another", "owner_member_id", "rebalancing",
)  # fmt: skip


IN_MEMORY = ("classic", "conversion", "lives", "rebalance")

Key = tuple[str, int, dt.datetime]
"""A commit of a case: its partition, its offset, its arrival."""


def _states(tables: dict[str, list[Row]]) -> dict[Key, list[dict[str, Any]]]:
    commits = {row.commit_id: row for row in tables["silver.offset_commits"]}
    found: dict[Key, list[dict[str, Any]]] = {}
    for row in tables["silver.offset_commit_states"]:
        commit = commits[row.commit_id]
        key = (row.partition_key, commit.committed_offset, commit.requested_at)
        found.setdefault(key, []).append({name: getattr(row, name) for name in _STATE})
    return found


def _agrees(state: dict[str, Any], full: dict[str, Any]) -> bool:
    return all(value is None or value == full[name] for name, value in state.items())


def test_a_missing_record_never_changes_a_known_value(
    replayed: dict[str, dict[str, list[Row]]], thinned: dict[str, tuple[str, Any]]
) -> None:
    """Every state agrees, in all that it says, with one that was possible in the whole log.

    Where a record is missing, the memory of a classic group may have been ahead: none of its states is lost.
    """
    wrong, known, unknown = [], 0, 0
    for cluster, (name, _) in thinned.items():
        whole = _states(replayed[name])
        for key, states in _states(replayed[cluster]).items():
            for state in states:
                known += sum(value is not None for value in state.values())
                unknown += sum(value is None for value in state.values())
                if name not in IN_MEMORY and not any(_agrees(state, full) for full in whole[key]):
                    wrong.append((cluster, key, state, whole[key]))
            if name in IN_MEMORY:
                lost = [full for full in whole[key] if not any(_agrees(state, full) for state in states)]
                wrong += [(cluster, key, states, full) for full in lost]
    assert not wrong, f"{len(wrong)} states, the first: {wrong[0]}"
    # both sides of the claim were met
    assert known > 1000 and unknown > 1000


def test_a_missing_answer_takes_no_possible_state_away(
    replayed: dict[str, dict[str, list[Row]]], unanswered: dict[str, tuple[str, Any]]
) -> None:
    """What a commit may have met in the whole evidence it may still have met in less of it."""
    wrong, more = [], 0
    for cluster, (name, _) in unanswered.items():
        left = _states(replayed[cluster])
        for key, states in _states(replayed[name]).items():
            more += len(left[key]) > len(states)
            wrong += [(cluster, key, s) for s in states if not any(_agrees(x, s) for x in left[key])]
    assert not wrong, f"{len(wrong)} states, the first: {wrong[0]}"
    assert more > 10
