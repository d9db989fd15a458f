"""Random groups: computing only rows that may have changed gives the same rows as computing all of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from fencepost.protocols.ownership_claim.claim_rows import ClaimRows

TABLES = ("ownership_claims", "classic_assignments")
GROUPS, RECORDS = 60, 14
PARTITIONS = range(5)
Row = Mapping[str, Any]
Rows = dict[str, list[dict[str, Any]]]


def _group(chance: random.Random) -> dict[str, Any]:
    """Members join and leave and make true or false claims; assignments are random."""
    log: list[dict[str, Any]] = []
    members: dict[str, dict[str, Any]] = {}
    generation = 0
    for at in range(RECORDS):
        generation += chance.choice([0, 1, 1, 1, 1, 2])
        for name in "abc":
            if chance.random() < 0.06:
                members.pop(name, None)
            elif name not in members and chance.random() < 0.4:
                members[name] = {"owned": {}, "instance": name if name == "c" else None}
        free = list(PARTITIONS)
        now = {}
        for name, member in members.items():
            sent = {
                **member,
                "version": chance.choice([3] * 12 + [1]),
                "generation": chance.choice([generation - 1] * 20 + [generation - 3, generation, 0]),
            }
            if chance.random() < 0.06:
                sent = {"raw": "0003ff", "instance": member["instance"]}
            kept_partitions = [p for p in member["owned"].get("t", []) if chance.random() < 0.97]
            new_partitions = [p for p in free if p not in kept_partitions and chance.random() < 0.06]
            free = [p for p in free if p not in {*kept_partitions, *new_partitions} or chance.random() < 0.05]
            now[name] = {
                **sent,
                "assigned": {"t": [*kept_partitions, *new_partitions]}
                if kept_partitions or new_partitions
                else {},
            }
            if chance.random() < 0.05:
                now[name]["assigned"] = None
            members[name] = {
                **member,
                "owned": {"t": kept_partitions + new_partitions} if kept_partitions or new_partitions else {},
            }
            if chance.random() < 0.05:
                members[name]["owned"] = {"t": [0, 1]}
        batch = {"ms": 1000 * (at + 1), "generation": generation, "members": now}
        log.append({**batch, **({"lost": True} if chance.random() < 0.04 else {})})
    return {"log": log}


@pytest.fixture(scope="module")
def replayed(replay_of: Callable[[dict[str, Any]], Rows]) -> Iterator[list[tuple[Rows, Rows]]]:
    """Each group twice: as it is rebuilt, and with the rows of all partitions computed again for each
    record.
    """
    groups = [_group(random.Random(seed)) for seed in range(GROUPS)]
    rebuilt = [replay_of(group) for group in groups]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ClaimRows, "_values_of_all_rows", lambda *_: object())
        yield list(zip(rebuilt, [replay_of(group) for group in groups], strict=True))


@pytest.mark.parametrize("table", TABLES)
def test_rows_that_are_not_computed_again_have_not_changed(
    replayed: list[tuple[Rows, Rows]], table: str
) -> None:
    rows = 0
    for rebuilt, recomputed in replayed:
        assert _sorted(rebuilt[table]) == _sorted(recomputed[table])
        rows += len(rebuilt[table])
    assert rows > 1_000


@pytest.mark.parametrize("table", TABLES)
def test_a_row_ends_only_where_the_next_one_differs(
    replayed: list[tuple[Rows, Rows]],
    table: str,
    each_record: Callable[[Rows], Rows],
    values_at: Callable[[str, Row, int], Row],
) -> None:
    """Neither two rows of one record, nor two rows that could be one."""
    spared = 0
    for rebuilt, _ in replayed:
        each = [
            (row["record_offset"], row["member_id"], row["topic"], row["partition"])
            for row in each_record(rebuilt)[table]
        ]
        assert len(each) == len(set(each))
        spared += len(each) - len(rebuilt[table])
        ended = {(row["member_id"], row["partition"], row["to_position"]): row for row in rebuilt[table]}
        for row in rebuilt[table]:
            before = ended.get((row["member_id"], row["partition"], row["from_position"]))
            number = row["generation"]
            assert before is None or values_at(table, before, number) != values_at(table, row, number)
    assert spared > 100


def _sorted(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row["record_offset"], row["member_id"], row["partition"] or -1))
