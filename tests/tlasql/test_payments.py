"""Records that several columns name, as a service has them in a table, and claims about two of them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tlasql.cli import main

FOLDER = Path(__file__).with_name("payments")
FILES = ["Payments.tla", "--mapping", "mapping.toml", "--schemas", "schemas.json"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the module and its rows, as the working directory."""
    shutil.copytree(FOLDER, tmp_path / "payments")
    monkeypatch.chdir(tmp_path / "payments")
    return tmp_path / "payments"


def _claim(folder: Path, formula: str) -> None:
    path = folder / "Payments.tla"
    text = path.read_text(encoding="utf-8").replace("Integers", "Integers, FiniteSets")
    path.write_text(re.sub(r"(?m)^Alike == .*$", lambda _: f"Alike == {formula}", text), encoding="utf-8")


def test_a_claim_about_two_records_is_judged(capsys: pytest.CaptureFixture[str]) -> None:
    """Each order has all its payments; whose amount is unknown is unknown."""
    assert main(["explain", *FILES, "--data", "data", "--confirm"]) == 1
    said = capsys.readouterr().out
    assert re.findall(r"^(\w+): (\w+) \((.*?)\)", said, re.MULTILINE) == [
        ("paid", "unknown", "5 checked, 4 exercised, 0 violated, 1 unknown: not_known"),
        ("none_twice", "violated", "5 checked, 2 exercised, 1 violated, 2 unknown: not_known"),
        ("alike", "violated", "5 checked, 4 exercised, 1 violated, 2 unknown: not_known"),
    ]
    assert 'p: the row of db.payments with order "A-1", select 1' in said
    assert "False: q.ok (Payments.tla:14:" in said
    assert said.count("TLC confirms it.") == 2


