"""Taking evidence away may make a value unknown. It never makes it another value."""

from __future__ import annotations

from typing import Any

from pyspark.sql import Row

_STATE = (
    "unfenced", "member_known", "member_epoch", "revocation_epoch", "partition_revocation_epoch",
    "assignment_epoch", "owned_at_client_epoch", "uninterrupted", "reassigned_since", "owned_by_self",
    "owned_by_another", "owner_member_id",
)  # fmt: skip


def _states(tables: dict[str, list[Row]]) -> dict[tuple[int, str], list[dict[str, Any]]]:
    commits = {row.commit_id: row for row in tables["silver.offset_commits"]}
    found: dict[tuple[int, str], list[dict[str, Any]]] = {}
    for row in tables["silver.offset_commit_states"]:
        key = (commits[row.commit_id].correlation_id, row.partition_key)
        found.setdefault(key, []).append({name: row[name] for name in _STATE})
    return found


def _agrees(state: dict[str, Any], full: dict[str, Any]) -> bool:
    return all(value is None or value == full[name] for name, value in state.items())


def test_a_missing_record_never_changes_a_known_value(
    rebuilt: dict[str, dict[str, list[Row]]], thinned: dict[str, tuple[str, Any]]
) -> None:
    """Every state agrees, in all that it says, with one that was possible in the whole log."""
    wrong, known, unknown = [], 0, 0
    for cluster, (name, _) in thinned.items():
        whole = _states(rebuilt[name])
        for key, states in _states(rebuilt[cluster]).items():
            for state in states:
                known += sum(value is not None for value in state.values())
                unknown += sum(value is None for value in state.values())
                if not any(_agrees(state, full) for full in whole[key]):
                    wrong.append((cluster, key, state, whole[key]))
    assert not wrong, f"{len(wrong)} states, the first: {wrong[0]}"
    # both sides of the claim were met
    assert known > 1000 and unknown > 1000
