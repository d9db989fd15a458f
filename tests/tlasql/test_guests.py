"""Modules as authors outside write them, over random states: SQL says what TLC says of them."""

from __future__ import annotations

import json
import random
import re
import tomllib
from pathlib import Path

import duckdb
import pytest
import sqlglot
from sqlglot import exp
from tlasql_states import Domain, State, duck

from tlasql import compile_module
from tlasql.cli import main
from tlasql.emit.tlc_files import tlc_files
from tlasql.lang.types import Function, parse_type

FOLDER = Path(__file__).with_name("guests")
GUESTS = tomllib.loads((FOLDER / "guests.toml").read_text(encoding="utf-8"))
STATES = 40
MAPPING = """
[states]
table = "shapes.states"
[scope]
columns = ["cluster", "trace"]
coverage = "shapes.coverage"
"""
UNKNOWN = {"Election": 0.06, "Stack": 0.15, "Tree": 0.03, "Queue": 0.01, "Doors": 0.04, "Journal": 0.03}
"""The share of verdicts at which TLC stops: values outside of a DOMAIN."""


def _states(domain: Domain) -> list[State]:
    """Random states, in which most functions have all their arguments, and much stays from state to state."""
    chance, found = random.Random(5), list[State]()
    while len(found) < STATES:
        state = dict(domain.state(chance))
        for name, kind in domain.types.items():
            every = domain.texts.get(str(kind.argument)) if isinstance(kind, Function) else None
            if isinstance(kind, Function) and every and chance.random() < 0.85:
                state[name] = {key: domain.value(kind.result, chance) for key in every}
        kept = {name: value for name, value in found[-1].items() if chance.random() < 0.6} if found else {}
        found.append({**state, **kept})
    return found


def _mapping(name: str) -> str:
    lines = [f'module = "{name}"']
    for table in ("types", "constants"):
        lines += [f"[{table}]", *(f"{key} = {_toml(value)}" for key, value in GUESTS[name][table].items())]
    return "\n".join(lines) + MAPPING


def _toml(value: object) -> str:
    return f"{{ model = {json.dumps(value['model'])} }}" if isinstance(value, dict) else json.dumps(value)


