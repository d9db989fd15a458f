"""A first configuration, from files of recorded brokers in places where people have them."""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from fencepost import shell
from fencepost.cli import main
from fencepost.discovery import NothingFoundError, find_brokers, local_zone
from fencepost.settings import Settings, load

Init = Callable[..., Settings]


@pytest.fixture
def init(tmp_path: Path) -> Init:
    """Runs the command, and reads what it wrote."""
    out = tmp_path / "written" / "fencepost.toml"
    out.parent.mkdir()

    def run(*arguments: Path | str) -> Settings:
        out.unlink(missing_ok=True)
        assert main(["init", *map(str, arguments), "--out", str(out)]) == 0
        return load(out)

    return run


def test_all_brokers_of_a_folder_are_found_with_their_logs(captures: Path, init: Init) -> None:
    home = captures / "by-hand-4.3.1"
    (cluster,) = init(home, "--name", "payments").clusters
    assert cluster.name == "payments"
    assert [broker.id for broker in cluster.brokers] == [1, 2, 3]
    for broker in cluster.brokers:
        own = home / f"broker-{broker.id}"
        assert broker.log_dirs == (str(own / "log_dir"),)
        assert broker.request_logs == (f"{own / 'kafka-request.log'}*",)
        assert broker.server_logs == (f"{own / 'server.log'}*",)


def test_what_was_found_is_counted(captures: Path, init: Init, capsys: pytest.CaptureFixture[str]) -> None:
    init(captures / "by-hand-4.3.1" / "broker-1")
    assert "broker 1: 1 log directory, 1 request log\n" in capsys.readouterr().out


def test_server_properties_name_the_directories(captures: Path, tmp_path: Path, init: Init) -> None:
    home = captures / "by-hand-4.3.1"
    data = tmp_path / "kafka data [1]"
    shutil.copytree(home / "broker-2" / "log_dir", data)
    logs = tmp_path / "logs"
    logs.mkdir()
    shutil.copy(home / "broker-2" / "kafka-request.log", logs / "kafka-request.log.2026-11-25-22")
    (logs / "kafka-request.log").touch()
    server = tmp_path / "server.properties"
    server.write_text(f"# a comment\nnode.id=2\nlisteners=A://:1,\\\n  B://:2\nlog.dirs = {data},/nowhere\n")
    (cluster,) = init(server, logs).clusters
    (broker,) = cluster.brokers
    assert (broker.id, cluster.name) == (2, "trEQLbuQRuqqsRihXpNJvg")
    assert broker.log_dirs == (glob.escape(str(data)),)
    assert broker.request_logs == (f"{logs / 'kafka-request.log'}*",)


@pytest.mark.parametrize("name", ["my cluster.toml", "a\n[lake]\nd = 1\n.toml"])
def test_the_commands_in_the_file_can_be_copied(captures: Path, tmp_path: Path, name: str) -> None:
    out = tmp_path / name
    assert main(["init", str(captures / "by-hand-4.3.1" / "broker-1"), "--out", str(out)]) == 0
    assert load(out).clusters
    (command,) = [each for each in out.read_text().splitlines() if "fencepost doctor" in each]
    assert shell.line(str(out)) in command


def test_hostile_names_stay_inside_their_texts(captures: Path, tmp_path: Path, init: Init) -> None:
    home = tmp_path / 'a"b\\c\n[lake]\nd'
    shutil.copytree(captures / "by-hand-4.3.1" / "broker-1", home)
    settings = init(home, "--name", 'x"]\ny')
    assert settings.clusters[0].name == 'x"]\ny'
    assert settings.clusters[0].brokers[0].log_dirs == (glob.escape(str(home / "log_dir")),)


def test_what_is_missing_is_a_comment(captures: Path, tmp_path: Path, init: Init) -> None:
    shutil.copytree(captures / "by-hand-4.3.1" / "broker-1" / "log_dir", tmp_path / "data")
    settings = init(tmp_path / "data")
    assert settings.clusters[0].brokers[0].request_logs == ()
    assert "docs/request_log.md" in settings.path.read_text()


def test_a_file_is_never_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "fencepost.toml"
    out.write_text("mine")
    assert main(["init", str(tmp_path), "--out", str(out)]) == 2
    assert "is there already" in capsys.readouterr().err
    assert out.read_text() == "mine"


@pytest.mark.parametrize("given", ["empty", "nowhere"])
def test_nothing_found_says_what_to_give(
    given: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    assert main(["init", str(tmp_path / given), "--out", str(tmp_path / "out")]) == 2
    assert "log.dirs" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a folder to another user")
def test_a_folder_of_another_user_is_named(captures: Path, tmp_path: Path) -> None:
    closed = tmp_path / "data"
    shutil.copytree(captures / "by-hand-4.3.1" / "broker-1" / "log_dir", closed)
    closed.chmod(0o700)
    os.seteuid(65534)  # root may look into every folder
    try:
        with pytest.raises(NothingFoundError, match=f"this user may not look into {closed}"):
            find_brokers([closed])
    finally:
        os.seteuid(0)


def test_the_zone_is_this_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert local_zone() == "Asia/Tokyo"
    monkeypatch.setenv("TZ", "nonsense")
    assert local_zone() is None
