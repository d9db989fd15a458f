"""What a command says where the place of its lake fails it: one line that names the place and the remedy."""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from pyspark import SparkContext

from fencepost import cli, pipeline
from fencepost.engines.errors import TaskError
from fencepost.engines.executors import Executors
from fencepost.lake.failures import describe_failure
from fencepost.lock import LockError, locked
from fencepost.settings import Lake, Settings, load


def _folder_that_is_a_file(lake: Path) -> None:
    lake.write_text("a file")


def _catalog_that_is_a_folder(lake: Path) -> None:
    (lake / "catalog.db").mkdir(parents=True)


def _catalog_that_is_text(lake: Path) -> None:
    lake.mkdir()
    (lake / "catalog.db").write_text("this is no database, but longer than a header of one " * 3)


def _warehouse_that_is_a_file(lake: Path) -> None:
    lake.mkdir()
    (lake / "warehouse").write_text("a file")


@pytest.fixture
def audit(
    captures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[], tuple[int, str]]:
    """Audits a capture into the folder ``lake``: the exit code, and what was said of errors."""
    config = captures / "markers-4.3.1" / "fencepost.toml"
    monkeypatch.setenv("FENCEPOST_LAKE", str(tmp_path / "lake"))
    return lambda: (cli.main(["audit", "--config", str(config)]), capsys.readouterr().err)


@pytest.mark.parametrize(
    ("spoil", "named", "why"),
    [
        (_folder_that_is_a_file, "lake", "File exists"),
        (_catalog_that_is_a_folder, "lake/catalog.db", "unable to open database file"),
        (_catalog_that_is_text, "lake/catalog.db", "file is not a database"),
        (_warehouse_that_is_a_file, "lake/warehouse", "Not a directory"),
    ],
)
def test_an_audit_names_the_place_that_fails_it(
    audit: Callable[[], tuple[int, str]], tmp_path: Path, spoil: Callable[[Path], None], named: str, why: str
) -> None:
    spoil(tmp_path / "lake")
    code, said = audit()
    assert code == 2
    assert "Traceback" not in said
    assert str(tmp_path / named) in said
    assert why in said
    assert "[lake]" in said


def test_a_full_disk_is_said_whoever_wraps_the_error() -> None:
    lake = Lake("/lake/warehouse", "sqlite:////lake/catalog.db")
    with pytest.raises(OSError, match="No space left") as full, Path("/dev/full").open("wb", 0) as device:
        device.write(b"x")
    wrapped = RuntimeError("the models cannot be written")
    wrapped.__cause__ = full.value
    for error in (full.value, wrapped, RuntimeError(f"no models: {full.value}")):
        said = describe_failure(error, lake)
        assert said is not None
        assert said.startswith("No space is left for /lake/warehouse")
        assert "repeat the command" in said


def test_a_locked_catalog_asks_to_wait(tmp_path: Path) -> None:
    catalog = tmp_path / "catalog.db"
    with sqlite3.connect(catalog) as owner:
        owner.execute("CREATE TABLE tables (name)")
        owner.execute("BEGIN EXCLUSIVE")
        with pytest.raises(sqlite3.OperationalError) as locked:
            sqlite3.connect(catalog, timeout=0).execute("INSERT INTO tables VALUES (1)")
    said = describe_failure(locked.value, Lake(str(tmp_path / "warehouse"), f"sqlite:///{catalog}"))
    assert said is not None
    assert f"The catalog {catalog} cannot be used (database is locked)." in said
    assert "when that has ended" in said


def test_a_fault_of_the_program_is_none_of_the_lake() -> None:
    lake = Lake("/lake/warehouse", "sqlite:////lake/catalog.db")
    errors = (ValueError("x"), FileNotFoundError(2, "No such file or directory", "/etc/nothing"))
    assert [describe_failure(error, lake) for error in errors] == [None, None]


