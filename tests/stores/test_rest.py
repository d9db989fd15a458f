"""A lake behind Iceberg's REST protocol, as Iceberg's own servlet speaks it: all servers are real."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from servers import SECRET, TOKEN, Stores
from store_audits import CAPTURE, audited, configured, run

pytestmark = pytest.mark.stores


@pytest.fixture
def arriving(captures: Path, tmp_path: Path) -> tuple[Path, bytes]:
    """A folder of captures with one whose request log has only its first half, and all of that log."""
    logs = shutil.copytree(captures / CAPTURE, tmp_path / "captures" / CAPTURE)
    log = _log(logs.parent)
    whole = log.read_bytes()
    log.write_bytes(whole[: whole.index(b"\n", len(whole) // 2) + 1])
    return logs.parent, whole


def test_a_lake_behind_it_has_the_rows_of_a_local_one(
    stores: Stores, arriving: tuple[Path, bytes], tmp_path: Path
) -> None:
    """After a first run, and after one that reads what came since, while the catalogs are busy at times."""
    captures, whole = arriving
    on_spark = '\n[engine]\nrun_on = "spark"\n'
    with stores.rest_lake("near") as (near, one), stores.rest_lake("spark", "credential") as (spark, two):
        lakes = {"local": "", "near": near, "spark": spark + on_spark}
        configs = {name: configured(tmp_path / name, captures, lake) for name, lake in lakes.items()}
        first = {name: audited(config) for name, config in configs.items()}
        _log(captures).write_bytes(whole)
        one.refused, one.at_most = "POST /v1/namespaces/silver/tables", 3
        # Spark's own requests
        two.refused, two.at_most = "/v1/namespaces/marts/tables", 3
        second = {name: audited(config) for name, config in configs.items()}
        assert (one.count, two.count) == (3, 3)
        for found in (first, second):
            assert found["local"].keys() == found["near"].keys() == found["spark"].keys()
            for table, rows in found["local"].items():
                assert found["near"][table] == rows, table
                assert found["spark"][table] == rows, table
        assert sum(rows.total() for rows in second["local"].values()) > 10_000
        assert first["local"] != second["local"]


def test_a_catalog_that_fails_is_one_sentence(stores: Stores, captures: Path, tmp_path: Path) -> None:
    with stores.rest_lake("near") as (lake, front):
        config = configured(tmp_path / "near", captures, lake)
        assert run("collect", config).returncode == 0
        front.refused = "/tables"
        for command in ("audit", "report"):
            _is_one_sentence(config, command, "Service Unavailable")
        front.refused, front.token = None, "another"
        _is_one_sentence(config, "audit", "refuses this user (UnauthorizedError")
        _is_one_sentence(config, "report", "Unauthorized")
    for command in ("audit", "report"):
        _is_one_sentence(config, command, "Connection refused")


def _is_one_sentence(config: Path, command: str, why: str) -> None:
    said = run(command, config)
    assert said.returncode == 2, said.stderr
    assert "The catalog rest" in said.stderr
    assert why in said.stderr
    assert "Traceback" not in said.stderr
    assert not {SECRET, TOKEN} & set(said.stderr.split())


def _log(captures: Path) -> Path:
    return captures / CAPTURE / "broker-1" / "kafka-request.log"
