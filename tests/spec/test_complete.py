"""For every marked definition everything exists that makes it worth trusting, and useful at night."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
MARK = re.compile(
    r"(?P<prose>(?:^\\\*.*\n)*)^\\\* @(?P<kind>invariant|step|decision)\(\"(?P<id>\w+)\".*\n"
    r"(?P<name>\w+)(?:\(\w+\))? ==(?P<formula>(?: .+\n|\n(?= ))+)",
    re.MULTILINE,
)
# the section of each protocol, by the name of its folder
SECTIONS = {
    text.partition("/")[0]: text
    for text in (ROOT / "spec" / "README.md").read_text(encoding="utf-8").split("\n## `")[1:]
}


@dataclass(frozen=True)
class Protocol:
    """A folder of the specification, read once."""

    folder: Path
    source: str
    runs: tuple[dict[str, Any], ...]

    @property
    def readme(self) -> str:
        return SECTIONS[self.folder.name]

    def healthy(self) -> list[str]:
        """The configurations of the models in which everything holds that they list."""
        found = [each for each in self.runs if each["kind"] == "model" and each["result"] == "success"]
        return [(self.folder / each["cfg"]).read_text(encoding="utf-8") for each in found]


@dataclass(frozen=True)
class Marked:
    """A marked definition as its source has it."""

    protocol: Protocol
    kind: str
    id: str
    name: str
    prose: str
    formula: str

    def violated_by(self, kind: str) -> list[str]:
        """What the runs of this kind violate that are about this definition."""
        found = [
            each for each in self.protocol.runs if each["kind"] == kind and each["definition"] == self.id
        ]
        return [each["violates"] for each in found]


@dataclass(frozen=True)
class Run:
    """A run of TLC as the manifest has it."""

    protocol: Protocol
    entry: dict[str, Any]

    @property
    def states(self) -> str:
        """Distinct states; of a temporal property TLC stops at no certain one."""
        return "–" if self.entry["distinct"] is None else f"{self.entry['distinct']:,}"


def read(folder: Path) -> Protocol:
    (props,) = folder.glob("*Props.tla")
    runs = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["runs"]
    return Protocol(folder, props.read_text(encoding="utf-8"), tuple(runs))


PROTOCOLS = [read(path.parent) for path in sorted((ROOT / "spec").glob("*/manifest.json"))]
MARKED = [
    Marked(each, found["kind"], found["id"], found["name"], found["prose"], found["formula"])
    for each in PROTOCOLS
    for found in MARK.finditer(each.source)
]
CHECKED = [each for each in MARKED if each.kind != "decision"]
RUNS = [Run(each, entry) for each in PROTOCOLS for entry in each.runs]
FINDINGS = [run for run in RUNS if run.entry["kind"] in ("model", "finding")]
MUTANTS = [run for run in RUNS if run.entry["kind"] == "mutant"]


def ident(value: Protocol | Marked | Run) -> str:
    match value:
        case Protocol(folder=folder):
            return folder.name
        case Marked(protocol=protocol, id=identifier):
            return f"{protocol.folder.name}-{identifier}"
        case Run(protocol=protocol, entry=entry):
            return f"{protocol.folder.name}-{entry['cfg']}"


def test_every_protocol_is_here() -> None:
    folders = {path.name for path in (ROOT / "spec").iterdir() if path.is_dir()}
    assert {each.folder.name for each in PROTOCOLS} == folders == SECTIONS.keys()


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=ident)
def test_every_mark_was_found(protocol: Protocol) -> None:
    found = [each for each in MARKED if each.protocol is protocol]
    assert len(found) == len(re.findall(r"@(?:invariant|step|decision)\(", protocol.source))
    assert {each.kind for each in found} == {"invariant", "step", "decision"}


def test_no_id_and_no_name_stands_for_two_definitions() -> None:
    assert len({each.id for each in MARKED}) == len(MARKED)
    assert len({each.name for each in MARKED}) == len(MARKED)


@pytest.mark.parametrize("marked", MARKED, ids=ident)
def test_it_has_a_formula_and_prose_in_three_paragraphs(marked: Marked) -> None:
    assert marked.formula.strip()
    meaning, limits, on_call = re.split(r"^\\\*\n", marked.prose, flags=re.MULTILINE)
    assert len(meaning.split()) > 10
    assert limits.startswith(r"\* Where it does not hold: ")
    assert on_call.startswith(r"\* On call: ")


@pytest.mark.parametrize("marked", MARKED, ids=ident)
def test_what_its_prose_refers_to_exists(marked: Marked) -> None:
    folder = marked.protocol.folder
    for name in re.findall(r"\b(MC\w+_\w+)", marked.prose):
        assert (folder / f"{name}.cfg").is_file()


@pytest.mark.parametrize("marked", CHECKED, ids=ident)
def test_a_broken_model_violates_it(marked: Marked) -> None:
    names = (marked.name, f"{marked.name}Prop")
    assert any(violated in names for violated in marked.violated_by("mutant"))


@pytest.mark.parametrize("marked", CHECKED, ids=ident)
def test_the_healthy_model_reaches_what_it_speaks_of(marked: Marked) -> None:
    assert marked.violated_by("twin") == [f"{marked.name}Reach"]


@pytest.mark.parametrize("marked", CHECKED, ids=ident)
def test_a_model_checks_it_and_it_holds(marked: Marked) -> None:
    listed = re.compile(rf"^    {marked.name}(Prop)?$", re.MULTILINE)
    assert any(listed.search(text) for text in marked.protocol.healthy())


@pytest.mark.parametrize(
    ("folder", "rule", "safe"),
    [
        ("offset_commit", "generation", "NoZombieAccepted"),
        ("offset_commit", "strict", "NoZombieAccepted"),
        ("offset_commit", "member_revocation", "NoZombieAccepted"),
        ("offset_commit", "partition_revocation", "NoZombieAccepted"),
        ("offset_commit", "assignment_epoch", "NoZombieAccepted"),
        ("producer_epoch", "kip_360", "StaleEpochNeverBumped"),
        ("producer_epoch", "shipped", "StaleEpochNeverBumped"),
    ],
)
def test_a_coordinator_with_each_rule_lets_no_zombie_through(folder: str, rule: str, safe: str) -> None:
    (protocol,) = (each for each in PROTOCOLS if each.folder.name == folder)
    assert any(f'    Rule = "{rule}"\n' in text and f"\n    {safe}\n" in text for text in protocol.healthy())


@pytest.mark.parametrize("marked", CHECKED, ids=ident)
def test_a_trace_satisfies_it_and_a_planted_violation_breaks_it(marked: Marked) -> None:
    for verdict in ("holds", "violated"):
        path = marked.protocol.folder / "traces" / marked.id / f"{verdict}.json"
        trace = json.loads(path.read_text(encoding="utf-8"))
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
    assert f"| `{marked.id}` | `{marked.name}` |" in marked.protocol.readme


@pytest.mark.parametrize("listed", FINDINGS, ids=ident)
def test_the_readme_states_what_tlc_found(listed: Run) -> None:
    found = listed.entry
    said = f"violates `{found['violates']}`" if found["violates"] else "holds"
    assert f"| `{found['cfg']}` | {said} | {listed.states} |" in listed.protocol.readme


@pytest.mark.parametrize("listed", MUTANTS, ids=ident)
def test_the_readme_lists_every_planted_fault(listed: Run) -> None:
    found = listed.entry
    row = f"| `{found['cfg']}` | `{found['violates']}` | {listed.states} | {found['about']} |"
    assert row in listed.protocol.readme
