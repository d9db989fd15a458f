"""TLC, DuckDB and Spark give every definition of the corpus the same verdict in every state and step."""

from __future__ import annotations

import random
from collections import Counter, defaultdict

import pytest
from pyspark.sql import SparkSession
from tlasql_corpus import Verdicts, behaviour, compiled, on_duckdb, on_spark, with_holes

from tlasql.replay import verdicts

TRACES, LENGTH = 40, 6
HOLED = 60
Trace = list[dict[str, object]]


@pytest.fixture(scope="module")
def traces() -> dict[str, Trace]:
    """Random behaviours, the same in every run."""
    chance = random.Random(320)
    return {f"t{n}": behaviour(chance, LENGTH) for n in range(TRACES)}


@pytest.fixture(scope="module")
def oracle(traces: dict[str, Trace]) -> Verdicts:
    """What TLC says."""
    return _tlc(traces)


def _tlc(traces: dict[str, Trace]) -> Verdicts:
    module = compiled("duckdb")
    states = [state for trace in traces.values() for state in trace]
    places = [(name, n) for name, trace in traces.items() for n in range(len(trace))]
    ends = frozenset(i for i, (name, n) in enumerate(places) if n == len(traces[name]) - 1)
    said = verdicts(module, module.definitions, states, ends)
    return {(identity, *places[index]): verdict for (identity, index), verdict in said.items()}


def test_the_corpus_is_large_and_balanced(oracle: Verdicts) -> None:
    """At least 100 definitions, each true and false in at least 5% of the cases."""
    said: dict[str, Counter[bool | None]] = defaultdict(Counter)
    for (identity, _, _), verdict in oracle.items():
        said[identity][verdict] += 1
    assert len(said) >= 100
    rare = {each: dict(n) for each, n in said.items() if min(n[True], n[False]) < 0.05 * n.total()}
    assert rare == {}


def test_duckdb_agrees_with_tlc(traces: dict[str, Trace], oracle: Verdicts) -> None:
    """Known everywhere, since everything is known, and never otherwise."""
    assert _differences(on_duckdb(compiled("duckdb"), traces), oracle) == {}


def test_spark_agrees_with_tlc(spark: SparkSession, traces: dict[str, Trace], oracle: Verdicts) -> None:
    """The same text but for the names of functions."""
    assert _differences(on_spark(spark, compiled("spark"), traces), oracle) == {}


def test_the_unknown_is_never_guessed(spark: SparkSession) -> None:
    """With values taken away a verdict is that of every completion, or unknown; both engines say the same."""
    chance = random.Random(232)
    holed, completions = {}, {}
    for n in range(HOLED):
        state, whole = with_holes(behaviour(chance, 1)[0], chance, 2)
        holed[f"h{n}"] = [state]
        completions |= {f"h{n}/{m}": [each] for m, each in enumerate(whole)}
    duck = compiled("duckdb")
    known = on_duckdb(duck, completions)
    said = on_duckdb(duck, holed)
    every: dict[tuple[str, str], set[bool | None]] = defaultdict(set)
    for (identity, trace, _), verdict in known.items():
        every[identity, trace.split("/")[0]].add(verdict)
    guessed = {
        key: verdict
        for key, verdict in said.items()
        if verdict is not None and every[key[0], key[1]] != {verdict}
    }
    assert guessed == {}
    assert sum(verdict is None for verdict in said.values()) > len(said) / 100
    assert on_spark(spark, compiled("spark"), holed) == said


def _differences(
    said: Verdicts, oracle: Verdicts
) -> dict[tuple[str, str, int], tuple[bool | None, bool | None]]:
    assert said.keys() == oracle.keys()
    return {key: (said[key], oracle[key]) for key in oracle if said[key] is not oracle[key]}
