"""A row that does not say of what it is, or from where on: no query passes over it, or puts it anywhere."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from tlasql import CompiledModule, compile_module
from tlasql.commands.data import Data

LEASES = Path(__file__).with_name("leases")
SCHEMAS = json.loads((LEASES / "schemas.json").read_text(encoding="utf-8"))
MORE = r"""
\* A value of each state, which is gathered; a step across a hole; one of whole states.
\* @invariant("someone", "info", "lease")
Someone == \E n \in DOMAIN epoch : epoch[n] = term
\* @step("never_falls", "info", "lease") @transitive
NeverFalls == term' >= term
\* @step("together", "info", "lease")
Together == (\A n \in DOMAIN epoch : epoch'[n] >= epoch[n]) \/ term' = term
\* Rows beside others of one key, of one element, of the next state; a value whose argument nobody knows.
\* @invariant("owning", "info", "node")
Owning == \A n \in DOMAIN epoch : \A r \in owns[n] : epoch[n] < 2
\* @invariant("apart", "info", "node")
Apart == \A n, m \in DOMAIN epoch : n # m => epoch[n] # epoch[m]
\* @invariant("first_alone", "info", "resource")
FirstAlone == \A n, m \in DOMAIN owns : \A r \in owns[n] \cap owns[m] : n = m \/ r # "r1"
\* @step("sinks", "info", "node")
Sinks == \A n \in DOMAIN epoch \cap DOMAIN epoch' : epoch'[n] <= epoch[n]
\* @step("kept", "info", "lease")
Kept == \A n \in DOMAIN owns \cap DOMAIN owns' : owns[n] \subseteq owns'[n]
===="""
LAST = 12
LOST = ("from_position", "covered", "term", "node", "epoch", "res", "lease")
Row = dict[str, object]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The leases, with definitions of all other kinds, and without what coverage says of the last."""
    path = tmp_path_factory.mktemp("unplaced") / "leases"
    shutil.copytree(LEASES, path)
    module, mapping = path / "Lease.tla", path / "mapping.toml"
    module.write_text(module.read_text(encoding="utf-8").replace("\n====", MORE), encoding="utf-8")
    term = "[variables.term]\n"
    text = mapping.read_text(encoding="utf-8").replace(term, f"{term}persistent = true\n")
    mapping.write_text(text, encoding="utf-8")
    return path


def _compiled(folder: Path, dialect: str) -> CompiledModule:
    return compile_module(folder / "Lease.tla", folder / "mapping.toml", SCHEMAS, dialect=dialect)


def _altered(folder: Path, scratch: Path) -> Iterator[tuple[Path, Row]]:
    """The rows, each time with one of them that lacks a value."""
    for file in sorted((folder / "data").iterdir()):
        head, *lines = file.read_text(encoding="utf-8").splitlines()
        names = head.split(",")
        for (n, line), lost in product(enumerate(lines), LOST):
            if lost in names:
                values = line.split(",")
                values[names.index(lost)] = ""
                changed = [*lines[:n], ",".join(values), *lines[n + 1 :]]
                data = scratch / f"{file.stem}_{n}_{lost}"
                shutil.copytree(folder / "data", data)
                (data / file.name).write_text("\n".join((head, *changed)) + "\n", encoding="utf-8")
                yield data, {"table": file.stem, "row": n, "lost": lost}


def _said(rows: list[Row], position: int, *, step: bool) -> bool | None:
    """What is said of a position, or of a step into it; a row that begins nowhere may begin anywhere."""
    verdicts = [
        row["verdict"]
        for row in rows
        if (row["from_position"] is None or int(str(row["from_position"])) <= position)
        and (row["to_position"] is None or position < int(str(row["to_position"])))
        and (not step or row["verdict"] is None or row["from_position"] == position)
    ]
    return False if False in verdicts else None if None in verdicts else True


def test_what_it_may_change_is_unknown(folder: Path, tmp_path: Path) -> None:
    """Whatever table it is in, and whatever kind of query reads that: by itself, joined, step by step,
    gathered; and in passes. Nothing else changes.
    """
    module = _compiled(folder, "duckdb")
    queries = {each.mark.id: each.sql for each in module.definitions}
    steps = {each.mark.id for each in module.definitions if each.mark.kind == "step"}
    violated: set[str] = set()
    whole = Data(folder / "data", SCHEMAS)
    told = {identity: list(whole.rows(sql)) for identity, sql in queries.items()}
    for data, lost in _altered(folder, tmp_path):
        altered = Data(data, SCHEMAS)
        for identity, sql in queries.items():
            before, after = told[identity], list(altered.rows(sql))
            without = [row for row in after if row["from_position"] is None]
            unplaced = lost["lost"] == "from_position" and str(lost["table"]) in sql
            assert {row["verdict"] for row in without} == ({None} if unplaced else set())
            assert {row["reason"] for row in without} <= {"not_known", "not_covered"}
            for position in range(LAST):
                said, known = (_said(each, position, step=identity in steps) for each in (after, before))
                assert said in (None, known), (identity, lost, position)
                violated |= {identity} if known is False else set()
        for each in module.passes:
            for identity in each.ids:
                alone = sorted(map(str, altered.rows(queries[identity])))
                own = f"SELECT * EXCLUDE (definition) FROM ({each.sql}) WHERE definition = '{identity}'"
                assert sorted(map(str, altered.rows(own))) == alone
    assert violated >= {"behind", "one_owner", "owning", "apart", "first_alone", "sinks", "kept"}


def test_spark_says_the_same(folder: Path, tmp_path: Path, spark: SparkSession) -> None:
    """Of a table that is joined, and of one that is gathered."""
    wanted = {each.mark.id: each.sql for each in _compiled(folder, "duckdb").definitions}
    definitions = _compiled(folder, "spark").definitions
    for data, lost in list(_altered(folder, tmp_path))[1::5]:
        given = Data(data, SCHEMAS)
        for table, columns in SCHEMAS.items():
            rows = given.rows(f"SELECT {', '.join(columns)} FROM {table}")
            ddl = ", ".join(f"`{name}` {kind}" for name, kind in columns.items())
            content = pa.Table.from_pylist(
                [dict(row) for row in rows], to_arrow_schema(StructType.fromDDL(ddl))
            )
            spark.createDataFrame(content).createOrReplaceTempView(table.replace(".", "_"))
        # to all others these are the rows that they were
        reading = [each for each in definitions if str(lost["table"]) in each.sql]
        assert reading
        for each in reading:
            found = spark.sql(each.sql.replace("db.", "db_")).select(
                "from_position", "to_position", "verdict"
            )
            shown = sorted(str(tuple(row)) for row in found.collect())
            here = given.rows(wanted[each.mark.id])
            assert shown == sorted(
                str((row["from_position"], row["to_position"], row["verdict"])) for row in here
            )
