"""A lake whose catalog is in PostgreSQL and whose files are on S3: both servers are real."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from servers import PASSWORD, SECRET, Stores
from store_audits import audited, configured, rows_of, run

from fencepost.settings import load

pytestmark = pytest.mark.stores


def test_a_lake_on_postgresql_and_s3_has_the_rows_of_a_local_one(
    stores: Stores, captures: Path, tmp_path: Path
) -> None:
    local = audited(configured(tmp_path / "local", captures, ""))
    near = audited(configured(tmp_path / "near", captures, stores.lake("near")))
    spark = stores.lake("spark") + '\n[engine]\nrun_on = "spark"\n'
    on_spark = audited(configured(tmp_path / "spark", captures, spark))
    assert local.keys() == near.keys() == on_spark.keys()
    assert sum(rows.total() for rows in local.values()) > 10_000
    for name, rows in local.items():
        assert near[name] == rows, name
        assert on_spark[name] == rows, name


def test_commands_read_it_without_spark_and_with_it(stores: Stores, captures: Path, tmp_path: Path) -> None:
    config = configured(tmp_path / "near", captures, stores.lake("near"))
    assert run("audit", config).returncode == 1
    sql = "SELECT invariant, scope FROM marts.fct_invariant_verdicts WHERE verdict = 'violated' ORDER BY 1, 2"
    said = [run("sql", config, sql, "--engine", engine) for engine in ("duckdb", "spark")]
    assert said[0].stdout == said[1].stdout
    assert "no_zombie_accepted" in said[0].stdout
    reported = run("report", config)
    assert "FAILED" in reported.stdout
    assert not {SECRET, PASSWORD} & set(reported.stdout.split())


def test_two_machines_write_one_after_the_other(stores: Stores, captures: Path, tmp_path: Path) -> None:
    _write_one_after_the_other(stores.lake("shared"), captures, tmp_path)


def test_so_they_do_behind_a_rest_catalog(stores: Stores, captures: Path, tmp_path: Path) -> None:
    with stores.rest_lake("shared") as (lake, _):
        _write_one_after_the_other(lake, captures, tmp_path)


def _write_one_after_the_other(lake: str, captures: Path, tmp_path: Path) -> None:
    """Each has a folder of its own, so they do not meet in the lock of one machine."""
    configs = [configured(tmp_path / name, captures, lake) for name in ("one", "two")]
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
    local = audited(configured(tmp_path / "local", captures, ""))
    silver = {name: rows for name, rows in local.items() if name.startswith("silver.")}
    shared = rows_of(load(configs[0]).lake)
    assert {name: shared[name] for name in silver} == silver


def test_a_server_that_is_gone_is_one_sentence(stores: Stores, captures: Path, tmp_path: Path) -> None:
    config = configured(tmp_path / "near", captures, stores.lake("near"))
    assert run("audit", config).returncode == 1
    assert "the lake's store, s3://" in run("doctor", config).stdout
    stores.store.stop()
    for command in ("audit", "report"):
        said = run(command, config)
        assert said.returncode == 2, said.stderr
        assert "near" in said.stderr
        assert "is not open after 5 s" in said.stdout + said.stderr
        assert "store" in said.stderr.splitlines()[-1]
        assert "Traceback" not in said.stderr
    assert "The store of s3://" in run("doctor", config).stdout
    stores.database.stop()
    for command in ("audit", "report"):
        said = run(command, config)
        assert said.returncode == 2, said.stderr
        assert "Connection refused" in said.stderr
        assert "Traceback" not in said.stderr
        assert not any(word in said.stderr for word in (SECRET, PASSWORD))
