"""Why a verdict is unknown: the word that a row, a column or a table has for it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tlasql import compile_module
from tlasql.commands.data import Data
from tlasql.lang.errors import TlaSqlError
from tlasql.sql.reasons import NO_VALUE, NOT_COVERED, NOT_KNOWN, SEVERAL_STATES

MODULE = r"""---- MODULE Why ----
EXTENDS Integers
\* @type: Int;
VARIABLE level
\* @type: MEMBER -> Int;
VARIABLE epoch
\* @type: MEMBER -> Int;
VARIABLE age
\* @type: Set({id: REQUEST, epoch: Int, limit: Int, ok: Bool});
VARIABLE asked

\* @invariant("high", "info", "group")
High == level > 1
\* @step("rises", "info", "group")
Rises == level' >= level
\* @step("rises_for_good", "info", "group") @transitive
RisesForGood == level' >= level
\* @invariant("old", "info", "member")
Old == \A m \in DOMAIN epoch \cap DOMAIN age : age[m] > epoch[m]
\* @invariant("granted", "info", "request")
Granted == \A r \in asked : r.ok => r.epoch < r.limit
\* @invariant("together", "info", "request")
Together == \A r \in asked : r.ok => \E s \in asked : s.id = r.id /\ s.epoch < s.limit
\* @invariant("shared", "info", "request")
Shared == \A r \in asked : r.epoch \div r.limit > 0
\* @decision("answer", "asked")
Answer(r) == IF r.epoch < r.limit THEN "YES" ELSE "NO"
\* @decision("late", "asked")
Late(r) == r.epoch >= r.limit
====
"""
MAPPING = """
module = "Why"
[scope]
columns = ["cluster"]
coverage = "db.coverage"
[variables.level]
persistent = true
homes = [{ table = "db.levels", value = "level" }]
[variables.epoch]
homes = [{ table = "db.members", key = ["member"], value = "epoch" }]
[variables.age]
homes = [{ table = "db.ages", key = ["member"], value = "age" }]
[variables.asked]
table = "db.states"
identity = ["part"]
alternatives = "candidate"
within = ["id"]
fields = { id = "id", epoch = "epoch", limit = "limit", ok = "ok" }
universe = { table = "db.requests", count = "candidates", fields = { id = "id" } }
"""
REASONS = """
[reasons]
"db.coverage" = { row = "why", otherwise = "lost" }
"db.levels" = { row = "why", otherwise = "no_level" }
"db.members" = { columns = { epoch = "no_epoch" }, otherwise = "no_member" }
"db.ages" = { row = "why" }
"db.states" = { columns = { limit = "no_limit" }, otherwise = "no_state" }
"db.requests" = { row = "why", otherwise = "no_request" }
"""
INTERVAL = {
    "from_position": "bigint",
    "to_position": "bigint",
    "from_time": "timestamp",
    "to_time": "timestamp",
}
SCHEMAS = {
    "db.coverage": {"cluster": "string", "covered": "boolean", "why": "string", **INTERVAL},
    "db.levels": {"cluster": "string", "level": "int", "why": "string", **INTERVAL},
    "db.members": {"cluster": "string", "member": "string", "epoch": "int", **INTERVAL},
    "db.ages": {"cluster": "string", "member": "string", "age": "int", "why": "string", **INTERVAL},
    "db.states": {
        **{"cluster": "string", "part": "string", "id": "string", "candidate": "int"},
        **{"epoch": "int", "limit": "int", "ok": "boolean"},
        **INTERVAL,
    },
    "db.requests": {
        **{"cluster": "string", "part": "string", "id": "string", "candidates": "int", "why": "string"}
    },
}
Rows = Iterable[Mapping[str, Any]]


def _level(begin: int, level: int | None, why: str | None = None) -> dict[str, Any]:
    return {"from_position": begin, "to_position": begin + 1, "level": level, "why": why}


def _part(part: str, *states: tuple[int | None, int | None], why: str | None = None, ok: bool = True) -> Any:
    """A request of one part, which met one of these states, (epoch, limit)."""
    request = {"part": part, "id": part[0], "candidates": max(1, len(states)), "why": why}
    met = [
        {"part": part, "id": part[0], "candidate": number, "epoch": epoch, "limit": limit, "ok": ok}
        for number, (epoch, limit) in enumerate(states)
    ]
    return request, met


PARTS = [
    _part("a", (1, 2)),
    _part("b", why="cut"),
    _part("c"),
    _part("d", (1, 2), (3, 2), why="cut"),
    _part("e", (None, 2), why="cut"),
    _part("f", (None, 2)),
    _part("g", (1, None), why="cut"),
    _part("h", (1, 2), (None, None)),
    _part("i1", (3, 2)),
    _part("i2", (1, None), why="cut"),
    _part("j", (1, 0)),
]
OF_REQUESTS = {
    **{"b": "cut", "c": "no_request"},
    # of several states that are known, that they differ; else what is unknown of one of them
    **{"d": SEVERAL_STATES, "e": "cut", "f": "no_state", "g": "no_limit", "h": "no_limit", "i2": "no_limit"},
}
TABLES: dict[str, Rows] = {
    "db.coverage": [
        {"covered": True, "from_position": 0, "to_position": 40},
        {"covered": False, "from_position": 40, "to_position": 41},
        {"covered": False, "from_position": 41, "to_position": 50, "why": "torn"},
        {"covered": True, "from_position": 50},
    ],
    "db.levels": [
        *(_level(0, 2), _level(1, None), _level(2, None, "cut"), _level(3, 3), _level(4, 4)),
        # what holds across a hole may have been otherwise within
        *(_level(40, 5), _level(50, 6)),
    ],
    "db.members": [
        {"from_position": 0, "member": "m", "epoch": 1},
        {"from_position": 0, "member": "n", "epoch": None},
        {"from_position": 0, "member": "o", "epoch": 1},
    ],
    "db.ages": [
        {"from_position": 0, "member": "m", "age": None, "why": "burnt"},
        {"from_position": 0, "member": "n", "age": None, "why": "burnt"},
        {"from_position": 0, "member": "o", "age": None},
    ],
    "db.requests": [request for request, _ in PARTS],
    "db.states": [state for _, met in PARTS for state in met],
}


@pytest.fixture(scope="module", params=["with_reasons", "without"])
def said(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Definition -> {where: (verdict or outcome, reason)}; without [reasons] under the name "plain"."""
    folder = tmp_path_factory.mktemp("why")
    (folder / "Why.tla").write_text(MODULE, encoding="utf-8")
    mapping = MAPPING + (REASONS if request.param == "with_reasons" else "")
    (folder / "mapping.toml").write_text(mapping, encoding="utf-8")
    for table, rows in TABLES.items():
        lines = (json.dumps(dict.fromkeys(SCHEMAS[table]) | {"cluster": "c", **row}) for row in rows)
        (folder / f"{table}.ndjson").write_text("\n".join(lines), encoding="utf-8")
    module = compile_module(folder / "Why.tla", folder / "mapping.toml", SCHEMAS, dialect="duckdb")
    data, found = Data(folder, SCHEMAS), dict[str, Any]()
    for each in module.definitions:
        if each.mark.kind == "decision":
            rows = data.rows(each.sql)
            found[each.mark.id] = {row["subject"]: (row["outcome"], row["reason"]) for row in rows}
        else:
            found[each.mark.id] = {
                _place(row): (row["verdict"], row["reason"]) for row in data.rows(each.sql)
            }
    for each in module.passes:
        for row in map(dict, data.rows(each.sql)):
            what = found[row["definition"]]
            place = row["subject"] if "subject" in row else _place(row)
            assert what[place] == (row.get("verdict", row.get("outcome")), row["reason"]), each.ids
    return {**found, "named": request.param == "with_reasons"}


