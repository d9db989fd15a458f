"""What ``--data`` takes: columns have the types of the schemas, or else it is bad input."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tlasql.commands.data import Data
from tlasql.lang.errors import TlaSqlError

Write = Callable[[Path], Path]


def _database(select: str) -> Write:
    def write(folder: Path) -> Path:
        with duckdb.connect(str(folder / "data.db")) as data:
            data.execute(f"CREATE SCHEMA s; CREATE TABLE s.t AS {select}")
        return folder / "data.db"

    return write


def _folder(name: str, text: str) -> Write:
    def write(folder: Path) -> Path:
        (folder / name).write_text(text, encoding="utf-8")
        return folder

    return write


def _plain_file(folder: Path) -> Path:
    shutil.copy(__file__, folder / "data.db")
    return folder / "data.db"


@pytest.mark.parametrize(
    ("write", "columns", "value"),
    [
        (_database("SELECT '10' AS c"), {"c": "bigint"}, 10),
        (_database("SELECT 10::DOUBLE AS c"), {"c": "bigint"}, 10),
        (_database("SELECT [1::TINYINT] AS c, 5 AS other"), {"c": "array<bigint>"}, [1]),
        (_folder("s.t.json", '[{"c": {"a": 1}}, {"c": {"b": 2}}]'), {"c": "map<string,bigint>"}, {"a": 1}),
        (_folder("s.t.csv", "c,d\n007,x\n"), {"c": "string", "missing": "bigint"}, "007"),
    ],
)
def test_a_column_has_the_type_of_the_schemas(
    tmp_path: Path, write: Write, columns: dict[str, str], value: Any
) -> None:
    assert Data(write(tmp_path), {"s.t": columns}).rows("SELECT c FROM s.t")[0] == {"c": value}


@pytest.mark.parametrize(
    ("write", "columns", "words"),
    [
        (_database("SELECT 'ten' AS c"), {"c": "bigint"}, "s.t.c is VARCHAR, which is not BIGINT"),
        (_database("SELECT '010' AS c"), {"c": "bigint"}, "the value '010' is no BIGINT"),
        (_database("SELECT 10.4 AS c"), {"c": "bigint"}, "the value Decimal('10.4') is no BIGINT"),
        (_database("SELECT [1.5::DOUBLE] AS c"), {"c": "array<bigint>"}, "the value [1.5] is no BIGINT[]"),
        (_database("SELECT 2 AS c"), {"c": "boolean"}, "the value 2 is no BOOLEAN"),
        (_database("SELECT 2 AS d"), {"c": "boolean"}, "none of the columns of s.t"),
        (_folder("s.t.json", '[{"c": {"a": 1.5}}]'), {"c": "map<string,bigint>"}, "which is not MAP"),
        (_folder("s.t.json", '{"a": 1}'), {"c": "bigint"}, "none of the columns of s.t"),
        (_folder("s.t.json", '[{"c": ["a", "b"]}]'), {"c": "string"}, "s.t.c is VARCHAR[], which is no text"),
        (
            _folder("s.t.json", '{"c": [["a", 1]]}'),
            {"c": "map<string,bigint>"},
            'json:1:1: error: s.t cannot be read: Expected OBJECT, but got ARRAY: [["a",1]]',
        ),
        (
            _folder("s.t.csv", 'c\n"[""a""]x"\n'),
            {"c": "array<string>"},
            "in CSV [value, ...], or the table as JSON",
        ),
        (_folder("s.t.csv", "c\n1\nNULL\n"), {"c": "bigint"}, "leave empty what is not known"),
        (_folder("s.t.parquet", "no parquet"), {"c": "bigint"}, "s.t cannot be read"),
        (_plain_file, {"c": "bigint"}, "this is no DuckDB database"),
    ],
)
def test_what_is_no_data_is_bad_input(
    tmp_path: Path, write: Write, columns: dict[str, str], words: str
) -> None:
    with pytest.raises(TlaSqlError) as error:
        Data(write(tmp_path), {"s.t": columns})
    assert words in str(error.value)


def test_a_file_without_rows_is_an_empty_table(tmp_path: Path) -> None:
    """JSON without a row names no column."""
    (tmp_path / "s.t.json").write_text("[]", encoding="utf-8")
    assert (
        Data(tmp_path, {"s.t": {"c": "bigint", "d": "map<string,bigint>"}}).rows("SELECT c, d FROM s.t") == []
    )


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("s.t.csv",), "has no table s.u"),
        (("s.t.csv", "u.csv"), "/u.csv to s.u.csv, if it is meant"),
        (("s.t.csv", "s_u.csv"), "/s_u.csv to s.u.csv, if it is meant"),
        (("s.t.csv", "s/u.csv"), "/s.u.csv, if it is meant"),
        (("s.t.csv", "s.u.csv"), "s.u has no column d in"),
        (("s.t.csv", "s.t.json"), "s.t is in s.t.csv, too"),
    ],
)
def test_what_the_data_lacks_is_named(tmp_path: Path, names: tuple[str, ...], words: str) -> None:
    """A table, a column; of two files nobody knows which is meant."""
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("c\n1\n", encoding="utf-8")
    with pytest.raises(TlaSqlError) as error:
        schemas = {"s.t": {"c": "bigint"}, "s.u": {"c": "bigint", "d": "bigint"}}
        Data(tmp_path, schemas).rows("SELECT d FROM s.u JOIN s.t USING (c)")
    assert words in str(error.value)


def test_a_column_of_another_case_is_named(tmp_path: Path) -> None:
    (tmp_path / "s.t.csv").write_text("c,Seat\n1,2\n", encoding="utf-8")
    with pytest.raises(TlaSqlError, match=r"has no column seat in .*\n    rename Seat, if it is meant"):
        Data(tmp_path, {"s.t": {"c": "bigint", "seat": "bigint"}}).rows("SELECT seat FROM s.t")


def test_another_kind_of_database_needs_no_extension(tmp_path: Path) -> None:
    """DuckDB would ask the network for it."""
    (tmp_path / "x.db").write_bytes(b"SQLite format 3\0" + bytes(100))
    with pytest.raises(TlaSqlError, match="this is no DuckDB database\n"):
        Data(tmp_path / "x.db", {"s.t": {"c": "bigint"}})
