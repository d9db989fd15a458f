"""Tables on this machine, queried by DuckDB: a database file, or a folder with a file per table.

Each table of the schemas is a view on what is stored, in which every column has the type that the schemas
say. SQL is compiled for these types, and means something else with others: the text '10' is less than '9'.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tlasql.lang.errors import Location, TlaSqlError, fail
from tlasql.mapping.model import Schemas

_READERS = {
    ".parquet": "read_parquet({})",
    ".csv": "read_csv({}, header = true, skip = 0)",
    ".json": "read_json({})",
    ".jsonl": "read_json({})",
    ".ndjson": "read_json({})",
}
_FRACTIONS = {"DOUBLE", "FLOAT", "DECIMAL"}
_WORD = re.compile(r"\w+")
_STORED = "stored"
_OF_PARTS = re.compile(r"\]$|^(?:STRUCT|MAP)\(")
_NOTHING = re.compile(r"Could not convert string '(?:(?i:null|none|nan|n/a|na)|\\N|-)'")
"""What some write where they know nothing."""
_LINES = "the first line has the names of the columns, and each other line as many fields, with commas"
_CSV = "write it in UTF-8, and the values of a column alike"
_CSV_LINE = re.compile(
    r"CSV Error on Line: (\d+)\n(?:Original Line: .*\n)?(?:Error when converting column .*?\. )?(.*)"
)
_JSON = (
    'write a function as {"key": value, ...}, a record as {"field": value, ...}, a set or sequence as a list'
)
_JSON_LINE = re.compile(r"JSON transform error in file .*, in (?:line (\d+)|record/value \d+): (.*)")
_CSV_FILE = re.compile(r"^  file = (.*)$", re.MULTILINE)
_UNFIT = "the data may not be what the mapping says; `tlasql check` prepares every query"
_HOW = "name a DuckDB database, or a folder of <schema>.<table>.parquet, csv or json"


class Data:
    """``path``: a DuckDB database, or a folder of ``<schema>.<table>.parquet`` (or csv, json, jsonl, ndjson).

    Raises TlaSqlError when there is no such path, it cannot be read, a table of the schemas has none of its
    columns or has values that their types cannot hold, or DuckDB is not installed.
    """

    def __init__(self, path: Path, schemas: Schemas) -> None:
        self._where = Location(str(path), 1, 1)
        try:
            import duckdb
        except ImportError as error:
            raise fail(self._where, "DuckDB is not installed", "pip install duckdb") from error
        if not path.exists():
            raise fail(self._where, "no such data", _HOW)
        if path.is_file() and path.suffix.lower() in _READERS:
            remedy = f"name the folder that it is in: {path.parent}"
            raise fail(self._where, "this is the file of one table", remedy)
        self._connection = duckdb.connect()
        self._connection.execute("SET TimeZone = 'UTC'")
        self._connection.execute("SET autoinstall_known_extensions = false")
        stored = self._files(path) if path.is_dir() else self._tables(path)
        self._tables_absent = [table for table in schemas if table not in stored]
        self._columns_absent: dict[str, list[str]] = {}
        self._columns_other: dict[str, list[str]] = {}
        self._others = {} if path.is_file() else {each.name: each for each in sorted(path.iterdir())}
        self.places = {table: where for table, (where, _) in stored.items()}
        for table, columns in schemas.items():
            if table in stored:
                self._show(table, columns, stored[table])

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
            where = asked_by or self._where
            lacks = self._lacks(sql)
            if lacks is not None:
                raise fail(where, *lacks) from error
            raise _failed(error, where, "DuckDB cannot judge it", _UNFIT) from error

    def has(self, table: str, columns: Iterable[str]) -> bool:
        """Whether there is such a table with all of these columns."""
        return table in self.places and not {*columns} & {*self._columns_absent[table]}

    def _lacks(self, sql: str) -> tuple[str, str] | None:
        """What the data lacks of what a query asks for, if anything, and the remedy."""

        def asked(name: str) -> bool:
            return re.search(rf"\b{re.escape(name)}\b", sql) is not None

        for table in filter(asked, self._tables_absent):
            remedy = f"add {table}.parquet, csv or json, or the table"
            others = [str(path) for name, path in self._others.items() if name.startswith(f"{table}.")]
            if others:
                remedy = (
                    f"{others[0]} is none of the files that are read: make it {table}.parquet, csv or json"
                )
            elif (near := self._named_nearly(table)) is not None:
                remedy = f"rename {near} to {table}{near.suffix}, if it is meant"
            elif (inner := self._in_folders(table)) is not None:
                remedy = f"move {inner} to {Path(self._where.file) / table}{inner.suffix}, if it is meant"
            return f"{self._where.file} has no table {table}", remedy
        for table in filter(asked, self._columns_absent):
            for column in filter(asked, self._columns_absent[table]):
                called = {each.lower(): each for each in self._columns_other[table]}
                found = get_close_matches(column.lower(), called, 1)
                remedy = f"rename {called[found[0]]}, if it is meant" if found else "add the column"
                return f"{table} has no column {column} in {self._where.file}", remedy
        return None

    def _named_nearly(self, table: str) -> Path | None:
        """The file of a table whose name lacks the schema, or has another character between the two."""
        names = {table, table.rpartition(".")[2], table.replace(".", "_"), table.replace(".", "-")}
        every = (each for name, each in self._others.items() if Path(name).suffix.lower() in _READERS)
        return next((each for each in every if each.stem in names), None)

    def _in_folders(self, table: str) -> Path | None:
        """The file of a table in folders that are called as the parts of its name."""
        folder = Path(self._where.file, *table.split("."))
        every = sorted(folder.parent.glob(f"{folder.name}.*")) if folder.parent.is_dir() else []
        return next((each for each in every if each.suffix.lower() in _READERS), None)

    def _files(self, folder: Path) -> dict[str, tuple[Location, str]]:
        """Table -> the file that has it, and the file as a source of a query."""
        found: dict[str, tuple[Location, str]] = {}
        for each in sorted(folder.iterdir()):
            table, where = each.name.removesuffix(each.suffix), Location(str(each), 1, 1)
            if each.suffix.lower() not in _READERS:
                continue
            if table in found:
                message = f"{table} is in {Path(found[table][0].file).name}, too"
                raise fail(where, message, "keep one of the two files")
            found[table] = (where, _READERS[each.suffix.lower()].format(_text(str(each))))
        return found

    def _tables(self, database: Path) -> dict[str, tuple[Location, str]]:
        """Table -> the database, and the table in it."""
        with contextlib.suppress(OSError), database.open("rb") as file:
            if b"DUCK" not in file.read(16):  # another kind of database DuckDB would read with an extension
                raise fail(self._where, "this is no DuckDB database", _HOW)
        with self._failing(self._where, "this is no DuckDB database", _HOW):
            self._connection.execute(f"ATTACH {_text(str(database))} AS {_STORED} (READ_ONLY)")
            found = self._connection.execute(
                "SELECT table_schema, table_name FROM information_schema.tables WHERE table_catalog = ?",
                [_STORED],
            ).fetchall()
        return {
            name if schema == "main" else f"{schema}.{name}": (
                self._where,
                f"{_STORED}.{quoted(schema)}.{quoted(name)}",
            )
            for schema, name in found
        }

    def _show(self, table: str, columns: Mapping[str, str], stored: tuple[Location, str]) -> None:
        where, source = stored
        with self._failing(where, f"{table} cannot be read", "write it anew"):
            described = self._connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
        types = {row[0]: row[1] for row in described}
        is_json = source.startswith("read_json(")
        # so DuckDB shows a file without rows, which names no column
        is_unnamed = is_json and types == {"json": "JSON"}
        if is_unnamed and not self._connection.execute(f"SELECT 1 FROM {source} LIMIT 1").fetchall():
            types = {column: self._type(kind) for column, kind in columns.items()}
        known = {column: self._type(kind) for column, kind in columns.items() if column in types}
        self._columns_absent[table] = [column for column in columns if column not in types]
        self._columns_other[table] = [column for column in types if column not in columns]
        if not known:
            message = f"this has none of the columns of {table}"
            remedy = f"the schemas have {', '.join(columns)}; this has {', '.join(types)}"
            is_csv = source.startswith("read_csv(") and len(types) == 1
            raise fail(where, message, _LINES if is_csv else remedy)
        for column, kind in known.items():
            if types[column] != kind:
                check = self._check_times if "TIMESTAMP" in kind else self._check
                check(table, column, types[column], kind, stored)
        has_maps = is_json and any(kind.startswith("MAP(") for kind in known.values())
        if has_maps or is_unnamed:
            # as a struct, each object would have the keys of all others, too
            source = _json_source(source, known)
            counted = ", ".join(f"count({quoted(column)})" for column in known)
            with self._failing(where, f"{table} cannot be read", _JSON):
                self._connection.execute(f"SELECT {counted} FROM {source}")
        shown = ", ".join(f"CAST({quoted(c)} AS {kind}) AS {quoted(c)}" for c, kind in known.items())
        schema, _, name = table.rpartition(".")
        if schema:
            self._connection.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(schema)}")
        view = f"{quoted(schema)}.{quoted(name)}" if schema else quoted(name)
        self._connection.execute(f"CREATE VIEW {view} AS SELECT {shown} FROM {source}")

    def _type(self, spark: str) -> str:
        """The DuckDB type of a column by its Spark type, as DuckDB prints it."""
        described = f"DESCRIBE SELECT CAST(NULL AS {duckdb_type(spark)})"
        return str(self._connection.execute(described).fetchall()[0][1])

    def _check_times(
        self, table: str, column: str, given: str, kind: str, stored: tuple[Location, str]
    ) -> None:
        """Make sure that each value of a column is a time, of whatever zone."""
        where, source = stored
        remedy = "write times as 2026-11-20 23:43:51.016 in UTC, or with a zone: ...+02:00"
        with self._failing(where, f"{table}.{column} is {given}, which is no time", remedy):
            self._connection.execute(f"SELECT count(CAST({quoted(column)} AS {kind})) FROM {source}")

    def _check(self, table: str, column: str, given: str, kind: str, stored: tuple[Location, str]) -> None:
        """Make sure that each value of a column is one of its type: a cast would round 10.4."""
        import duckdb

        where, source = stored
        name = quoted(column)
        remedy = f"store the column as {kind}{_written(kind, source)}, or correct its type in the schemas"
        if kind == "VARCHAR" and _OF_PARTS.search(given):
            raise fail(where, f"{table}.{column} is {given}, which is no text", remedy)
        again = f"CAST(CAST({name} AS {kind}) AS {given})"
        changed_value = f"SELECT {name} FROM {source} WHERE {again} IS DISTINCT FROM {name} LIMIT 1"
        with self._failing(where, f"{table}.{column} is {given}, which is not {kind}", remedy):
            try:
                changed = self._connection.execute(changed_value).fetchone()
            except duckdb.ConversionException as error:
                # an object of JSON becomes a map, and no map becomes an object again
                if "Unimplemented type for cast" not in str(error) or _FRACTIONS & set(_WORD.findall(given)):
                    raise
                return
        if changed is not None:
            message = f"{table}.{column} is {given}, and the value {changed[0]!r} is no {kind}"
            raise fail(where, message, remedy)

    @contextmanager
    def _failing(self, where: Location, what: str, remedy: str) -> Iterator[None]:
        """Turns an error of DuckDB into a TlaSqlError at this place."""
        import duckdb

        try:
            yield
        except duckdb.Error as error:
            raise _failed(error, where, what, remedy) from error


def _failed(error: Exception, where: Location, what: str, remedy: str) -> TlaSqlError:
    line, file = _CSV_LINE.search(str(error)), _CSV_FILE.search(str(error))
    if line is not None and file is not None:
        return fail(Location(file[1], int(line[1]), 1), f"this cannot be read: {line[2]}", _CSV)
    json = _JSON_LINE.search(str(error))
    if json is not None:
        return fail(Location(where.file, int(json[1] or 1), 1), f"{what}: {json[2]}", remedy)
    words = next(line for line in str(error).splitlines() if line.strip())
    if _NOTHING.search(words):
        remedy = "leave empty what is not known"
    return fail(where, f"{what}: {words}", remedy)


def duckdb_type(spark: str) -> str:
    """The DuckDB type of a column by its Spark type."""
    from sqlglot import exp

    return exp.DataType.build(spark, dialect="spark").sql(dialect="duckdb")


def _written(kind: str, source: str) -> str:
    """How a column of parts is written in a file of text."""
    number = 0 if kind.endswith("]") else 1 if kind.startswith("MAP(") else 2 if _OF_PARTS.search(kind) else 3
    if source.startswith("read_json(") and number < 3:
        return ", in JSON " + ("[value, ...]", '{"key": value, ...}', '{"field": value, ...}')[number]
    if source.startswith("read_csv(") and number < 3:
        shape = ("[value, ...]", "{key=value, ...}", "{'field': value, ...}")[number]
        return f", in CSV {shape}, or the table as JSON or Parquet"
    return ""


def _json_source(source: str, types: Mapping[str, str]) -> str:
    """A file of JSON as a source, with these columns of these types."""
    columns = ", ".join(f"{quoted(column)}: {_text(kind)}" for column, kind in types.items())
    return f"{source.removesuffix(')')}, columns = {{{columns}}})"


def quoted(name: str, dialect: str = "duckdb") -> str:
    """A name as an engine reads it."""
    from sqlglot import exp

    return exp.to_identifier(name, quoted=True).sql(dialect)


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
