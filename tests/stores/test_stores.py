"""A lake whose catalog is in PostgreSQL and whose files are on S3: both servers are real."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from servers import PASSWORD, SECRET, Stores

from fencepost.iceberg.catalog import open_catalog
from fencepost.settings import Lake, load

pytestmark = pytest.mark.stores

CAPTURE = "troubled-4.3.1"
OF_RUNS = frozenset({"run_id", "captured_at", "audited_at", "seen"})
"""Columns that say which run wrote a row, or which snapshot it read."""
LAYERS = ("bronze.", "silver.", "verdicts.", "marts.")
OF_AUDITS = frozenset({"marts.fct_audit_runs", "verdicts.audit_runs", "verdicts.incident_notes"})
"""Tables that are about runs."""


def test_a_lake_on_postgresql_and_s3_has_the_rows_of_a_local_one(
    stores: Stores, captures: Path, tmp_path: Path
) -> None:
    local = _audited(_config(tmp_path / "local", captures, ""))
    near = _audited(_config(tmp_path / "near", captures, stores.lake("near")))
    spark = stores.lake("spark") + '\n[engine]\nrun_on = "spark"\n'
    on_spark = _audited(_config(tmp_path / "spark", captures, spark))
    assert local.keys() == near.keys() == on_spark.keys()
    assert sum(rows.total() for rows in local.values()) > 10_000
    for name, rows in local.items():
        assert near[name] == rows, name
        assert on_spark[name] == rows, name


def test_commands_read_it_without_spark_and_with_it(stores: Stores, captures: Path, tmp_path: Path) -> None:
    config = _config(tmp_path / "near", captures, stores.lake("near"))
    assert _run("audit", config).returncode == 1
    sql = "SELECT invariant, scope FROM marts.fct_invariant_verdicts WHERE verdict = 'violated' ORDER BY 1, 2"
    said = [_run("sql", config, sql, "--engine", engine) for engine in ("duckdb", "spark")]
    assert said[0].stdout == said[1].stdout
    assert "no_zombie_accepted" in said[0].stdout
    reported = _run("report", config)
    assert "FAILED" in reported.stdout
    assert not {SECRET, PASSWORD} & set(reported.stdout.split())


def test_two_machines_write_one_after_the_other(stores: Stores, captures: Path, tmp_path: Path) -> None:
    """Each has a folder of its own, so they do not meet in the lock of one machine."""
    lake = stores.lake("shared")
    configs = [_config(tmp_path / name, captures, lake) for name in ("one", "two")]
    runs = [
        subprocess.Popen(
            [sys.executable, "-m", "fencepost.cli", "audit", "--config", str(each)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for each in configs
    ]
    said = [each.communicate()[1] for each in runs]
    assert [each.returncode for each in runs] == [1, 1], said
    assert sum("another run is writing to this lake (process" in each for each in said) == 1, said
    local = _audited(_config(tmp_path / "local", captures, ""))
    silver = {name: rows for name, rows in local.items() if name.startswith("silver.")}
    shared = _rows(load(configs[0]).lake)
    assert {name: shared[name] for name in silver} == silver


def test_a_server_that_is_gone_is_one_sentence(stores: Stores, captures: Path, tmp_path: Path) -> None:
    config = _config(tmp_path / "near", captures, stores.lake("near"))
    assert _run("audit", config).returncode == 1
    stores.store.stop()
    for command in ("audit", "report"):
        said = _run(command, config)
        assert said.returncode == 2, said.stderr
        assert "near" in said.stderr
        assert "Traceback" not in said.stderr
    stores.database.stop()
    for command in ("audit", "report"):
        said = _run(command, config)
        assert said.returncode == 2, said.stderr
        assert "Connection refused" in said.stderr
        assert "Traceback" not in said.stderr
        assert not any(word in said.stderr for word in (SECRET, PASSWORD))


def _config(folder: Path, captures: Path, lake: str) -> Path:
    """A configuration of the capture in a folder of its own."""
    folder.mkdir()
    given = (captures / CAPTURE / "fencepost.toml").read_text()
    for name in ("broker-1/", "clients/"):
        given = given.replace(f'"{name}', f'"{captures / CAPTURE / name}/')
    path = folder / "fencepost.toml"
    path.write_text(lake + given)
    return path


def _run(command: str, config: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    started = [sys.executable, "-m", "fencepost.cli", command, *arguments, "--config", str(config)]
    return subprocess.run(started, capture_output=True, text=True, check=False)


def _audited(config: Path) -> Mapping[str, Counter[str]]:
    """The rows of each table after an audit, without the columns that are about the run."""
    done = _run("audit", config)
    assert done.returncode == 1, done.stderr
    return _rows(load(config).lake)


def _rows(place: Lake) -> Mapping[str, Counter[str]]:
    catalog = open_catalog(place)
    found: dict[str, Counter[str]] = {}
    for (space,) in catalog.list_namespaces():
        for table in catalog.list_tables(space):
            name = ".".join(table)
            if name.startswith(LAYERS) and name not in OF_AUDITS:
                rows: list[dict[str, Any]] = catalog.load_table(table).scan().to_arrow().to_pylist()
                found[name] = Counter(
                    str({key: value for key, value in sorted(row.items()) if key not in OF_RUNS})
                    for row in rows
                )
    return found
