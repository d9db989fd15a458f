"""Tables on this machine, queried by DuckDB: a database file, or a folder with a file per table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tlasql.errors import Location, fail
from tlasql.mapping import Schemas

_READERS = {".parquet": "read_parquet", ".csv": "read_csv", ".json": "read_json", ".ndjson": "read_json"}


class Data:
    """``path``: a DuckDB database, or a folder of ``<schema>.<table>.parquet`` (or csv, json, ndjson).

    Raises TlaSqlError when there is no such path, or DuckDB is not installed.
    """

    def __init__(self, path: Path, schemas: Schemas) -> None:
        try:
            import duckdb
        except ImportError as error:
            here = Location(str(path), 1, 1)
            raise fail(here, "DuckDB is not installed", "pip install duckdb") from error
        if not path.exists():
            raise fail(
                Location(str(path), 1, 1), "no such data", "name a DuckDB database or a folder of tables"
            )
        self._where = Location(str(path), 1, 1)
        self._connection = duckdb.connect(
            ":memory:" if path.is_dir() else str(path), read_only=path.is_file()
        )
        self._connection.execute("SET TimeZone = 'UTC'")
        if path.is_dir():
            self._attach(path, schemas)

    def rows(self, sql: str, asked_by: Location | None = None) -> list[Mapping[str, Any]]:
        """The rows of a SELECT by column name.

        Raises TlaSqlError at ``asked_by``, the definition, when DuckDB cannot give them.
        """
        import duckdb

        try:
            found = self._connection.execute(sql)
            names = [each[0] for each in found.description or []]
            return [dict(zip(names, row, strict=True)) for row in found.fetchall()]
        except duckdb.Error as error:
            words = next(line for line in str(error).splitlines() if line.strip())
            remedy = "the data may not be what the mapping says; `tlasql check` prepares every query"
            raise fail(asked_by or self._where, f"DuckDB cannot judge it: {words}", remedy) from error

    def _attach(self, folder: Path, schemas: Schemas) -> None:
        files = {
            each.name.removesuffix(each.suffix): each
            for each in sorted(folder.iterdir())
            if each.suffix in _READERS
        }
        for table, columns in schemas.items():
            schema, _, name = table.rpartition(".")
            path = files.get(table)
            if path is None:
                continue
            if schema:
                self._connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
            where = f'"{schema}"."{name}"' if schema else f'"{name}"'
            source = f"{_READERS[path.suffix]}('{str(path).replace(chr(39), chr(39) * 2)}')"
            known = {
                row[0] for row in self._connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
            }
            shown = [f'CAST("{c}" AS {duckdb_type(t)}) AS "{c}"' for c, t in columns.items() if c in known]
            self._connection.execute(f"CREATE VIEW {where} AS SELECT {', '.join(shown)} FROM {source}")


def duckdb_type(spark: str) -> str:
    """The DuckDB type of a column by its Spark type."""
    from sqlglot import exp

    return exp.DataType.build(spark, dialect="spark").sql(dialect="duckdb")
