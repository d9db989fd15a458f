"""Groups put together at random: looking only at what may have changed tells what looking at all tells."""

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
    """Members come and go, say what they had or did not; the assignor does as it likes."""
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
            said = {
                **member,
                "version": chance.choice([3] * 12 + [1]),
                "generation": chance.choice([generation - 1] * 20 + [generation - 3, generation, 0]),
            }
            if chance.random() < 0.06:
                said = {"raw": "0003ff", "instance": member["instance"]}
            kept = [p for p in member["owned"].get("t", []) if chance.random() < 0.97]
            got = [p for p in free if p not in kept and chance.random() < 0.06]
            free = [p for p in free if p not in {*kept, *got} or chance.random() < 0.05]
            now[name] = {**said, "assigned": {"t": [*kept, *got]} if kept or got else {}}
            if chance.random() < 0.05:
                now[name]["assigned"] = None
            members[name] = {**member, "owned": {"t": kept + got} if kept or got else {}}
            if chance.random() < 0.05:
                members[name]["owned"] = {"t": [0, 1]}
        batch = {"ms": 1000 * (at + 1), "generation": generation, "members": now}
        log.append({**batch, **({"lost": True} if chance.random() < 0.04 else {})})
    return {"log": log}


@pytest.fixture(scope="module")
def found(replay_of: Callable[[dict[str, Any]], Rows]) -> Iterator[list[tuple[Rows, Rows]]]:
    """Each group twice: as it is rebuilt, and with every partition looked at in every record."""
    groups = [_group(random.Random(seed)) for seed in range(GROUPS)]
    told = [replay_of(group) for group in groups]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ClaimRows, "_common", lambda *_: object())
        yield list(zip(told, [replay_of(group) for group in groups], strict=True))


@pytest.mark.parametrize("table", TABLES)
def test_what_is_not_looked_at_has_not_changed(found: list[tuple[Rows, Rows]], table: str) -> None:
    rows = 0
    for told, looked in found:
        assert _sorted(told[table]) == _sorted(looked[table])
        rows += len(told[table])
    assert rows > 1_000


@pytest.mark.parametrize("table", TABLES)
def test_a_row_ends_where_the_next_says_something_else(
    found: list[tuple[Rows, Rows]],
    table: str,
    each_record: Callable[[Rows], Rows],
    said: Callable[[str, Row, int], Row],
) -> None:
    """Neither two rows of one record, nor two rows that could be one."""
    spared = 0
    for told, _ in found:
        each = [
            (row["record_offset"], row["member_id"], row["topic"], row["partition"])
            for row in each_record(told)[table]
        ]
        assert len(each) == len(set(each))
        spared += len(each) - len(told[table])
        ended = {(row["member_id"], row["partition"], row["to_position"]): row for row in told[table]}
        for row in told[table]:
            before = ended.get((row["member_id"], row["partition"], row["from_position"]))
            number = row["generation"]
            assert before is None or said(table, before, number) != said(table, row, number)
    assert spared > 100


def _sorted(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row["record_offset"], row["member_id"], row["partition"] or -1))
