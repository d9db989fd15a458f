"""A manifest says each run of TLC as a difference from another, and one that says nonsense is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fencepost.spec.manifest import Run, runs

SPEC = Path(__file__).resolve().parents[2] / "spec"
BASE = {
    "specification": "Spec",
    "constants": {
        "Members": ["m1", "m2"],
        "Sizes": [1, 2],
        "Leader": {"model": "m1"},
        "Rule": "strict",
        "Bound": 2,
    },
    "constraints": ["Bounded"],
    "symmetry": "Symmetry",
    "invariants": ["TypeOK", "Safe"],
    "properties": ["Steps"],
}
SEEN = {"module": "M", "states": 2, "distinct": 1, "seconds": 0.1}
MODEL = {"kind": "model", "name": "shipped", "about": "As shipped.", "base": "Base", **SEEN}
FAULT = {"kind": "mutant", "name": "RuleForgotten", "base": "shipped", "invariants": ["Safe"], **SEEN}

CONFIGURATION = """\
\\* As shipped.
SPECIFICATION Spec
CONSTANTS
    Members = {m1, m2}
    Sizes = {1, 2}
    Leader = m1
    Rule = "strict"
    Bound = 3
    Late = TRUE
CONSTRAINTS
    Bounded
CHECK_DEADLOCK FALSE
INVARIANTS
    TypeOK
PROPERTIES
    Steps
    Ends
"""


def read(folder: Path, *entries: dict[str, Any]) -> list[Run]:
    text = json.dumps({"bases": {"Base": BASE}, "runs": entries})
    (folder / "manifest.json").write_text(text, encoding="utf-8")
    return runs(folder)


def test_a_configuration_has_what_the_run_and_its_bases_say(tmp_path: Path) -> None:
    model = {
        **MODEL,
        "constants": {"Bound": 3, "Late": True},
        "without": ["Safe"],
        "also": {"properties": ["Ends"]},
        "symmetry": None,
    }
    (tmp_path / "M.tla").write_text(
        "\\* It answers as if\n\\* it had none.\nRuleForgotten(q) == TRUE\n", encoding="utf-8"
    )
    shipped, fault = read(tmp_path, model, {**FAULT, "overrides": {"Admits": "RuleForgotten"}})
    assert shipped.violates is None
    assert shipped.configuration() == CONFIGURATION
    assert (fault.violates, fault.definition, fault.properties) == ("Safe", "Safe", [])
    assert fault.about == "It answers as if it had none."
    assert "    Late = TRUE\n    Admits <- RuleForgotten\n" in fault.configuration()


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({**MODEL, "base": "Bace"}, "shipped: Bace is no base and no run"),
        ({**MODEL, "kind": "modle"}, "shipped: `kind` is one of model, finding, mutant, twin"),
        ({**MODEL, "withuot": ["Safe"]}, "shipped: .*withuot"),
        ({**MODEL, "without": ["Sefe"]}, "shipped: `without` names Sefe, which Base has not"),
        (
            {**FAULT, "base": "Base", "about": "", "properties": ["Steps"]},
            "RuleForgotten: a mutant lists one",
        ),
        (
            {**FAULT, "base": "Base"},
            "RuleForgotten: neither `about` nor a comment above its operator in M.tla",
        ),
    ],
)
def test_an_entry_that_says_nonsense_is_refused(tmp_path: Path, entry: dict[str, Any], said: str) -> None:
    (tmp_path / "M.tla").write_text("", encoding="utf-8")
    with pytest.raises(ValueError, match=r"manifest\.json: " + said):
        read(tmp_path, entry)


def test_one_run_is_printed_by_its_name() -> None:
    (run,) = (each for each in runs(SPEC / "producer_epoch") if each.name == "AnswersByTheProposal")
    printed = [
        subprocess.run(
            [sys.executable, "-m", "fencepost.spec", "cfg", name], capture_output=True, text=True, check=False
        )
        for name in ("producer_epoch/AnswersByTheProposal", "AnswersByTheProposal")
    ]
    assert [each.returncode for each in printed] == [0, 1]
    assert printed[0].stdout == run.configuration()
    assert "one of ownership_claim/AnswersByTheProposal, producer_epoch/AnswersBy" in printed[1].stderr
