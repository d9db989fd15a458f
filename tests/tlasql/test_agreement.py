"""TLC, an evaluator and Spark give every definition the same verdict in every state and step.

Judged are the marked definitions of offset-commit fencing and a module with one of each construct.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession
from tlasql_evaluator import evaluate
from tlasql_oracles import Verdicts, by_evaluator, by_tlc
from tlasql_random import random_case_trace, random_trace
from tlasql_removal import remove
from tlasql_spark import judged, kleene, show
from tlasql_traces import Tables, stored_traces

from tlasql import CompiledModule
from tlasql.commands.data import Data

pytestmark = pytest.mark.diff
TRACES = Path(__file__).resolve().parents[2] / "spec" / "offset_commit" / "traces"
RANDOM_TRACES, LENGTH, REMOVALS = 150, 6, 3

Trace = list[dict[str, Any]]
Traces = dict[str, Trace]
Rows = dict[str, dict[str, list[Row]]]
"""definition -> scope -> rows"""


@dataclass(frozen=True)
class Subject:
    """A compiled module and the traces it is judged on."""

    module: CompiledModule
    traces: Traces
    tables: Tables

    @property
    def judged_ids(self) -> list[str]:
        """The ids of invariants and steps."""
        return [each.mark.id for each in self.module.definitions if each.mark.kind != "decision"]


@pytest.fixture(scope="module", params=["offset_commit", "one_of_each"])
def subject(  # noqa: PLR0917 (fixtures)
    request: pytest.FixtureRequest,
    times: int,
    compiled: CompiledModule,
    one_of_each: CompiledModule,
    schemas: dict[str, dict[str, str]],
    case_schemas: dict[str, dict[str, str]],
) -> Subject:
    """Every trace as a scope, and each again with evidence taken away (``<trace>#<n>``)."""
    if request.param == "offset_commit":
        return _subject(compiled, schemas, random_trace, stored_traces(TRACES), times)
    return _subject(one_of_each, case_schemas, random_case_trace, {}, times)


def _subject(
    module: CompiledModule,
    schemas: dict[str, dict[str, str]],
    make: Callable[[random.Random, int], Trace],
    stored: Traces,
    times: int,
) -> Subject:
    chance = random.Random(848)
    traces = stored | {f"random {n}": make(chance, LENGTH) for n in range(RANDOM_TRACES * max(1, times // 7))}
    tables = Tables(module.mapping, schemas)
    for name, states in traces.items():
        tables.fill(name, states)
        for number in range(REMOVALS):
            tables.fill(f"{name}#{number}", states)
            remove(tables, f"{name}#{number}", chance)
    return Subject(module, traces, tables)


@pytest.fixture(scope="module")
def oracle(subject: Subject) -> Verdicts:
    """What TLC says of every definition."""
    return _by_place(by_tlc(subject.module, subject.traces), subject.traces)


def _by_place(said: Verdicts, traces: Traces) -> Verdicts:
    return {(identity, name, traces[name][n]["position"]): v for (identity, name, n), v in said.items()}


@pytest.fixture(scope="module")
def by_spark(spark: SparkSession, subject: Subject) -> dict[str, list[Row]]:
    """What the emitted SQL says on Spark: the rows of each definition."""
    show(spark, subject.tables)
    return judged(spark, subject.module, subject.tables.schemas)


@pytest.fixture(scope="module")
def rows(subject: Subject, by_spark: dict[str, list[Row]]) -> Rows:
    """Those of invariants and steps, by scope."""
    tables = subject.tables
    scopes = list(dict.fromkeys(row["group_id"] for row in tables.rows[tables.mapping.coverage]))
    found: Rows = {}
    for identity in subject.judged_ids:
        found[identity] = {scope: [] for scope in scopes}
        for row in by_spark[identity]:
            found[identity][json.loads(row["scope"])["group_id"]].append(row)
    return found


@pytest.fixture(scope="module")
def source(subject: Subject, tmp_path_factory: pytest.TempPathFactory) -> Data:
    """The same tables for DuckDB."""
    folder = tmp_path_factory.mktemp("tables")
    subject.tables.write(folder)
    return Data(folder, subject.tables.schemas)


def test_spark_agrees_with_tlc(subject: Subject, oracle: Verdicts, rows: Rows) -> None:
    """No verdict differs, and every definition is true and false often enough to tell."""
    said: Counter[tuple[str, bool | None]] = Counter()
    wrong = []
    for each in subject.module.definitions:
        if each.mark.kind == "decision":
            continue
        for name, trace in subject.traces.items():
            for position, verdict in _by_position(each.mark.kind, rows[each.mark.id][name], trace).items():
                said[each.mark.id, verdict] += 1
                if verdict is not oracle[each.mark.id, name, position]:
                    wrong.append((each.mark.id, name, position, verdict))
    assert wrong == []
    rare = [
        (identity, value, said[identity, value])
        for identity in subject.judged_ids
        for value in (True, False)
        if said[identity, value] < 0.05 * (said[identity, True] + said[identity, False])
    ]
    assert rare == []


def test_evaluator_agrees_with_tlc(subject: Subject, oracle: Verdicts) -> None:
    """The representation means what the source means."""
    assert _by_place(by_evaluator(subject.module, subject.traces), subject.traces) == oracle


@pytest.fixture(scope="module")
def decided(subject: Subject, by_spark: dict[str, list[Row]]) -> dict[str, dict[str, Any]]:
    """Decision -> identity of a record -> what the emitted SQL gives for it on Spark."""
    return {
        each.mark.id: {row["subject"]: row["outcome"] for row in by_spark[each.mark.id]}
        for each in subject.module.definitions
        if each.mark.kind == "decision"
    }


def test_decisions_agree_with_the_evaluator(subject: Subject, decided: dict[str, dict[str, Any]]) -> None:
    """Each gives for every record of its set, and for no other, what its formula gives."""
    answers: Counter[tuple[str, Any]] = Counter()
    for each in (each for each in subject.module.definitions if each.mark.id in decided):
        parameter, expected = each.definition.parameters[0].uid, {}
        for name, trace in subject.traces.items():
            for index, state in enumerate(trace):
                for number, record in enumerate(state[each.mark.records]):
                    value = evaluate(each.body, state, None, {parameter: record})
                    expected[f"{name}/{index}/{number}"] = value
                    answers[each.mark.id, value] += 1
        whole = {which: value for which, value in decided[each.mark.id].items() if "#" not in which}
        assert whole == expected, each.mark.id
    assert min(answers.values()) > 20
    assert {identity: n for identity, n in Counter(i for i, _ in answers).items() if n < 2} == {}


def test_duckdb_decides_as_spark_does(
    subject: Subject, decided: dict[str, dict[str, Any]], by_spark: dict[str, list[Row]], source: Data
) -> None:
    """Also of the records of which evidence is missing."""
    for each in subject.module.in_dialect("duckdb").definitions:
        if each.mark.id in decided:
            found = source.rows(each.sql)
            said = {row["subject"]: row["outcome"] for row in found}
            assert said == decided[each.mark.id], each.mark.id
            why = {row["subject"]: row["reason"] for row in found}
            assert why == {row["subject"]: row["reason"] for row in by_spark[each.mark.id]}, each.mark.id
            assert [row for row in found if (row["outcome"] is None) == (row["reason"] is None)] == []


def test_removed_evidence_never_changes_a_decision(decided: dict[str, dict[str, Any]]) -> None:
    """What was decided is decided alike or not at all, of truths, texts and numbers."""
    for identity, said in decided.items():
        left: Counter[bool] = Counter()
        for which, value in said.items():
            name, lost, rest = which.partition("#")
            if lost:
                before = said[f"{name}/{rest.partition('/')[2]}"]
                assert value in (before, None), (identity, which)
                left[value is None] += 1
        assert min(left[True], left[False]) > 20, identity


def test_one_pass_says_the_same(subject: Subject, source: Data) -> None:
    """Several definitions over one table, judged together, have the rows that each has alone. DuckDB says it,
    which plans faster; Spark judges in passes above.
    """
    module = subject.module.in_dialect("duckdb")
    alone = {each.mark.id: each.sql for each in module.definitions}
    assert module.passes
    for each in module.passes:
        together: dict[str, list[str]] = {identity: [] for identity in each.ids}
        for row in map(dict, source.rows(each.sql)):
            together[row.pop("definition")].append(str(row))
        for identity, said in together.items():
            own = [str(row) for row in source.rows(alone[identity])]
            assert sorted(said) == sorted(own) != [], identity


def test_stored_traces_do_what_they_say(subject: Subject, rows: Rows) -> None:
    """``holds`` exercises its definition and breaks it nowhere, ``violated`` breaks it and says how."""
    module = subject.module
    stored = [name for name in subject.traces if not name.startswith("random")]
    conjuncts = {each.mark.id: each.conjuncts for each in module.definitions}
    assert len(stored) == (2 * len(subject.judged_ids) if module.name == "OffsetCommitProps" else 0)
    for name in stored:
        identity, ending = name.split("/")
        own = rows[identity][name]
        assert any(row["exercised"] for row in own), name
        broken = [row for row in own if row["verdict"] is False]
        assert bool(broken) is (ending == "violated"), name
        for row in broken:
            assert row["failed_conjunct"] in conjuncts[identity]
            assert None not in json.loads(row["observed"]).values()
            assert None not in json.loads(row["witness"]).values()


def test_a_conjunct_is_named_exactly_where_it_fails(rows: Rows) -> None:
    """No verdict but a violated one cites a conjunct."""
    every = [row for by_scope in rows.values() for own in by_scope.values() for row in own]
    assert {row["failed_conjunct"] is not None for row in every if row["verdict"] is False} == {True}
    assert {row["failed_conjunct"] is None for row in every if row["verdict"] is not False} == {True}


def test_what_is_unknown_says_why_and_nothing_else(subject: Subject, rows: Rows, source: Data) -> None:
    """DuckDB gives the same reasons as Spark."""
    for each in subject.module.in_dialect("duckdb").definitions:
        if each.mark.id not in rows:
            continue
        by_spark = [row for own in rows[each.mark.id].values() for row in own]
        assert [row for row in by_spark if (row["verdict"] is None) == (row["reason"] is None)] == []
        found = source.rows(each.sql)
        assert Counter(map(_reason, found)) == Counter(map(_reason, by_spark)), each.mark.id


def _reason(row: Row | Mapping[str, Any]) -> tuple[Any, ...]:
    return row["scope"], row["witness"], row["from_position"], row["verdict"], row["reason"]


def test_removed_evidence_never_flips_a_verdict(subject: Subject, rows: Rows) -> None:
    """Less evidence may make a verdict unknown; it never turns holds into violated or back."""
    flipped = []
    left: Counter[tuple[str, bool | None]] = Counter()
    for each in subject.module.definitions:
        if each.mark.kind == "decision":
            continue
        by_scope = rows[each.mark.id]
        for name, trace in subject.traces.items():
            known = _known(each.mark.kind, by_scope[name], trace)
            for number in range(REMOVALS):
                remaining = by_scope[f"{name}#{number}"]
                step = each.mark.kind == "step"
                parted = [row for row in remaining if step and _begins_unseen(row, remaining)]
                fewer = _known(each.mark.kind, [row for row in remaining if row not in parted], trace)
                fewer |= {row["from_position"]: False for row in parted if not _falls_within(row, known)}
                for which, verdict in fewer.items():
                    left[each.mark.id, verdict] += 1
                    if verdict is not None and verdict is not known[which]:
                        flipped.append((each.mark.id, name, number, which, verdict))
    assert flipped == []
    assert [(i, v) for i in subject.judged_ids for v in (True, False, None) if left[i, v] < 20] == []


def _by_position(kind: str, rows: list[Row], trace: Trace) -> dict[int, bool | None]:
    """The verdict of each state, or of the step into each state but the first."""
    found = {}
    for state in trace if kind == "invariant" else trace[1:]:
        position = state["position"]
        found[position] = kleene(
            row["verdict"]
            for row in rows
            if (_speaks_of_step(row, position) if kind == "step" else _covers(row, position))
        )
    return found


def _covers(row: Row, position: int) -> bool:
    begin, end = row["from_position"], row["to_position"]
    return (begin is None or begin <= position) and (end is None or position < end)


def _speaks_of_step(row: Row, position: int) -> bool:
    """A step is judged where it happens; what is not covered is unknown throughout."""
    return row["from_position"] == position or (row["verdict"] is None and _covers(row, position))


def _begins_unseen(row: Row, rows: list[Row]) -> bool:
    """Whether a row says of two states with a gap between them that no way leads from one to the other."""
    begin = row["from_position"]
    unseen = (each for each in rows if each["witness"] is None and each["verdict"] is None)
    return row["verdict"] is False and begin is not None and any(_covers(each, begin) for each in unseen)


def _falls_within(row: Row, known: dict[int | str, bool | None]) -> bool:
    return any(verdict is False and _covers(row, int(at)) for at, verdict in known.items())


def _known(kind: str, rows: list[Row], trace: Trace) -> dict[int | str, bool | None]:
    """Verdicts by position, or by record: one that lost its states has no position."""
    records = {_record(row): row["verdict"] for row in rows if _record(row) is not None}
    return {str(which): verdict for which, verdict in records.items()} or {**_by_position(kind, rows, trace)}


def _record(row: Row) -> str | None:
    """``<state>/<number>`` of a record, the same in a trace and where evidence was taken from it."""
    witness = list(json.loads(row["witness"] or "{}").values())
    parts = str(witness[0]).rsplit("/", 2) if len(witness) == 1 else []
    return "/".join(parts[1:]) if len(parts) == 3 else None
