"""Logs that are read where they are, into one lake: the audit of it needs no path of any broker."""

from __future__ import annotations

import io
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from configurations import broker_logs, local_lake

from fencepost import cli, lake
from fencepost.iceberg.catalog import open_catalog
from fencepost.pipeline import Run
from fencepost.protocols import protocols
from fencepost.settings import load
from fencepost.tables import QUARANTINE, VERDICTS

CAPTURE = "failover-4.3.1"
BROKERS = (1, 2, 3)
_READY_S = 120
OF_RUN = frozenset({"captured_at", "run_id"})
OF_REPLICA = {"silver.partition_batches": frozenset({"broker_id", "file", "byte_position"})}
"""Columns that say on which broker a batch was read first, of all that have it."""


@pytest.fixture
def hosts(captures: Path, tmp_path: Path) -> dict[int, Path]:
    """By broker, a configuration of this broker's logs alone. On every machine they have the same path."""
    named = {}
    for broker in BROKERS:
        shutil.copytree(captures / CAPTURE / f"broker-{broker}", tmp_path / f"machine-{broker}" / "kafka")
        named[broker] = tmp_path / f"broker-{broker}.toml"
        named[broker].write_text(_config(tmp_path, broker_logs(broker, tmp_path / "kafka")))
    return named


def test_an_audit_of_what_was_collected_is_that_of_all_logs(
    hosts: Mapping[int, Path], tmp_path: Path
) -> None:
    for broker, config in hosts.items():
        _on_machine(tmp_path, broker)
        assert "collected: files" in _run("collect", config)[1]
    # nothing is read twice
    assert "rows 0" in _run("collect", hosts[BROKERS[-1]])[1]
    (tmp_path / "kafka").unlink()
    central = tmp_path / "central.toml"
    central.write_text(_config(tmp_path, *(f"[[clusters.brokers]]\nid = {each}" for each in BROKERS)))
    _judge(central)

    at_once = tmp_path / "at-once.toml"
    paths = {each: tmp_path / f"machine-{each}" / "kafka" for each in BROKERS}
    parts = [broker_logs(each, path) for each, path in paths.items()]
    at_once.write_text(_config(tmp_path / "other", *parts))
    _judge(at_once)
    assert _rows(central, tmp_path) == _rows(at_once, tmp_path)


def test_what_one_machine_misses_is_told_until_it_is_there(hosts: Mapping[int, Path], tmp_path: Path) -> None:
    """Neither another collector nor an audit without paths takes back what they have not looked for."""
    central = tmp_path / "central.toml"
    central.write_text(_config(tmp_path, *(f"[[clusters.brokers]]\nid = {each}" for each in BROKERS)))
    closed = tmp_path / "machine-1" / "kafka" / "log_dir"
    closed.rename(tmp_path / "away")
    for broker in (1, 2):
        _on_machine(tmp_path, broker)
        _run("collect", hosts[broker])
    assert _missing(central) == {(1, "segment", "missing")}
    _capture(central)
    # broker 3 was not collected yet, and who collects the others cannot know that
    assert _missing(central) == {(1, "segment", "missing"), (3, "request_log", "no_requests")}
    (tmp_path / "away").rename(closed)
    for broker in (3, 1):
        _on_machine(tmp_path, broker)
        _run("collect", hosts[broker])
    assert _missing(central) == {(3, "request_log", "no_requests")}
    _capture(central)
    assert _missing(central) == set()


def test_a_collector_says_nothing_of_other_brokers_request_logs(
    hosts: Mapping[int, Path], tmp_path: Path
) -> None:
    """Of its own empty one it does. An audit asks none of a controller, whose directories it never saw."""
    for log in (tmp_path / "machine-2" / "kafka").glob("kafka-request.log*"):
        log.write_bytes(b"")
    for folder in (tmp_path / "machine-3" / "kafka" / "log_dir").glob("*-*/"):
        if not folder.name.startswith("__cluster_metadata"):
            shutil.rmtree(folder)
    controller = hosts[3].read_text().replace("request_logs", "# request_logs")
    hosts[3].write_text(controller)
    for broker in (2, 3):
        _on_machine(tmp_path, broker)
        _run("collect", hosts[broker])
    assert _missing(hosts[2]) == {(2, "request_log", "no_requests")}
    central = tmp_path / "central.toml"
    central.write_text(_config(tmp_path, *(f"[[clusters.brokers]]\nid = {each}" for each in BROKERS)))
    _on_machine(tmp_path, 1)
    _run("collect", hosts[1])
    _capture(central)
    assert _missing(central) == {(2, "request_log", "no_requests")}


