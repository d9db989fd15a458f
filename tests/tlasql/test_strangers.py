"""A module that nobody wrote for tlasql: claims in theorems, constants by definitions, folds of a library."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest
from tlasql_judge import ModelValue
from tlasql_states import Domain, State, duck, on_duckdb

from tlasql import CompiledModule, compile_module
from tlasql.cli import main
from tlasql.lang.types import Function, parse_type
from tlasql.mapping.file import sidecar

FOLDER = Path(__file__).with_name("strangers")
MODULE, MAPPING = FOLDER / "MCRing.tla", FOLDER / "mapping.toml"
NODES = ("a", "b", "c")
DOMAIN = Domain(
    {name: parse_type(text) for name, text in sidecar(MAPPING).types.items()},
    (0, 1, 2, 3),
    {"NODE": (*NODES, ModelValue("none"))},
)
STATES = 80
CLAIMED = {
    *("type_ok", "heavy", "most", "unsent", "others", "served", "always", "majority", "smaller", "short"),
    *("pass", "received"),
}
STEPS = 2


@pytest.fixture(scope="module")
def states() -> list[State]:
    """Random states; most have all nodes."""
    chance, found = random.Random(77), list[State]()
    while len(found) < STATES:
        state = dict(DOMAIN.state(chance))
        for name in ("sent", "alive"):
            kind = DOMAIN.types[name]
            assert isinstance(kind, Function)
            if chance.random() < 0.95:
                state[name] = {node: DOMAIN.value(kind.result, chance) for node in NODES}
        kept = {name: value for name, value in found[-1].items() if chance.random() < 0.6} if found else {}
        found.append({**state, **kept})
    return found


def test_theorems_claim(states: list[State]) -> None:
    """Every state predicate and action that one of them boxes, but nothing that is temporal itself; each is
    true somewhere and false elsewhere.
    """
    module = compile_module(MODULE, MAPPING, DOMAIN.schemas(), dialect="duckdb")
    said: dict[str, set[bool | None]] = {each: set() for each in CLAIMED}
    for (identity, _), verdict in on_duckdb(duck(DOMAIN, states), module.definitions, STATES).items():
        said[identity].add(verdict)
    assert {each for each, verdicts in said.items() if not {True, False} <= verdicts} == set()


def test_whole_states_have_a_reason(
    one_of_each: CompiledModule, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They cost more than rows. Of each definition that needs them `check` says why; of others nothing."""
    assert {each.because for each in one_of_each.definitions} == {None}
    path = tmp_path / "schemas.json"
    path.write_text(json.dumps(DOMAIN.schemas()), encoding="utf-8")
    files = ["--mapping", str(MAPPING), "--schemas", str(path)]
    assert main(["check", str(MODULE), *files, "--engine", "duckdb"]) == 0
    said = capsys.readouterr().out.splitlines()
    compiled = [line for line in said if " compiles" in line]
    assert len(compiled) == len(CLAIMED)
    assert [line for line in compiled if not re.search("judged on whole states: .*[a-z]", line)] == []


def test_tlc_says_the_same(states: list[State], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """TLC reads the modules as they are, and the constants are the same definitions."""
    duck(DOMAIN, states, str(tmp_path / "states.db")).close()
    (tmp_path / "schemas.json").write_text(json.dumps(DOMAIN.schemas()), encoding="utf-8")
    files = ["--mapping", str(MAPPING), "--schemas", str(tmp_path / "schemas.json")]
    assert main(["diff", str(MODULE), *files, "--data", str(tmp_path / "states.db")]) == 0
    said = capsys.readouterr().out
    found = re.search(r"(\d+) verdicts compared, 0 differ, (\d+) unknown to SQL; TLC stops at (\d+)", said)
    assert found is not None, said
    compared, unknown, stops = map(int, found.groups())
    assert compared == len(CLAIMED) * STATES - STEPS
    assert unknown - stops < 0.01 * compared