def test_a_record_whose_name_is_known_in_part_is_told(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is violated whatever the rest of its name is."""
    rows = folder / "data" / "db.payments.csv"
    rows.write_text(rows.read_text(encoding="utf-8").replace(",A-1,1,", ",A-1,,"), encoding="utf-8")
    assert main(["explain", *FILES, "--data", "data", "--only", "none_twice"]) == 1
    said = capsys.readouterr().out
    assert 'p: the row of db.payments with order "A-1", select ?' in said
    assert '[order |-> "A-1", amount |-> -5, ok |-> FALSE], [order |-> "A-1", amount |-> 7' in said


def test_what_nothing_exercises_is_no_success(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in (folder / "data").iterdir():
        path.write_text(path.read_text(encoding="utf-8").partition("\n")[0] + "\n", encoding="utf-8")
    assert main(["explain", *FILES, "--data", "data"]) == 2
    said = capsys.readouterr()
    assert said.out.count("not exercised (0 checked") == 3
    assert "nothing was judged" in said.err


def test_a_record_of_no_known_order_may_be_of_any(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It may be the one that is asked for; of another shop it is not."""
    _claim(folder, "\\A p \\in payments : p.ok => \\E q \\in payments : q.order = p.order /\\ q.amount < 0")
    rows = folder / "data" / "db.payments.csv"
    text = rows.read_text(encoding="utf-8")
    here, there = (f"{shop},1,2,2026-01-01 00:00:01,,,1,-5,false\n" for shop in ("berlin", "rome"))
    for more, says in (("", " 1 violated"), (here, " 0 violated"), (there, " 1 violated")):
        rows.write_text(text + more, encoding="utf-8")
        main(["explain", *FILES, "--data", "data", "--only", "alike"])
        assert says in capsys.readouterr().out
    assert main(["diff", *FILES, "--data", "data"]) == 2
    assert "no state: paid, none_twice, alike" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("formula", "says"),
    [
        ("p.order = q.order => p = q", "violated (5 checked, 5 exercised, 2 violated, 2 unknown"),
        ("p # q => q.order # p.order", "violated (5 checked, 5 exercised, 2 violated, 2 unknown"),
        ("q.order # p.order \\/ p = q", "violated (5 checked, 5 exercised, 2 violated, 2 unknown"),
        (
            "p.order = q.order /\\ p # q => p.amount > 0",
            "violated (5 checked, 5 exercised, 1 violated, 1 unknown",
        ),
        (
            "p.order = q.order /\\ p.ok = q.ok => p.amount = q.amount",
            "unknown (5 checked, 5 exercised, 0 viola",
        ),
        (
            "p.order = q.order /\\ p.ok => q.amount > p.amount - 12",
            "violated (5 checked, 4 exercised, 1 viola",
        ),
    ],
)
def test_two_records_are_compared(
    formula: str, says: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Field by field; a row whose amount is unknown equals itself, and may equal no other."""
    _claim(folder, f"\\A p, q \\in payments : {formula}")
    main(["explain", *FILES, "--data", "data", "--confirm", "--only", "alike"])
    said = capsys.readouterr().out
    assert f"alike: {says}" in said
    assert said.count("TLC confirms it.") == said.count("alike is violated")


def test_a_fold_reads_the_fields_of_a_record(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is left of an even amount; where the amount is unknown, so is that."""
    down = "RECURSIVE Down(_) Down(i) == IF i = 0 THEN 0 ELSE p.amount - Down(i - 1)"
    _claim(folder, f"\\A p \\in payments : p.amount > 0 => LET {down} IN Down(p.amount) = 0")
    assert main(["explain", *FILES, "--data", "data", "--confirm", "--only", "alike"]) == 1
    said = capsys.readouterr().out
    assert "alike: violated (5 checked, 3 exercised, 2 violated, 1 unknown" in said
    assert said.count("TLC confirms it.") == said.count("alike is violated") == 2


@pytest.mark.parametrize(
    "formula",
    [
        "\\A p \\in payments : p.ok => \\A q \\in payments : q.amount > 0",
        "\\A p \\in payments : p.amount > 5 => ~ \\E q \\in payments : q.amount = 3",
    ],
)
def test_tlc_is_given_all_records_where_all_are_looked_at(
    formula: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing relates them, and one that breaks the claim is of another order."""
    mapping = folder / "mapping.toml"
    mapping.write_text(
        mapping.read_text(encoding="utf-8").replace('within = ["order"]\n', ""), encoding="utf-8"
    )
    _claim(folder, formula)
    main(["explain", *FILES, "--data", "data", "--confirm", "--only", "alike", "--limit", "1"])
    said = capsys.readouterr().out
    assert "alike is violated" in said
    assert "TLC confirms it." in said


@pytest.mark.parametrize(
    ("formula", "says"),
    [
        (
            "\\A p, q, r \\in payments : p.order = q.order /\\ p.ok => r.ok",
            "14:25: error: a further range beside a set of records\n    quantify over at most two records",
        ),
        (
            "\\A p, q \\in payments : p.amount < q.amount => p.ok",
            "14:56: error: this quantifier compares records whose states are not known together (not of one "
            "order)\n    restrict it: q.order = p.order => ...",
        ),
        (
            "\\A p \\in payments : Cardinality({q \\in payments : q.order = p.order}) = 1",
            "14:42: error: a set made of payments inside a predicate over payments\n    compare two payments",
        ),
    ],
)
def test_other_claims_about_records_are_refused(
    formula: str, says: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _claim(folder, formula)
    assert main(["check", *FILES, "--engine", "duckdb"]) == 2
    assert f"Payments.tla:{says}" in capsys.readouterr().err


def test_what_relates_records_is_in_the_mapping(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mapping = folder / "mapping.toml"
    text = mapping.read_text(encoding="utf-8").replace('within = ["order"]\n', "")
    mapping.write_text(text, encoding="utf-8")
    assert main(["check", *FILES, "--engine", "duckdb"]) == 2
    assert 'add within = ["order"] to the mapping, and order to the fields' in capsys.readouterr().err