def _place(row: Mapping[str, Any]) -> Any:
    witness = json.loads(row["witness"] or "{}")
    return next(iter(witness.values()), row["from_position"])


def _expected(said: Mapping[str, Any], named: dict[Any, str]) -> dict[Any, str]:
    """Without [reasons] the compiler has words of its own."""
    if said["named"]:
        return named
    others = {"lost": NOT_COVERED, "torn": NOT_COVERED, SEVERAL_STATES: SEVERAL_STATES, NO_VALUE: NO_VALUE}
    return {place: others.get(reason, NOT_KNOWN) for place, reason in named.items()}


UNCOVERED = {40: "lost", 41: "torn"}


@pytest.mark.parametrize(
    ("identity", "named"),
    [
        ("high", {1: "no_level", 2: "cut", **UNCOVERED}),
        # a step is unknown for the state before it, or for the one after
        ("rises", {1: "no_level", 2: "cut", 3: "cut", **UNCOVERED}),
        ("rises_for_good", {1: "no_level", 2: "cut", 3: "cut", **UNCOVERED}),
        # what a column always lacks for one reason, a row, a table
        ("old", {"m": "burnt", "n": "no_epoch", "o": "no_member", **UNCOVERED}),
        ("shared", {**OF_REQUESTS, "j": NO_VALUE}),
        ("granted", OF_REQUESTS),
        ("answer", OF_REQUESTS),
        ("late", OF_REQUESTS),
        # of a quantifier, what its elements lack
        ("together", {**OF_REQUESTS, "i1": "no_limit"}),
    ],
)
def test_what_is_unknown_says_why(said: dict[str, Any], identity: str, named: dict[Any, str]) -> None:
    """And nothing else does."""
    assert all((value is None) == (why is not None) for value, why in said[identity].values())
    found = {place: why for place, (_, why) in said[identity].items() if why is not None}
    assert found == _expected(said, named)


@pytest.mark.parametrize(
    ("reasons", "message"),
    [
        ('"db.level" = { otherwise = "lost" }', "there is no table db.level"),
        ('"db.levels" = { row = "reason" }', "db.levels has no column reason"),
        ('"db.levels" = { row = "level" }', "db.levels.level is int, the specification says Str"),
        ('"db.levels" = { columns = { epoch = "lost" } }', "db.levels has no column epoch"),
        ('"db.states" = { row = "id" }', "what is unknown in db.states, no row of it says"),
        ('"db.levels" = { reason = "lost" }', "has no reason"),
    ],
)
def test_reasons_that_no_table_has_are_refused(tmp_path: Path, reasons: str, message: str) -> None:
    (tmp_path / "Why.tla").write_text(MODULE, encoding="utf-8")
    (tmp_path / "mapping.toml").write_text(f"{MAPPING}\n[reasons]\n{reasons}\n", encoding="utf-8")
    with pytest.raises(TlaSqlError) as error:
        compile_module(tmp_path / "Why.tla", tmp_path / "mapping.toml", SCHEMAS)
    assert message in str(error.value)
