"""What a command says where the place of its lake fails it: one line that names the place and the remedy."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from fencepost import cli
from fencepost.lake.failures import describe_failure
from fencepost.settings import Lake


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