@pytest.fixture
def arguments(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    """A guest, its mapping and a database of its states."""
    name = request.param
    values = dict(GUESTS[name]["values"])
    types = {variable: parse_type(text) for variable, text in GUESTS[name]["types"].items()}
    domain = Domain(types, values.pop("Int"), values)
    duck(domain, _states(domain), str(tmp_path / "states.db")).close()
    (tmp_path / "mapping.toml").write_text(_mapping(name), encoding="utf-8")
    (tmp_path / "schemas.json").write_text(json.dumps(domain.schemas()), encoding="utf-8")
    files = ["--mapping", str(tmp_path / "mapping.toml"), "--schemas", str(tmp_path / "schemas.json")]
    return [str(FOLDER / f"{name}.tla"), *files, "--data", str(tmp_path / "states.db")]


@pytest.mark.parametrize("arguments", GUESTS, indirect=True)
def test_tlc_says_the_same(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Tuples and records as arguments, stacks of PlusCal, bounded recursion, bags, what is enabled."""
    assert main(["diff", *arguments]) == 0
    found = re.search(
        r"(\d+) verdicts compared, 0 differ, (\d+) unknown to SQL(?:; TLC stops at (\d+))?",
        capsys.readouterr().out,
    )
    assert found is not None
    compared, unknown, stops = (int(each or 0) for each in found.groups())
    assert compared >= 5 * STATES
    assert stops <= unknown <= stops + 0.01 * compared
    assert unknown <= UNKNOWN.get(Path(arguments[0]).stem, 0) * compared


@pytest.mark.parametrize("arguments", ["Journal"], indirect=True)
def test_a_fold_is_computed_once(arguments: list[str]) -> None:
    """Not wherever its value is asked for, nor for each element; nor is what it goes over, in its steps."""
    module, _, mapping, _, schemas, *_ = map(Path, arguments)
    for dialect, length, once in (("duckdb", "LEN(journal)", 1), ("spark", "SIZE(journal)", 3)):
        compiled = compile_module(module, mapping, json.loads(schemas.read_text()), dialect=dialect)
        sql = {each.mark.id: each.sql for each in compiled.definitions}
        replayed = ("never_negative", "cache_follows", "total", "known")
        assert {each: sql[each].count(length) for each in replayed} == dict.fromkeys(replayed, once)
        assert (
            sql["snapshot_is_replay"].count("SLICE(journal") == 2
        )  # of the value, and of whether it has one


@pytest.mark.parametrize("arguments", ["Journal"], indirect=True)
def test_a_fold_at_each_place_costs_a_square(arguments: list[str]) -> None:
    """No cube: what is not about the place is asked once, and what is folded over is computed once for it."""
    module, _, mapping, _, schemas, *_ = map(Path, arguments)
    compiled = compile_module(module, mapping, json.loads(schemas.read_text()), dialect="duckdb")
    sql = {each.mark.id: sqlglot.parse_one(each.sql, dialect="duckdb") for each in compiled.definitions}
    loops = max(_around(each) for each in sql["running_max"].find_all(exp.Lambda))
    slices = [each for each in sql["deposited"].find_all(exp.Anonymous) if each.name == "LIST_SLICE"]
    assert (loops, max(map(_around, slices))) == (2, 1)


def _around(inner: exp.Expr | None) -> int:
    """How many loops there are around it."""
    found = -1
    while inner is not None:
        found, inner = found + 1, inner.find_ancestor(exp.Lambda)
    return found


@pytest.mark.parametrize("arguments", ["Journal"], indirect=True)
def test_values_of_one_name_are_told_apart(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Each by its own type."""
    assert main(["explain", *arguments, "--only", "one_name"]) == 1
    said = capsys.readouterr().out
    assert re.search(r'^    last = "\w+"\n    last \(2\) = [0-9]$', said, re.MULTILINE), said


@pytest.mark.parametrize("arguments", ["Tree"], indirect=True)
def test_claims_that_are_not_judged_are_told(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """A theorem's formulas without a name, and those about whole behaviours; no lemma of states is one."""
    assert main(["check", *arguments[:-2], "--engine", "duckdb"]) == 0
    said = [line.partition(": not judged: ") for line in capsys.readouterr().out.splitlines()]
    name, end = (
        " is not the name of a predicate or a step",
        " is about a whole behaviour, and a log has no end",
    )
    assert [(place.split(":")[1], claim.partition(": claim")[0]) for place, _, claim in said if claim] == [
        ("29", f"Cardinality(Nodes) < 5{name}"),
        ("30", f"Sometimes{end}"),
        ("31", f"Other!Spec{end}"),
        ("32", f"<>[]Single{end}"),
        ("32", f"WF_parent(UNCHANGED parent){end}"),
    ]


@pytest.mark.parametrize("arguments", ["Doors"], indirect=True)
def test_a_box_below_a_quantifier_over_constants_is_judged(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a set that changes the formula is about the elements of the first state alone."""
    assert main(["check", *arguments[:-2], "--engine", "duckdb"]) == 0
    said = capsys.readouterr().out
    assert {f"step {each} compiles" for each in ("each", "all")} <= {*re.findall(r"step \w+ compiles", said)}
    assert "invariant always compiles" in said
    assert re.findall(r"not judged: (\w+) is about", said) == ["Rigid", "OfCalls", "Fair"]
    module, _, mapping, _, schemas, *_ = map(Path, arguments)
    compiled = compile_module(module, mapping, json.loads(schemas.read_text()), dialect="duckdb")
    properties, config = tlc_files(compiled, "tlc").values()
    assert re.findall(r"^(\w+) ==", properties, re.MULTILINE) == ["SteppingProp"]
    assert config.split("PROPERTIES")[1].split() == ["SteppingProp", "Each", "All", "Always"]


@pytest.mark.parametrize("arguments", ["Queue"], indirect=True)
def test_what_is_no_bag_is_unknown(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """TLC's own operators say other things of a function with a number below 1 than the module of bags."""
    with duckdb.connect(arguments[-1]) as connection:
        connection.execute("UPDATE shapes.states SET net = MAP {'m1': 0}")
    assert main(["diff", *arguments]) == 0
    assert "0 differ" in capsys.readouterr().out
    assert main(["explain", *arguments, "--only", "size"]) == 2
    assert f"size: unknown ({STATES} checked" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", ["Stock"], indirect=True)
def test_functions_of_records_are_told_as_such(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """In the states, in what changed, and for TLC; an element that a set repeats is shown once."""
    assert main(["explain", *arguments, "--only", "release", "--limit", "1", "--confirm"]) == 1
    said = capsys.readouterr().out
    assert re.search(r'reserved\[\[sku \|-> "\w+", wh \|-> "\w+"\]\](.qty)?: ', said)
    assert '"south", "south"' not in said
    assert "TLC confirms it." in said
