"""The wheel works alone, with what an extra of it requires: outside the checkout, without network."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from extras_of import ROOT, requirements

Environment = Callable[[str], Path]

CAPTURE = "troubled-4.3.1"
HEAVY = {
    "airflow",
    "dbt",
    "duckdb",
    "great_expectations",
    "matplotlib",
    "pandas",
    "pyspark",
    "scipy",
    "sqlglot",
}


@pytest.fixture
def folder(captures: Path, tmp_path: Path) -> Path:
    """A folder with logs and nothing else."""
    shutil.copytree(captures / CAPTURE / "broker-1", tmp_path / "broker-1")
    return tmp_path


@pytest.mark.wheel
def test_a_collector_needs_no_extra_and_others_say_what_they_need(
    environment: Environment, folder: Path
) -> None:
    of_base = environment("")
    assert "Wrote a.toml" in _run(of_base, folder, "init", "broker-1", "--out", "a.toml").stdout
    assert re.search(
        r"collected: files \d+, rows \d", _run(of_base, folder, "collect", "--config", "a.toml").stdout
    )
    said = _run(of_base, folder, "doctor", "--config", "a.toml").stdout
    assert "needs `pip install 'fencepost[spark]'`" in said
    for command in (["audit"], ["report"], ["sql", "SELECT 1"], ["completion", "bash"]):
        config = [] if command[0] == "completion" else ["--config", "a.toml"]
        done = _run(of_base, folder, *command, *config, code=2)
        assert re.fullmatch(
            r"fencepost: \S.* needs `pip install 'fencepost\[spark\]'` \(.*\)\.\n", done.stderr
        ), done
    shared = '[lake]\nwarehouse = "here"\n'
    shared += '[lake.catalog_properties]\ntype = "jdbc"\nuri = "jdbc:postgresql://127.0.0.1:1/lake"\n'
    (folder / "b.toml").write_text(shared + (folder / "a.toml").read_text())
    assert (
        "pip install 'fencepost[collect]'"
        in _run(of_base, folder, "collect", "--config", "b.toml", code=2).stderr
    )
    airflow = [str(of_base / "bin" / "python"), "-m", "fencepost.airflow_env", "standalone"]
    done = subprocess.run(airflow, capture_output=True, text=True, check=False, cwd=folder)
    assert "Airflow needs `pip install 'fencepost[airflow]'`" in done.stderr
    site = Path(sysconfig.get_path("purelib", vars={"base": str(of_base)}))
    assert not HEAVY & {each.name for each in site.iterdir()}


@pytest.mark.wheel
def test_an_audit_runs_where_no_checkout_is(environment: Environment, folder: Path) -> None:
    of_audit = environment("spark")
    _run(of_audit, folder, "init", "broker-1", "--name", CAPTURE, "--out", "a.toml")
    # in this process it needs neither Java nor jars
    without = {"FENCEPOST_JARS": str(folder), "JAVA_HOME": str(folder)}
    audit = _run(of_audit, folder, "audit", "--config", "a.toml", code=1, **without)
    assert "FAILED: no_commit_for_anothers_partition" in audit.stdout, audit
    assert "7 incidents" in _run(of_audit, folder, "report", "--config", "a.toml").stdout
    violated = "invariant = 'no_zombie_accepted' AND verdict = 'violated'"
    query = f"SELECT verdict_id FROM marts.fct_invariant_verdicts WHERE {violated}"
    printed = _run(of_audit, folder, "sql", query, "--format", "csv", "--config", "a.toml").stdout
    explained = _run(
        of_audit, folder, "explain", printed.split()[1], "--confirm", "--config", "a.toml"
    ).stdout
    assert "TLC confirms it" in explained
    _run(of_audit, folder, "plot", "zombie-current-epoch", "--out", "a.svg", "--config", "a.toml")
    assert (folder / "a.svg").read_text().startswith("<?xml")


@pytest.mark.wheel
def test_the_wheel_has_what_is_read_at_run_time(environment: Environment) -> None:
    site = Path(sysconfig.get_path("purelib", vars={"base": str(environment(""))}))
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    of_project = ("dbt/", "dags/", "expectations/", "spec/", "requirements/jars.lock")
    expected = {
        Path("fencepost/project" if name.startswith(of_project) else "", name.removeprefix("spark/"))
        for name in listed.splitlines()
        if name.startswith((*of_project, "spark/"))
        and not name.endswith((".md", ".sqlfluff"))
        and (ROOT / name).exists()
    }
    found = {file.relative_to(site) for name in ("fencepost", "tlasql") for file in (site / name).rglob("*")}
    assert expected - found == set()


def test_the_ranges_hold_the_pins() -> None:
    """Each package of the extras is pinned within its range; each that python.in chooses has a range."""
    pins = dict(
        re.findall(r"^([\w.-]+)==(\S+) \\$", (ROOT / "requirements/python.txt").read_text(), re.MULTILINE)
    )
    ranges = requirements("airflow")
    assert [str(each) for each in ranges if pins[each.name] not in each.specifier] == []
    chosen, _, _ = (ROOT / "requirements/python.in").read_text().partition("# What its tests")
    names = set(re.findall(r"^([\w-]+)", chosen, re.MULTILINE)) - {"setuptools"}
    assert names == {each.name for each in ranges}


def test_the_version_is_the_newest_of_the_changelog_and_that_of_the_images() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[0] == version
    manifests = "".join(each.read_text() for each in (ROOT / "deploy").rglob("*.yaml"))
    assert set(re.findall(r"image: fencepost-\w+:(\S+)", manifests)) == {version}


def _run(
    environment: Path, folder: Path, *arguments: str, code: int = 0, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run the command of an environment in a folder, without what would find the checkout; ``more``:
    variables of its environment.
    """
    variables = {
        key: value for key, value in os.environ.items() if key not in {"PYTHONPATH", "FENCEPOST_HOME"}
    }
    variables = {"FENCEPOST_JARS": str(ROOT / ".jars"), **variables, **more}
    command = [str(environment / "bin" / "fencepost"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=variables)
    assert done.returncode == code, done.stdout + done.stderr
    return done
