"""For every marked definition everything exists that makes it worth trusting, and useful at night."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from fencepost.definitions import modules
from fencepost.spec.manifest import Run, runs
from fencepost.spec.manifest import read as read_manifest
from fencepost.spec.readme import GENERATED, readme

ROOT = Path(__file__).resolve().parents[2]
MARK = re.compile(
    r"(?P<prose>(?:^\\\*.*\n)*)^\\\* @(?P<kind>invariant|step|decision)\(\"(?P<id>\w+)\".*\n"
    r"(?P<name>\w+)(?:\(\w+\))? ==(?P<formula>(?: .+\n|\n(?= ))+)",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Protocol:
    """A folder of the specification, read once. ``source``: the text of all its modules."""

    folder: Path
    source: str
    runs: tuple[Run, ...]

    def healthy(self) -> list[Run]:
        """The models: everything holds that they list."""
        return [each for each in self.runs if each.kind == "model"]


@dataclass(frozen=True)
class Marked:
    """A marked definition as its source has it."""

    protocol: Protocol
    kind: str
    id: str
    name: str
    prose: str
    formula: str

    def violated_by(self, kind: str) -> set[str | None]:
        """What the runs of this kind violate that are about this definition."""
        return {
            each.violates for each in self.protocol.runs if each.kind == kind and each.definition == self.name
        }


def read(folder: Path) -> Protocol:
    modules = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.tla"))]
    return Protocol(folder, "\n".join(modules), tuple(runs(folder)))


PROTOCOLS = [read(path.parent) for path in sorted((ROOT / "spec").glob("*/manifest.json"))]
MARKED = [
    Marked(each, found["kind"], found["id"], found["name"], found["prose"], found["formula"])
    for each in PROTOCOLS
    for found in MARK.finditer(each.source)
]
CHECKED = [each for each in MARKED if each.kind != "decision"]


def ident(value: Protocol | Marked) -> str:
    match value:
        case Protocol(folder=folder):
            return folder.name
        case Marked(protocol=protocol, id=identifier):
            return f"{protocol.folder.name}-{identifier}"


def test_every_protocol_is_here() -> None:
    folders = {path.name for path in (ROOT / "spec").iterdir() if path.is_dir()}
    assert {each.folder.name for each in PROTOCOLS} == folders == modules().keys()


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
def test_its_violation_has_words_for_people(marked: Marked) -> None:
    """A report says: <the words>: <who>."""
    words = re.findall(r'@violated\("(.*)"\)', marked.prose)
    assert len(words) == (marked.kind != "decision")
    assert all(re.fullmatch(r"[a-z][^:.]{10,90}", each) for each in words)


@pytest.mark.parametrize("marked", MARKED, ids=ident)
def test_what_its_prose_refers_to_exists(marked: Marked) -> None:
    models = {each.name for each in marked.protocol.runs}
    assert set(re.findall(r"\b(MC\w+_\w+)", marked.prose)) <= models


@pytest.mark.parametrize("marked", CHECKED, ids=ident)
def test_a_broken_model_violates_it(marked: Marked) -> None:
    assert marked.violated_by("mutant")


@pytest.mark.parametrize("marked", CHECKED, ids=ident)
def test_the_healthy_model_reaches_what_it_speaks_of(marked: Marked) -> None:
    assert marked.violated_by("twin") == {f"{marked.name}Reach"}


@pytest.mark.parametrize("marked", CHECKED, ids=ident)
def test_a_model_checks_it_and_it_holds(marked: Marked) -> None:
    listed = {name for run in marked.protocol.healthy() for name in (*run.invariants, *run.properties)}
    assert listed & {marked.name, f"{marked.name}Prop"}


@pytest.mark.parametrize(
    ("folder", "constant", "values", "safe"),
    [
        (
            *("offset_commit", "Rule"),
            {"generation", "strict", "member_revocation", "partition_revocation", "assignment_epoch"},
            "NoZombieAccepted",
        ),
        (
            *("producer_epoch", "Release"),
            {"kip_360", "3.9", "4.0", "4.1", "4.2", "4.3"},
            "StaleEpochNeverBumped",
        ),
    ],
)
def test_a_coordinator_with_each_rule_lets_no_zombie_through(
    folder: str, constant: str, values: set[str], safe: str
) -> None:
    (protocol,) = (each for each in PROTOCOLS if each.folder.name == folder)
    assert values <= {each.constants.get(constant) for each in protocol.healthy() if safe in each.invariants}


@pytest.mark.parametrize("marked", CHECKED, ids=ident)
def test_a_trace_satisfies_it_and_a_planted_violation_breaks_it(marked: Marked) -> None:
    path = marked.protocol.folder / "traces" / f"{marked.id}.json"
    traces = json.loads(path.read_text(encoding="utf-8"))
    assert list(traces) == ["holds", "violated"]
    for trace in traces.values():
        positions = [state["position"] for state in trace["states"]]
        assert trace["about"]
        assert 2 <= len(positions) <= 5
        assert positions == sorted(set(positions))


@pytest.mark.parametrize("marked", CHECKED, ids=ident)
def test_the_person_on_call_has_a_page(marked: Marked) -> None:
    page = (ROOT / "docs" / "invariants" / f"{marked.id}.md").read_text(encoding="utf-8")
    assert "Where it does not hold" in page
    assert "On call" in page


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=ident)
def test_the_tables_of_its_readme_are_current(protocol: Protocol) -> None:
    written = (protocol.folder / "README.md").read_text(encoding="utf-8")
    assert written == readme(protocol.folder), "`make compile` writes the tables"


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=ident)
def test_what_its_readme_refers_to_exists(protocol: Protocol) -> None:
    """Names of models lack their beginning there; the beginning of several models' names stands for them."""
    told = (protocol.folder / "README.md").read_text(encoding="utf-8").partition(GENERATED)[0]
    models = {re.sub(r"^MC[A-Za-z]+_", "", each.name) for each in protocol.runs}
    known = models | {each.name for each in protocol.runs} | {each.id for each in MARKED}
    known |= {protocol.folder.name, "moved_within_current_epoch"}
    named = re.findall(r"`(MC\w+_\w+|[a-z0-9]+(?:_[a-z0-9]+)+)`", told)
    assert [name for name in named if not any(each.startswith(name) for each in known)] == []


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=ident)
def test_every_planted_fault_is_run(protocol: Protocol) -> None:
    defined = {
        (path.stem, name)
        for path in protocol.folder.glob("Broken*.tla")
        for name in re.findall(r"^(\w+)(?:\([^)]*\))? ==", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    used = {(each.module, name) for each in protocol.runs for name in each.overrides.values()}
    helpers = {("BrokenOffsetCommit", "Reaches")}
    assert defined - helpers == used


@pytest.mark.parametrize("path", sorted((ROOT / "spec").glob("*/*Observed.tla")), ids=lambda path: path.stem)
def test_every_step_of_the_behaviour_is_observed(path: Path) -> None:
    """TLC would not miss one: it follows what is observed."""
    observed = path.read_text(encoding="utf-8")
    behaviour = path.with_name(path.name.replace("Observed", "")).read_text(encoding="utf-8")
    (steps,) = re.findall(r"^Next ==\n((?: .+\n)+)", behaviour, re.MULTILINE)
    named = {
        name for name in re.findall(r"\w+", steps) if re.search(rf"^{name}\b.* ==", behaviour, re.MULTILINE)
    }
    assert len(named) > 3
    assert {name for name in named if not re.search(rf"\b{name}\b", observed)} == set()


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=ident)
def test_of_each_bound_it_is_said_what_it_hides(protocol: Protocol) -> None:
    manifest = read_manifest(protocol.folder)
    constants = {
        name: value for base in manifest["bases"].values() for name, value in base["constants"].items()
    }
    bounds = {name for name, value in constants.items() if isinstance(value, list) or type(value) is int}
    assert manifest["bounds"].keys() == bounds


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=ident)
def test_a_folder_can_be_looked_over(protocol: Protocol) -> None:
    """Beyond this, only the manifest could say what is there."""
    files = [path for path in protocol.folder.rglob("*") if path.is_file()]
    assert len(files) <= 100


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=ident)
def test_no_name_stands_for_two_runs_or_bases(protocol: Protocol) -> None:
    names = [*read_manifest(protocol.folder)["bases"], *(each.name for each in protocol.runs)]
    assert len(set(names)) == len(names)