def test_doctor_knows_what_was_collected_elsewhere(hosts: Mapping[int, Path], tmp_path: Path) -> None:
    central = tmp_path / "central.toml"
    central.write_text(_config(tmp_path, *(f"[[clusters.brokers]]\nid = {each}" for each in BROKERS)))
    code, before = _run("doctor", central)
    assert before.count("the lake has nothing of this broker") == len(BROKERS)
    assert code == 1
    assert not (tmp_path / "lake").exists()
    hosts[2].write_text(hosts[2].read_text().replace(f'name = "{CAPTURE}"', 'name = "another"'))
    for broker, config in hosts.items():
        _on_machine(tmp_path, broker)
        _run("collect", config)
    (tmp_path / "kafka").unlink()
    said = _run("doctor", central)[1]
    assert said.startswith("1 to correct")
    assert f"cluster {CAPTURE}, broker 2\n  WRONG  no log_dirs, and the lake has nothing" in said
    assert "note   the lake has logs of cluster another, broker 2, which is not named here" in said
    assert said.count("ok     collected: ") == len(BROKERS) - 1
    assert "broker settings" not in said
    assert "no broker's directory has a partition" not in said


def test_it_goes_on_for_ever_and_may_be_killed(hosts: Mapping[int, Path], tmp_path: Path) -> None:
    _on_machine(tmp_path, 1)
    command = [sys.executable, "-m", "fencepost.cli", "collect", "--every", "1", "--config", str(hosts[1])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(2)]
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=_READY_S) == -signal.SIGTERM
    assert "rows 0" not in said[0]
    assert "rows 0" in said[1]


def test_it_starts_no_jvm_and_imports_nothing_of_an_audit(hosts: Mapping[int, Path], tmp_path: Path) -> None:
    _on_machine(tmp_path, 1)
    code = (
        "import sys; from fencepost import cli; cli.main(sys.argv[1:]); "
        "print(sorted({'pyspark', 'dbt', 'great_expectations', 'airflow', 'duckdb', "
        "'sqlglot', 'jinja2', 'matplotlib'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", code, "collect", "--config", str(hosts[1])]
    environment = {**os.environ, "JAVA_HOME": str(tmp_path), "PATH": ""}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_configuration_without_logs_has_nothing_to_collect(tmp_path: Path) -> None:
    central = tmp_path / "central.toml"
    central.write_text(_config(tmp_path, "[[clusters.brokers]]\nid = 1"))
    for more in ((), ("--every", "1")):
        command = [sys.executable, "-m", "fencepost.cli", "collect", "--config", str(central), *more]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_READY_S)
        assert done.returncode == 2
        assert done.stderr.startswith(f"fencepost: {central}: there is nothing to collect")
    assert not (tmp_path / "lake").exists()


def _on_machine(folder: Path, broker: int) -> None:
    """From now on, the path of the logs leads to those of this broker, as on its machine."""
    link = folder / "kafka"
    link.unlink(missing_ok=True)
    link.symlink_to(folder / f"machine-{broker}" / "kafka")


def _config(folder: Path, *brokers: str) -> str:
    return f'{local_lake(folder)}[[clusters]]\nname = "{CAPTURE}"\n' + "\n".join(brokers)


def _run(command: str, config: Path) -> tuple[int, str]:
    """The exit code of a command, and what it printed."""
    said = io.StringIO()
    with redirect_stdout(said):
        code = cli.main([command, "--config", str(config)])
    assert code in (0, 1, 3)
    return code, said.getvalue()


def _capture(config: Path) -> None:
    """The part of an audit that says what is missing."""
    with Run(load(config)) as run:
        run.step("capture")


def _judge(config: Path) -> None:
    """All of an audit that the rows of silver and verdicts need."""
    with Run(load(config)) as run:
        for step in ("capture", "rebuild", "judge"):
            run.step(step)


def _missing(config: Path) -> set[tuple[int | None, str, str]]:
    """Broker, kind and reason of the evidence that could not be read."""
    rows = lake.scan(open_catalog(load(config).lake), QUARANTINE).to_pylist()
    return {(row["broker_id"], row["kind"], row["reason"]) for row in rows}


def _rows(config: Path, folder: Path) -> dict[str, Counter[str]]:
    """The rows of silver and of the verdicts, with one name for the folder of a broker's logs."""
    catalog = open_catalog(load(config).lake)
    found = {}
    for table in (*(table for each in protocols() for table in each.tables), *VERDICTS):
        rows = lake.scan(catalog, table).to_pylist()
        left_out = OF_RUN | OF_REPLICA.get(table.name, frozenset())
        texts = (str({key: value for key, value in row.items() if key not in left_out}) for row in rows)
        found[table.name] = Counter(
            re.sub(rf"{folder}/(machine-\d/)?kafka/", "LOGS/", text) for text in texts
        )
    return found
