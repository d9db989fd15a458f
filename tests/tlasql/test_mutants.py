"""A wrong operator would be seen: one change at a time in the representation and in the SQL of each
definition of the corpus, and nearly every one changes a verdict on random behaviours and states.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Iterator

import duckdb
import pytest
from tlasql_corpus import (
    FOLDER,
    INTEGERS,
    State,
    behaviour,
    compiled,
    duck,
    nearby,
    on_duckdb,
    repeating,
    with_holes,
    without_part,
)
from tlasql_evaluator import UndefinedError
from tlasql_oracles import Verdicts, evaluated

from tlasql.lang.ir import Expr, Literal, Op, Quantified, children, rebuild, text
from tlasql.lang.types import INT

pytestmark = pytest.mark.diff
TRACES, LENGTH, HOLED, SAMPLE, KILLED = 40, 10, 600, 6, 0.95
_OPERATORS = {
    "/\\": "\\/", "\\/": "/\\", "=>": "<=>", "<=>": "=>", "<": "<=", "<=": "<", ">": ">=", ">=": ">",
    "+": "-", "-": "+", "*": "+", "\\div": "*", "%": "+", "\\cap": "\\cup", "\\cup": "\\cap", "\\": "\\cup",
    "Min": "Max", "Max": "Min", "Head": "Last", "Last": "Head",
}  # fmt: skip
_QUANTIFIERS = {"\\A": "\\E", "\\E": "\\A"}
_SQL = (
    (" AND ", " OR "), (" OR ", " AND "), (" < ", " <= "), (" <= ", " < "), (" > ", " >= "),
    (" >= ", " > "), (" = ", " <> "), (" + ", " - "), (" - ", " + "), ("NOT ", ""),
    (" THEN TRUE", " THEN FALSE"), (" THEN FALSE", " THEN TRUE"), ("LIST_MIN", "LIST_MAX"),
)  # fmt: skip


@pytest.fixture(scope="module")
def traces() -> dict[str, list[State]]:
    """Enough behaviours that verdicts differ."""
    chance = random.Random(95)
    return {f"t{n}": behaviour(chance, LENGTH) for n in range(TRACES)}


@pytest.fixture(scope="module")
def holed() -> dict[str, list[State]]:
    """Pairs of states, most with something unknown, so that what guards the unknown matters; in some, sets
    repeat elements, numbers are negative or large, and a step changes little.
    """
    chance = random.Random(59)

    def spoiled(state: State) -> State:
        if chance.random() < 0.3:
            return repeating(state, chance)
        if chance.random() < 0.4:
            return without_part(state, chance, 0)[0]
        return with_holes(state, chance, chance.choice((0, 1, 3, 8, 16)))[0]

    def pair() -> list[State]:
        integers = chance.choice((INTEGERS, (-2, -1, 0, 1, 2, 3)))
        first, other = (behaviour(chance, 1, integers)[0] for _ in range(2))
        return [spoiled(first), spoiled(chance.choice((other, nearby(first, chance, integers))))]

    return {f"h{n}": pair() for n in range(HOLED)}


@pytest.fixture(scope="module")
def verdicts(traces: dict[str, list[State]]) -> Verdicts:
    """What the definitions say as they are."""
    return on_duckdb(compiled("duckdb"), traces)


def test_a_changed_representation_is_seen(traces: dict[str, list[State]], verdicts: Verdicts) -> None:
    """Every operator, quantifier and number of every definition."""
    killed, survived = 0, []
    for each in compiled("duckdb").definitions:
        wanted = {key: verdict for key, verdict in verdicts.items() if key[0] == each.mark.id}
        for mutant in _mutants(each.body):
            try:
                alive = evaluated(each, mutant, traces) == wanted
            except (UndefinedError, TypeError):  # where the original has a value
                alive = False
            killed += not alive
            survived += [f"{each.mark.id}: {text(mutant)}"] if alive else []
    assert killed > 300
    assert killed / (killed + len(survived)) >= KILLED, survived


def test_a_changed_query_is_seen(
    traces: dict[str, list[State]], holed: dict[str, list[State]], times: int
) -> None:
    """Operators of what the SQL judges by, a sample of each definition's (``make diff``: all). Those that
    change no verdict are listed beside the corpus.
    """
    everything = traces | holed
    connection, chance = duck(everything), random.Random(59)
    killed, survived, whole = 0, set(), True
    for each in compiled("duckdb").definitions:
        wanted = _rows(connection, each.sql)
        every = list(_changed(each.sql))
        whole = whole and len(every) <= SAMPLE * times
        for what, sql in chance.sample(every, min(len(every), SAMPLE * times)):
            try:
                alive = _rows(connection, sql) == wanted
            except duckdb.Error:  # the engine refuses it
                alive = False
            killed += not alive
            survived |= {f"{each.mark.id} {what}"} if alive else set()
    assert killed > 400
    groups = tomllib.loads((FOLDER / "equivalent.toml").read_text(encoding="utf-8"))["equivalent"]
    listed = {mutant for group in groups for mutant in group["mutants"]}
    assert survived - listed == set()
    assert not whole or listed - survived == set()  # none is listed for nothing


def _rows(connection: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[object, ...]]:
    shown = "scope, witness, from_position, verdict, exercised"
    return connection.execute(f"SELECT {shown} FROM ({sql}) ORDER BY ALL").fetchall()


def _mutants(expr: Expr) -> Iterator[Expr]:
    """The expression with one of its parts changed."""
    match expr:
        case Op(symbol=symbol, arguments=arguments) if symbol in _OPERATORS:
            yield Op(expr.location, _OPERATORS[symbol], arguments, type=expr.type)
        case Op(symbol="~", arguments=(inner,)):
            yield inner
        case Op(symbol="IF", arguments=(test, then, other)):
            yield Op(expr.location, "IF", (test, other, then), type=expr.type)
        case Op(symbol="=" | "\\in" | "\\subseteq"):
            yield Op(expr.location, "~", (expr,), type=expr.type)
        case Quantified(kind=kind) if kind in _QUANTIFIERS:
            yield Quantified(
                expr.location, _QUANTIFIERS[kind], expr.variable, expr.domain, expr.body, type=expr.type
            )
        case Literal(value=value, type=kind) if kind == INT:
            yield Literal(expr.location, value + 1, type=INT)
    for index, part in enumerate(children(expr)):
        for changed in _mutants(part):
            yield _with_part(expr, index, changed)


def _with_part(expr: Expr, index: int, new: Expr) -> Expr:
    parts = iter(range(10**6))
    return rebuild(expr, lambda part: new if next(parts) == index else part)


def _changed(sql: str) -> Iterator[tuple[str, str]]:
    """Every single replacement in what judges; how a verdict is shown is left alone."""
    shown = sql.index("AS failed_conjunct") if "AS failed_conjunct" in sql else len(sql)
    judged = sql.rfind("\nSELECT\n", 0, shown)
    for old, new in _SQL:
        for match in re.finditer(re.escape(old), sql[:judged]):
            line, column = (
                sql.count("\n", 0, match.start()) + 1,
                match.start() - sql.rfind("\n", 0, match.start()),
            )
            yield (
                f"{line}:{column} {old.strip()} -> {new.strip()}",
                (sql[: match.start()] + new + sql[match.end() :]),
            )
