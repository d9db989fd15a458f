"""Episodes and counts from row-level results: small tables in, small tables out."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

from fencepost.judge.engine import Engine
from fencepost.judge.episodes import TIMES
from fencepost.judge.rules import rule
from fencepost.tables import UNKNOWN_REASONS, VERDICT_COVERAGE, WINDOWS

START = 1_767_225_600  # 2026-01-01
SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("definition", "cluster", "scope", "witness")),
        *((name, pa.int64()) for name in ("from_position", "to_position")),
        *((name, pa.timestamp("s", tz="UTC")) for name in ("from_time", "to_time")),
        *((name, pa.bool_()) for name in ("verdict", "exercised")),
        *((name, pa.string()) for name in ("failed_conjunct", "reason", "observed", "evidence")),
    ]
)
Row = tuple[str, int | None, int | None, bool | None]
Found = dict[str, list[dict[str, Any]]]

CASES: dict[str, tuple[list[Row], set[tuple[Any, ...]]]] = {
    "what holds without a break is one episode": (
        [("a", 0, 10, True), ("a", 10, None, True)],
        {("holds", None, 0, None)},
    ),
    "touching rows of one witness are one episode, apart they are two": (
        [("a", 0, 10, False), ("a", 10, 20, False), ("a", 30, 40, False)],
        {("violated", "a", 0, 20), ("violated", "a", 30, 40)},
    ),
    "nothing is said to hold while another witness breaks it": (
        [("a", 0, None, True), ("b", 50, 60, False)],
        {("holds", None, 0, 50), ("violated", "b", 50, 60), ("holds", None, 60, None)},
    ),
    "a gap is unknown and splits what holds": (
        [("a", 0, 10, True), ("a", 10, 30, None), ("a", 30, 40, True)],
        {("holds", None, 0, 10), ("unknown", "a", 10, 30), ("holds", None, 30, 40)},
    ),
    "moments are episodes of one position": (
        [("a", 5, 5, True), ("b", 7, 7, False), ("c", 9, 9, True)],
        {("holds", None, 5, 6), ("violated", "b", 7, 8), ("holds", None, 9, 10)},
    ),
    "an open violation leaves no room to hold": (
        [("a", 0, None, False)],
        {("violated", "a", 0, None)},
    ),
    "the first row of a stretch gives its values": (
        [("a", 10, 20, False), ("a", 0, 10, False)],
        {("violated", "a", 0, 20)},
    ),
    "what was only vacuously true is no episode": (
        [("vacuous", 0, None, True)],
        set(),
    ),
    "what holds within a violation is no episode": (
        [("a", 10, 20, True), ("b", 5, 30, False), ("c", 5, 30, False)],
        {("violated", "b", 5, 30), ("violated", "c", 5, 30)},
    ),
    "between two violations nothing holds where nothing was judged": (
        [("a", 0, 5, True), ("b", 5, 6, False), ("b", 8, 9, False), ("a", 9, 12, True)],
        {("holds", None, 0, 5), ("violated", "b", 5, 6), ("violated", "b", 8, 9), ("holds", None, 9, 12)},
    ),
    "what has no position may be anywhere: nothing holds beside it": (
        [("a", 0, 5, True), ("b", None, None, None), ("c", None, None, None)],
        {("unknown", "b", None, None), ("unknown", "c", None, None)},
    ),
}


def results(invariants: dict[str, list[Row]]) -> pa.Table:
    """Rows (witness, from, to, verdict) of each case, in a scope of its own; a position is a second."""

    def row(case: str, witness: str, start: int | None, end: int | None, verdict: bool | None) -> list[Any]:
        times = [None if each is None else START + each for each in (start, end)]
        failed = "x < y" if verdict is False else None
        exercised = witness != "vacuous"
        reason = f"{witness}_{start}" if verdict is None else None
        shown = [f'{{"at":{start}}}', "{}"]
        return [
            "epoch_order",
            "c",
            case,
            witness,
            start,
            end,
            *times,
            verdict,
            exercised,
            failed,
            reason,
            *shown,
        ]

    rows = [row(case, *each) for case, given in invariants.items() for each in given]
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, each, strict=True)) for each in rows], schema=SCHEMA)


def apply(
    engine: Engine,
    judged: pa.Table,
    severity: str = "critical",
    definition: str = "epoch_order",
    *,
    unread: int | None = None,
) -> Found:
    """Every rule in turn: the rows of verdicts.episodes, verdicts.coverage and verdicts.unknown_reasons."""
    names = {"definition": definition, "module": "M", "kind": "invariant", "severity": severity}
    engine.give("definitions", pa.table({name: [value] for name, value in names.items()}))
    engine.give("sides", pa.table({"place": ["c"], "cluster": ["c"], "sign": [1]}))
    engine.give("chapters", pa.Table.from_pylist([], schema=TIMES))
    engine.give("counted", VERDICT_COVERAGE.arrow_schema.empty_table())
    engine.give("counted_reasons", UNKNOWN_REASONS.arrow_schema.empty_table())
    engine.give("clusters", pa.table({"cluster": ["c"]}))
    engine.give("windows", WINDOWS.arrow_schema.empty_table())
    of_module = {"module": ["M"], "cluster": ["c"], "entries": pa.array([unread], pa.int64())}
    engine.give("unread", pa.table(of_module).slice(0, 0 if unread is None else 1))
    engine.give("given", judged)
    engine.keep("judged", "SELECT * FROM given")
    no_chapter = "SELECT *, CAST(NULL AS BIGINT) AS chapter FROM"
    engine.keep("scopes", f"{no_chapter} ({rule('scopes')}) AS scopes")
    engine.keep("failing", f"{no_chapter} ({rule('failing')}) AS failing")
    engine.view("gathered", "SELECT *, 'failing' AS kind FROM failing")
    for name in ("unmet", "stretches", "met", "counts", "reasons"):
        engine.keep(name, rule(name))
    return {name: engine.rows(rule(name)) for name in ("episodes", "coverage", "reasons")}


def by_id(found: Found) -> dict[str, dict[str, Any]]:
    """The episodes by their ids, which are distinct."""
    episodes = {row["verdict_id"]: row for row in found["episodes"]}
    assert len(episodes) == len(found["episodes"])
    return episodes


def random_rows(seed: int) -> pa.Table:
    """Rows of few witnesses at few positions: overlapping, touching, repeated, open, without a position."""
    chance = random.Random(seed)

    def row() -> Row:
        start = chance.choice((None, *range(30))) if chance.random() < 0.1 else chance.randrange(30)
        end = None if start is None or chance.random() < 0.05 else start + chance.choice((0, 0, 1, 2, 9))
        return chance.choice("abcd"), start, end, chance.choice((True, True, True, False, None))

    return results({f"scope {number}": [row() for _ in range(chance.randrange(12))] for number in range(60)})


@pytest.fixture
def found(engine: Engine) -> Found:
    """Of all cases at once: a scope a case."""
    return apply(engine, results({name: rows for name, (rows, _) in CASES.items()}))


@pytest.mark.parametrize("case", CASES)
def test_episodes(found: Found, case: str) -> None:
    rows = [row for row in found["episodes"] if row["scope"] == case]
    said = {
        tuple(row[name] for name in ("verdict", "witness", "from_position", "to_position")) for row in rows
    }
    assert said == CASES[case][1]
    assert len(rows) == len(said)


def test_an_episode_keeps_the_values_of_its_first_row(found: Found) -> None:
    (row,) = [
        row for row in found["episodes"] if row["scope"] == "the first row of a stretch gives its values"
    ]
    assert row["observed"] == '{"at":0}'


def test_an_unknown_episode_has_the_reason_of_its_first_row(engine: Engine) -> None:
    """Each row is counted for its own, and the most frequent one stands for the definition."""
    rows: list[Row] = [("a", 10, 20, None), ("a", 0, 10, None), ("b", 40, 50, False), ("c", 60, 70, True)]
    found = apply(engine, results({"s": rows, "t": [("a", 10, 11, None)]}))
    why = {(row["scope"], row["witness"]): row["reason"] for row in found["episodes"]}
    assert why == {("s", "a"): "a_0", ("t", "a"): "a_10", ("s", "b"): None, ("s", None): None}
    assert {row["reason"]: row["unknown"] for row in found["reasons"]} == {"a_0": 1, "a_10": 2}
    unknown = apply(engine, results({"s": rows[:2], "t": [("a", 10, 11, None)]}))["coverage"][0]
    assert (unknown["status"], unknown["reason"]) == ("unknown", "a_10")
    unread = apply(engine, results({"s": rows[3:]}), unread=2)["coverage"][0]
    assert (unread["status"], unread["reason"]) == ("holds_partly", "unread")
    assert found["coverage"][0]["reason"] is None


@pytest.mark.parametrize("seed", range(3))
def test_reasons_are_counted_as_often_as_there_is_something_unknown(engine: Engine, seed: int) -> None:
    found = apply(engine, random_rows(seed))
    assert sum(row["unknown"] for row in found["reasons"]) == found["coverage"][0]["unknown"] > 20
    known = [row for row in found["episodes"] if (row["verdict"] == "unknown") == (row["reason"] is None)]
    assert known == []


def test_the_times_of_an_episode_are_those_of_its_positions(found: Found) -> None:
    for row in found["episodes"]:
        if not row["scope"].startswith("moments"):
            for end in ("from", "to"):
                time, position = row[f"{end}_time"], row[f"{end}_position"]
                assert (time and time.timestamp()) == (None if position is None else START + position)


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_rows_changes_nothing(engine: Engine, seed: int) -> None:
    rows = random_rows(seed)
    episodes = by_id(apply(engine, rows))
    assert {row["verdict"] for row in episodes.values()} == {"holds", "violated", "unknown"}
    order = list(range(rows.num_rows))
    random.Random(seed).shuffle(order)
    assert by_id(apply(engine, rows.take(order))) == episodes


@pytest.mark.parametrize("seed", range(5))
def test_what_holds_lies_between_what_does_not(engine: Engine, seed: int) -> None:
    """Against the plain meaning, position by position."""
    rows = random_rows(seed)
    found = apply(engine, rows)["episodes"]
    scopes: dict[str, list[dict[str, Any]]] = {}
    for row in rows.to_pylist():
        scopes.setdefault(row["scope"], []).append(row)
    for scope, judged in scopes.items():
        bad = [row for row in judged if row["verdict"] is not True]
        good = [row for row in judged if row["verdict"] is True and row["from_position"] is not None]
        free = [at for at in range(60) if not any(_covers(row, at) for row in bad)]
        held = {at for at in free if any(_covers(row, at) for row in good)}
        said = [row for row in found if row["scope"] == scope and row["verdict"] == "holds"]
        assert held <= {at for at in free if any(_covers(row, at) for row in said)}
        for row in said:
            inside = range(row["from_position"], row["to_position"] or 60)
            assert set(inside) <= set(free)
            assert inside[0] in held and inside[-1] in held


def _covers(row: dict[str, Any], at: int) -> bool:
    begin, end = row["from_position"], row["to_position"]
    if begin is None:
        return True
    return bool(begin <= at < max(begin + 1, 60 if end is None else end))


@pytest.mark.parametrize("seed", range(3))
def test_ids_do_not_depend_on_settings(engine: Engine, seed: int) -> None:
    rows = random_rows(seed)
    found = by_id(apply(engine, rows))
    assert by_id(apply(engine, rows, severity="info")).keys() == found.keys()


STATUSES: dict[str, list[Row]] = {
    "violated": [("a", 0, 1, True), ("a", 1, 2, None), ("a", 2, 3, False)],
    "holds_partly": [("a", 0, 1, True), ("a", 1, 2, None)],
    "unknown": [("vacuous", 0, 1, True), ("a", 1, 2, None)],
    "holds": [("a", 0, 1, True)],
    "not_exercised": [("vacuous", 0, 1, True)],
}


@pytest.mark.parametrize("status", STATUSES)
def test_status(engine: Engine, status: str) -> None:
    (row,) = apply(engine, results({"scope": STATUSES[status]}))["coverage"]
    assert (row["status"], row["checked"], row["scopes"]) == (status, len(STATUSES[status]), 1)


@pytest.mark.parametrize("status", STATUSES)
def test_nothing_holds_while_evidence_is_missing(engine: Engine, status: str) -> None:
    (row,) = apply(engine, results({"scope": STATUSES[status]}), unread=2)["coverage"]
    assert (row["status"], row["unread"]) == ("holds_partly" if status == "holds" else status, 2)


def test_what_has_no_row_is_not_exercised(engine: Engine) -> None:
    (row,) = apply(engine, results({"scope": STATUSES["violated"]}), definition="another")["coverage"]
    assert (row["status"], row["checked"], row["scopes"]) == ("not_exercised", 0, 0)
