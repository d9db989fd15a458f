"""A function of pairs, whose parts are columns of a table: a list in the key names them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tlasql.cli import main

SEATS = Path(__file__).with_name("seats")
FILES = ["Seats.tla", "--mapping", "mapping.toml", "--schemas", "schemas.json"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the module and its rows, as the working directory."""
    shutil.copytree(SEATS, tmp_path / "seats")
    monkeypatch.chdir(tmp_path / "seats")
    return tmp_path / "seats"


def _altered(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_pairs_are_judged(capsys: pytest.CaptureFixture[str]) -> None:
    """Where a part of a pair is not known, neither is what depends on it. Values are told as TLA+."""
    assert main(["explain", *FILES, "--data", "data", "--confirm", "--limit", "1"]) == 1
    said = capsys.readouterr().out
    assert re.findall(r"^(\w+): (\w+) \(.*?(\d+) violated, (\d+) unknown", said, re.MULTILINE) == [
        ("paid_for", "violated", "2", "1"),
        ("one_seat", "violated", "2", "3"),
        ("no_need_to_wait", "violated", "5", "1"),
        ("kept", "unknown", "0", "2"),
    ]
    assert 'k = <<"opera", 2>>\n    paid[k] = 0\n' in said
    assert 'waiting[s] = {"dan"}' in said
    assert said.count("TLC confirms it.") == 3
    assert main(["diff", *FILES, "--data", "data"]) == 0


def test_every_engine_takes_the_queries(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", *FILES]) == 0
    assert "paid_for compiles, judged on whole states: an argument of holder is a" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            'key = [["show", "seat"]], value = "guest"',
            'key = ["show", "seat"], value = "guest"',
            "11:1: error: db.bookings: 2 key columns for 1 argument\n    a tuple is one argument: "
            '["<column 1>", "<column 2>"] in the list, or a column of struct<_1:string,_2:bigint>',
        ),
        (
            'key = [["show", "seat"]], value = "guest"',
            'key = [["show"]], value = "guest"',
            "11:1: error: db.bookings: the columns show for one argument of type <<SHOW, Int>>\n"
            "    name 2 columns",
        ),
        (
            'key = [["show", "seat"]], value = "guest"',
            'key = [["seat", "show"]], value = "guest"',
            "11:1: error: db.bookings.seat is int, the specification says SHOW",
        ),
        (
            'key = ["show"]',
            'key = [["show", "guest"]]',
            "15:1: error: db.waiting: the columns show, guest for one argument of type SHOW\n"
            "    name one column",
        ),
        (
            'key = ["show"]',
            "key = [3]",
            "15:1: error: [variables.waiting.homes] key is 3, which is no column or list of columns\n"
            '    write key = ["<column>", ["<of a tuple>", ',
        ),
    ],
)
def test_wrong_keys_are_named(
    old: str, new: str, says: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _altered(folder / "mapping.toml", old, new)
    assert main(["check", *FILES, "--engine", "duckdb"]) == 2
    assert f"mapping.toml:{says}" in capsys.readouterr().err


def test_two_rows_of_one_pair_are_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _altered(folder / "data" / "db.bookings.csv", "a,4,,,,opera,2,", "a,3,,,,opera,2,")
    assert main(["explain", *FILES, "--data", "data"]) == 2
    said = "db.bookings: two rows of shop a, show opera, seat 2 are true at position 3"
    assert said in capsys.readouterr().err


def test_numbers_that_tlc_has_not_are_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Inside of a pair, too."""
    _altered(folder / "schemas.json", '"seat": "int"', '"seat": "bigint"')
    _altered(folder / "data" / "db.bookings.csv", "opera,2,bob,0", "opera,3000000002,bob,0")
    assert main(["explain", *FILES, "--data", "data", "--only", "paid_for", "--limit", "1"]) == 1
    said = capsys.readouterr().out
    assert 'k = <<"opera", 3000000002>>' in said
    assert 'holder = (<<"opera", 1>> :> "ann" @@ <<"opera", 3000000002>> :> "bob")' in said


def test_a_transitive_step_needs_rows_that_are_judged_by_themselves(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What whole states are needed for is said, and what to do without."""
    _altered(folder / "Seats.tla", '@step("kept"', '@transitive @step("kept"')
    assert main(["check", *FILES, "--engine", "duckdb"]) == 2
    said = capsys.readouterr().err
    assert "each part of it a column: a @transitive step is judged by rows of histories alone\n" in said
    assert "    leave out @transitive\n" in said
