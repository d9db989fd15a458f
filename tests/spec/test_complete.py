"""For every marked definition everything exists that makes it worth trusting, and useful at night."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SPEC = ROOT / "spec" / "offset_commit"
MARK = re.compile(
    r"(?P<prose>(?:^\\\*.*\n)*)^\\\* @(?P<kind>invariant|step|decision)\(\"(?P<id>\w+)\".*\n"
    r"(?P<name>\w+)(?:\(\w+\))? ==(?P<formula>(?: .+\n|\n(?= ))+)",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Marked:
    """A marked definition as its source has it."""

    kind: str
    id: str
    name: str
    prose: str
    formula: str


SOURCE = (SPEC / "OffsetCommitProps.tla").read_text(encoding="utf-8")
MARKED = [
    Marked(found["kind"], found["id"], found["name"], found["prose"], found["formula"])
    for found in MARK.finditer(SOURCE)
]
CHECKED = [each for each in MARKED if each.kind != "decision"]
RUNS = json.loads((SPEC / "manifest.json").read_text(encoding="utf-8"))["runs"]
FINDINGS = [run for run in RUNS if run["kind"] in ("model", "finding")]
MUTANTS = [run for run in RUNS if run["kind"] == "mutant"]
README = (ROOT / "spec" / "README.md").read_text(encoding="utf-8")


def ident(marked: Marked) -> str:
    return marked.id


def runs_of(kind: str, marked: Marked) -> list[str]:
    return [run["violates"] for run in RUNS if run["kind"] == kind and run["definition"] == marked.id]


def test_every_mark_was_found() -> None:
    assert len(MARKED) == len(re.findall(r"@(?:invariant|step|decision)\(", SOURCE))
    assert len({each.id for each in MARKED}) == len(MARKED)
    assert {each.kind for each in MARKED} == {"invariant", "step", "decision"}


@pytest.mark.parametrize("marked", MARKED, ids=ident)
def test_it_has_a_formula_and_prose_in_three_paragraphs(marked: Marked) -> None:
    assert marked.formula.strip()
    meaning, limits, on_call = re.split(r"^\\\*\n", marked.prose, flags=re.MULTILINE)
    assert len(meaning.split()) > 10
    assert limits.startswith(r"\* Where it does not hold: ")
    assert on_call.startswith(r"\* On call: ")


@pytest.mark.parametrize("marked", CHECKED, ids=ident)
def test_a_broken_model_violates_it(marked: Marked) -> None:
    assert any(violated in (marked.name, f"{marked.name}Prop") for violated in runs_of("mutant", marked))


@pytest.mark.parametrize("marked", CHECKED, ids=ident)
def test_the_healthy_model_reaches_what_it_speaks_of(marked: Marked) -> None:
    assert runs_of("twin", marked) == [f"{marked.name}Reach"]


@pytest.mark.parametrize("marked", CHECKED, ids=ident)
def test_a_model_checks_it_and_it_holds(marked: Marked) -> None:
    healthy = [SPEC / run["cfg"] for run in RUNS if run["kind"] == "model" and run["result"] == "success"]
    listed = re.compile(rf"^    {marked.name}(Prop)?$", re.MULTILINE)
    assert any(listed.search(cfg.read_text(encoding="utf-8")) for cfg in healthy)


@pytest.mark.parametrize("rule", ["generation", *(each.id for each in MARKED[:4])])
def test_a_coordinator_with_each_policy_accepts_no_zombie(rule: str) -> None:
    healthy = [run for run in RUNS if run["kind"] == "model" and run["result"] == "success"]
    texts = [(SPEC / run["cfg"]).read_text(encoding="utf-8") for run in healthy]
    assert any(f'    Rule = "{rule}"\n' in text and "\n    NoZombieAccepted\n" in text for text in texts)


@pytest.mark.parametrize("marked", CHECKED, ids=ident)
def test_a_trace_satisfies_it_and_a_planted_violation_breaks_it(marked: Marked) -> None:
    for verdict in ("holds", "violated"):
        trace = json.loads((SPEC / "traces" / marked.id / f"{verdict}.json").read_text(encoding="utf-8"))
        positions = [state["position"] for state in trace["states"]]
        assert trace["about"]
        assert 2 <= len(positions) <= 5
        assert positions == sorted(set(positions))


@pytest.mark.parametrize("marked", CHECKED, ids=ident)
def test_the_person_on_call_has_a_page(marked: Marked) -> None:
    page = (ROOT / "docs" / "invariants" / f"{marked.id}.md").read_text(encoding="utf-8")
    assert "Where it does not hold" in page
    assert "On call" in page


@pytest.mark.parametrize("marked", MARKED, ids=ident)
def test_the_readme_lists_it(marked: Marked) -> None:
    assert f"| `{marked.id}` | `{marked.name}` |" in README


@pytest.mark.parametrize("run", FINDINGS, ids=[run["cfg"] for run in FINDINGS])
def test_the_readme_states_what_tlc_found(run: dict[str, object]) -> None:
    said = f"violates `{run['violates']}`" if run["violates"] else "holds"
    assert f"| `{run['cfg']}` | {said} | {run['distinct']:,} |" in README


@pytest.mark.parametrize("run", MUTANTS, ids=[run["cfg"] for run in MUTANTS])
def test_the_readme_lists_every_planted_fault(run: dict[str, object]) -> None:
    assert f"| `{run['cfg']}` | `{run['violates']}` | {run['distinct']:,} | {run['about']} |" in README
