"""A row that does not say from where on it is true: no query passes over it, or puts it anywhere."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
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
===="""
LAST = 12
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
    """The rows, each time with one of them that has no ``from_position``."""
    for file in sorted((folder / "data").iterdir()):
        head, *lines = file.read_text(encoding="utf-8").splitlines()
        for n, line in enumerate(lines):
            cluster, lease, _, *rest = line.split(",")
            changed = [*lines[:n], ",".join((cluster, lease, "", *rest)), *lines[n + 1 :]]
            data = scratch / f"{file.stem}_{n}"
            shutil.copytree(folder / "data", data)
            (data / file.name).write_text("\n".join((head, *changed)) + "\n", encoding="utf-8")
            yield data, {"table": file.stem, "to_position": int(rest[0])}


def _said(rows: list[Row], position: int) -> bool | None:
    """What is said of a position; a row that begins nowhere may begin anywhere."""
    verdicts = [
        row["verdict"]
        for row in rows
        if (row["from_position"] is None or int(str(row["from_position"])) <= position)
        and (row["to_position"] is None or position < int(str(row["to_position"])))
    ]
    return False if False in verdicts else None if None in verdicts else True


def test_what_it_may_change_is_unknown(folder: Path, tmp_path: Path) -> None:
    """Whatever table it is in, and whatever kind of query reads that: by itself, joined, step by step,
    gathered; and in passes. Nothing else changes.
    """
    module = _compiled(folder, "duckdb")
    queries = {each.mark.id: each.sql for each in module.definitions}
    whole = Data(folder / "data", SCHEMAS)
    for data, lost in _altered(folder, tmp_path):
        altered = Data(data, SCHEMAS)
        for identity, sql in queries.items():
            before, after = list(whole.rows(sql)), list(altered.rows(sql))
            without = [row for row in after if row["from_position"] is None]
            assert {row["verdict"] for row in without} == ({None} if str(lost["table"]) in sql else set())
            assert {row["reason"] for row in without} <= {"not_known", "not_covered"}
            for position in range(LAST):
                said = _said(after, position)
                assert said in (None, _said(before, position)), (identity, lost, position)
        for each in module.passes:
            for identity in each.ids:
                alone = sorted(map(str, altered.rows(queries[identity])))
                own = f"SELECT * EXCLUDE (definition) FROM ({each.sql}) WHERE definition = '{identity}'"
                assert sorted(map(str, altered.rows(own))) == alone


def test_spark_says_the_same(folder: Path, tmp_path: Path, spark: SparkSession) -> None:
    """Of a table that is joined, and of one that is gathered."""
    wanted = {each.mark.id: each.sql for each in _compiled(folder, "duckdb").definitions}
    for data, _ in list(_altered(folder, tmp_path))[1::3]:
        given = Data(data, SCHEMAS)
        for table, columns in SCHEMAS.items():
            rows = given.rows(f"SELECT {', '.join(columns)} FROM {table}")
            ddl = ", ".join(f"`{name}` {kind}" for name, kind in columns.items())
            content = pa.Table.from_pylist(
                [dict(row) for row in rows], to_arrow_schema(StructType.fromDDL(ddl))
            )
            spark.createDataFrame(content).createOrReplaceTempView(table.replace(".", "_"))
        for each in _compiled(folder, "spark").definitions:
            found = spark.sql(each.sql.replace("db.", "db_")).select(
                "from_position", "to_position", "verdict"
            )
            shown = sorted(str(tuple(row)) for row in found.collect())
            here = given.rows(wanted[each.mark.id])
            assert shown == sorted(
                str((row["from_position"], row["to_position"], row["verdict"])) for row in here
            )
