"""Logs that were shipped to an object store: what is read of them is what is read of the files."""

from __future__ import annotations

import gzip
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard
from failing import Failing, failing
from servers import KEY, SECRET, s3

from fencepost import lake
from fencepost.capture import stores
from fencepost.cli import main
from fencepost.iceberg.catalog import open_catalog
from fencepost.pipeline import Run
from fencepost.settings import load
from fencepost.tables import BRONZE, FILES, QUARANTINE

pytestmark = pytest.mark.stores

CAPTURE = "failover-4.3.1"
BROKERS = (1, 2, 3)
OF_RUN = frozenset({"run_id", "captured_at", "head_digest"})


@pytest.fixture
def bucket(tmp_path: Path) -> Iterator[tuple[Path, Failing]]:
    """The folder of a bucket, and what stands before its store."""
    with s3(tmp_path / "s3") as store, failing(store.port) as front:
        folder = tmp_path / "s3" / "logs"
        folder.mkdir()
        yield folder, front


@pytest.fixture
def shipped(bucket: tuple[Path, Failing], captures: Path) -> tuple[Path, Failing]:
    """The logs of three brokers in the bucket, their request logs rolled and packed in both ways."""
    for broker in BROKERS:
        logs = shutil.copytree(captures / CAPTURE / f"broker-{broker}", bucket[0] / f"broker-{broker}")
        log = logs / "kafka-request.log"
        lines = log.read_bytes().splitlines(keepends=True)
        third = len(lines) // 3
        (logs / "kafka-request.log.2.zst").write_bytes(
            zstandard.ZstdCompressor().compress(b"".join(lines[:third]))
        )
        (logs / "kafka-request.log.1.gz").write_bytes(gzip.compress(b"".join(lines[third : 2 * third])))
        log.write_bytes(b"".join(lines[2 * third :]))
    return bucket


def test_objects_are_read_as_files_are(shipped: tuple[Path, Failing], tmp_path: Path) -> None:
    folder, front = shipped
    here, there = _configs(tmp_path, shipped)
    log = folder / "broker-1" / "kafka-request.log"
    whole = log.read_bytes()
    for data in (whole[: len(whole) // 2], whole):
        log.write_bytes(data)
        for config in (there, here):
            _captured(config)
    expected, found = _bronze(here), _bronze(there)
    assert expected.keys() == found.keys()
    for name, rows in expected.items():
        assert found[name] == rows, name
    assert sum(rows.total() for rows in found.values()) > 500
    front.lines.clear()
    assert _captured(there)["files"] == 0
    # of what has not changed only the begin and the end are fetched
    assert len(front.lines) < 20 * sum(each.is_file() for each in folder.rglob("*"))


def test_a_store_that_fails_for_a_while(
    shipped: tuple[Path, Failing],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It is asked again. If it goes on, the run ends with one sentence, and nothing is lost or doubled."""
    front = shipped[1]
    here, there = _configs(tmp_path, shipped)
    monkeypatch.setattr(stores, "PATIENCE_S", 4.0)
    front.refused = "broker-2/kafka-request.log"
    command = ["collect", "--config", str(there)]
    assert main(command) == 2
    said = capsys.readouterr().err
    assert "The object store fails at s3://logs/broker-2/kafka-request.log" in said
    assert "Traceback" not in said
    assert SECRET not in said
    assert main(["doctor", "--config", str(there)]) == 1
    assert "The object store fails at s3://logs/broker-2/kafka-request.log" in capsys.readouterr().out
    front.refused, front.at_most, front.count = "broker-", 12, 0
    monkeypatch.setattr(stores, "PATIENCE_S", 60.0)
    assert main(command) == 0
    assert front.count == front.at_most
    _captured(here)
    _captured(there)
    assert _bronze(there) == _bronze(here)
    capsys.readouterr()
    main(["doctor", "--config", str(there)])
    said = capsys.readouterr().out
    assert said.count("log_dirs: ") == len(BROKERS)
    assert said.count("request log: the last") == len(BROKERS)
    assert "object store" not in said


def test_a_wrong_key_is_one_sentence(
    shipped: tuple[Path, Failing], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, config = _configs(tmp_path, shipped)
    config.write_text(config.read_text().replace(SECRET, "another"))
    for command, code in (("collect", 2), ("doctor", 1)):
        assert main([command, "--config", str(config)]) == code
        said = capsys.readouterr()
        assert "The object store lets this user not list s3://logs/broker-1/" in said.out + said.err
        assert "Traceback" not in said.err


def _configs(folder: Path, shipped: tuple[Path, Failing]) -> tuple[Path, Path]:
    """The configuration of the files themselves, and that of the objects."""
    logs, front = shipped
    return _config(folder / "here", str(logs)), _config(folder / "there", "s3://logs", front.port)


def _config(folder: Path, logs: str, port: int | None = None) -> Path:
    folder.mkdir()
    path = folder / "fencepost.toml"
    store = f"""
[lake.catalog_properties]
"s3.endpoint" = "http://127.0.0.1:{port}"
"s3.region" = "us-east-1"
"s3.access-key-id" = "{KEY}"
"s3.secret-access-key" = "{SECRET}"
"""
    brokers = "".join(
        f"""
[[clusters.brokers]]
id = {broker}
log_dirs = ["{logs}/broker-{broker}/log_dir/"]
request_logs = ["{logs}/broker-{broker}/kafka-request.log*"]
server_logs = ["{logs}/broker-{broker}/server.log*"]
"""
        for broker in BROKERS
    )
    path.write_text(f'{store if port else ""}\n[[clusters]]\nname = "{CAPTURE}"\n{brokers}')
    return path


def _captured(config: Path) -> dict[str, int]:
    with Run(load(config)) as run:
        return run.step("capture")


def _bronze(config: Path) -> dict[str, Counter[str]]:
    """The rows of bronze, with one name for the place of the logs; of progress, the last of each file."""
    catalog = open_catalog(load(config).lake)
    found = {}
    for table in (*BRONZE, QUARANTINE):
        rows = lake.scan(catalog, table).to_pylist()
        if table is FILES:
            rows = [{"file": row["file"], "consumed_to": row["consumed_to"]} for row in rows]
            rows = list(
                {row["file"]: row for row in sorted(rows, key=lambda row: row["consumed_to"])}.values()
            )
        texts = (str({key: value for key, value in row.items() if key not in OF_RUN}) for row in rows)
        found[table.name] = Counter(re.sub(r"(s3:/|/[^' ]*/s3)/logs/", "LOGS/", text) for text in texts)
    return found