def test_tasks_that_could_not_be_run_are_told_in_one_sentence(
    audit: Callable[[], tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object, **__: object) -> None:
        raise TaskError("capture: a process was killed, and so was the one that ran its tasks again.")

    monkeypatch.setattr(pipeline, "audit", fail)
    code, said = audit()
    assert code == cli.FAILED
    assert said.splitlines() == [
        "fencepost: capture: a process was killed, and so was the one that ran its tasks again."
    ]


@pytest.mark.parametrize(
    ("terminals", "to_log"), [("out err", False), ("out", True), ("err", True), ("", True)]
)
def test_a_terminal_shows_the_findings_and_not_the_alert(
    audit: Callable[[], tuple[int, str]], monkeypatch: pytest.MonkeyPatch, terminals: str, to_log: bool
) -> None:
    def end(_: object, *, alert_to_log: bool) -> None:
        raise TaskError(f"the alert to the log: {alert_to_log}")

    monkeypatch.setattr(pipeline, "audit", end)
    for name in ("out", "err"):
        monkeypatch.setattr(getattr(sys, f"std{name}"), "isatty", lambda name=name: name in terminals)
    assert audit()[1] == f"fencepost: the alert to the log: {to_log}\n"


def test_an_error_of_the_driver_is_not_told_as_the_end_of_its_jvm() -> None:
    def open_context() -> SparkContext:
        raise socket.gaierror(-2, "Name or service not known")

    with pytest.raises(TaskError, match=r"^Spark: .*Name or service not known$"):
        _ = Executors(open_context).cores


def _as_a_user(command: Sequence[str], lake: Path) -> subprocess.CompletedProcess[str]:
    """Run a command of fencepost as a user whom permissions bind, as they do not bind root."""
    unprivileged = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"] if os.geteuid() == 0 else []
    environment = {**os.environ, "FENCEPOST_LAKE": str(lake)}
    return subprocess.run(
        [*unprivileged, sys.executable, "-m", "fencepost.cli", *command],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_folder_that_may_not_be_read_is_evidence_that_is_missing(captures: Path, tmp_path: Path) -> None:
    copy, lake = tmp_path / "copy", tmp_path / "lake"
    shutil.copytree(captures / "markers-4.3.1", copy)
    broker, config = copy / "broker-1", copy / "fencepost.toml"
    closed = [broker / "log_dir", copy / "behind"]
    (copy / "behind").mkdir()
    names = config.read_text().replace('["broker-1/log_dir"]', '["broker-1/log_dir", "behind/*/data"]')
    config.write_text(names)
    (broker / "server.log").chmod(0)
    for folder in closed:
        folder.chmod(0)
    try:
        done = _as_a_user(["audit", "--config", str(config)], lake)
    finally:
        for folder in closed:
            folder.chmod(0o700)
    assert "Traceback" not in done.stderr
    assert done.returncode == 3
    said = " ".join(done.stdout.split())
    for path in (*closed, broker / "server.log"):
        assert f"{path}: unreadable" in said
    assert "check its permissions" in said


def test_a_lake_that_may_not_be_written_is_said_at_once(captures: Path, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        done = _as_a_user(["audit", "--config", str(captures / "markers-4.3.1" / "fencepost.toml")], tmp_path)
    finally:
        tmp_path.chmod(0o700)
    assert done.returncode == 2
    assert str(tmp_path / "audit.lock") in done.stderr
    assert "name another place in [lake]" in done.stderr
    assert "capture" not in done.stderr


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        ('type = "rest"\nuri = "http://127.0.0.1:9"', "The catalog rest does not answer"),
        ('type = "jdbc"\nuri = "jdbc:postgresql://127.0.0.1:9/lake"', "The catalog jdbc does not answer"),
    ],
)
def test_an_audit_says_that_a_catalog_is_out_of_reach(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], properties: str, said: str
) -> None:
    config = tmp_path / "fencepost.toml"
    clusters = "[[clusters]]\nname = 'c'\n[[clusters.brokers]]\nid = 1"
    config.write_text(
        f"[lake]\nwarehouse = '{tmp_path}'\n[lake.catalog_properties]\n{properties}\n{clusters}"
    )
    assert cli.main(["audit", "--config", str(config)]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert "Traceback" not in error


@pytest.fixture
def settings(captures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings with a lake of its own."""
    monkeypatch.setenv("FENCEPOST_LAKE", str(tmp_path / "lake"))
    return load(captures / "markers-4.3.1" / "fencepost.toml")


def test_who_holds_the_lake_is_said(settings: Settings) -> None:
    with (
        locked(settings),
        pytest.raises(LockError, match=f"process {os.getpid()} on .* UTC"),
        locked(settings, wait_s=0),
    ):
        pass
    with locked(settings, wait_s=0):
        pass


def test_a_second_audit_waits_for_the_first(settings: Settings) -> None:
    order = []
    holds, may_end = threading.Event(), threading.Event()

    def first() -> None:
        with locked(settings):
            holds.set()
            may_end.wait()
            order.append("first")

    def second() -> None:
        with locked(settings):
            order.append("second")

    threads = [threading.Thread(target=each) for each in (first, second)]
    threads[0].start()
    holds.wait()
    threads[1].start()
    threads[1].join(timeout=0.2)
    may_end.set()
    for thread in threads:
        thread.join()
    assert order == ["first", "second"]


def test_the_lock_of_a_killed_audit_is_gone(settings: Settings) -> None:
    hold = (
        "from fencepost.lock import locked; from fencepost.settings import load; import pathlib, time\n"
        f"with locked(load(pathlib.Path({str(settings.path)!r}))): print('held', flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", hold], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(LockError, match=f"process {holder.pid} on"), locked(settings, wait_s=0):
            pass
        holder.kill()
    with locked(settings, wait_s=0):
        pass
