"""A lake read without Spark: PyIceberg finds a table's files, DuckDB reads them and runs queries."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from fencepost.conditions import Condition, Where, since_chapters
from fencepost.conditions.sql import in_duckdb
from fencepost.iceberg.catalog import NAME
from fencepost.quoting import quoted, table_name
from fencepost.reading import LakeError, QueryError, SqlFunction
from fencepost.reading.database import BATCH, Arriving, Database, FilesQuery, rows_of
from fencepost.reading.statements import no_schema, statement
from fencepost.reading.tables import View, in_words, tables_of
from fencepost.settings import Lake
from fencepost.tables import CHAPTER

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.table import Table

    from fencepost.reading.translation import Translation

_DUCKDB_TYPES = {"int": "INTEGER", "binary": "BLOB"}
PIECE_BYTES = 128 << 20
_MISSING = re.compile(r"Table with name (\w+) does not exist")
_IN_SPARK = "Spark may read it: fencepost sql --engine spark"


class IcebergReader(Database):
    """A :class:`fencepost.reading.Reader`.

    A table is looked up when it is first used, and this version is read from then on, even if others commit.
    """

    engine = "duckdb"

    def __init__(
        self,
        lake: Lake,
        functions: Sequence[SqlFunction],
        scratch: Path | None = None,
        files_of: Where | None = None,
    ) -> None:
        """``functions``: those that queries may call. ``scratch``: a folder to which queries spill rows that
        exceed a limit of memory; without it there is no limit. ``files_of``: in tables with chapters, files
        without such rows are not opened.
        """
        super().__init__(scratch)
        self._lake, self._functions = lake, functions
        self._scratch = scratch
        self._files_of = files_of
        self._of_chapters: dict[tuple[tuple[str, int], ...], IcebergReader] = {}
        self._catalog = tables_of(lake)
        self._tables: dict[str, Table | View | None] = {}
        self._attached: dict[str, frozenset[str] | None] = {}
        self._translations: dict[str, Translation] = {}
        # a query may name the catalog, as Spark's may
        self._run(f"ATTACH ':memory:' AS {NAME}")
        self._run(f"USE {NAME}")
        for each in functions:
            types: list[Any] = [_DUCKDB_TYPES[kind] for kind in each.parameters]
            self._connection.create_function(each.name, each.call, types, _DUCKDB_TYPES[each.returns])

    def __exit__(self, *error: Any) -> None:
        for each in self._of_chapters.values():
            each.__exit__(*error)
        super().__exit__(*error)

    def of_chapters(self, since: Mapping[str, int]) -> IcebergReader:
        """A reader for queries that choose only rows of some chapters: ``since`` has the first chapter of
        each cluster. It opens no files of earlier chapters. It shares the tables of this reader, and is
        closed with it.
        """
        key = tuple(sorted(since.items()))
        if key not in self._of_chapters:
            reader = IcebergReader(self._lake, self._functions, self._scratch, since_chapters(since))
            reader._catalog, reader._tables = self._catalog, self._tables
            reader._translations = self._translations
            self._of_chapters[key] = reader
        return self._of_chapters[key]

    def has(self, table: str) -> bool:
        """See Reader."""
        return self._find(table) is not None

    def scan(self, table: str, columns: Sequence[str] = (), where: Condition | None = None) -> pa.Table:
        """See Reader. Files whose statistics exclude ``where`` are not opened, and other columns are not
        read.
        """
        table_or_view = self._find(table)
        if table_or_view is None:
            raise LakeError(self._no_table(table))
        if isinstance(table_or_view, View):
            self._attach_table(table, None)
            rows = self._relation(f"SELECT * FROM {table_name(table)}")
            rows = rows.filter(in_duckdb([where])) if where else rows
        else:
            found = self._rows(table, table_or_view, columns, [where] if where else None)
            if isinstance(found, FilesQuery):
                rows = self._relation(found.sql)
            else:
                rows = self._connection.from_arrow(found)
        if columns:
            rows = rows.select(*map(duckdb.ColumnExpression, columns))
        return _arrow(rows)

    def query(self, sql: str, **parameters: object) -> pa.Table:
        """See Reader."""
        if (asked := statement(sql)) is not None:
            return asked.answer(self)
        query = self._attached_query(sql)
        used = {name: value for name, value in parameters.items() if name in query.parameters}
        return self._answer(query.sql, used)

    def schemas(self) -> Sequence[str]:
        """See fencepost.reading.statements.Names."""
        return self._catalog.schemas()

    def tables(self, schema: str) -> Sequence[str]:
        """See fencepost.reading.statements.Names."""
        found = [each.removeprefix(f"{schema}.") for each in self._catalog.names(schema)]
        if not found and schema not in self.schemas():
            raise LakeError(no_schema(schema, self.schemas()))
        return found

    def columns(self, table: str) -> Sequence[tuple[str, str]]:
        """See fencepost.reading.statements.Names."""
        from pyspark.sql.pandas.types import from_arrow_type

        if self._find(table) is None:
            raise LakeError(self._no_table(table))
        return [
            (each.name, from_arrow_type(each.type, prefer_timestamp_ntz=True).simpleString())
            for each in self.schema(f"SELECT * FROM {table_name(table)}")
        ]

    def schema(self, sql: str) -> pa.Schema:
        """The schema of a query's rows, without running it. Raises QueryError."""
        query = self._attached_query(sql)
        with _query_errors(self._no_table):
            return _arrow(self._connection.sql(query.sql).limit(0)).schema

    def pieces(self, sql: str) -> tuple[pa.Schema, Iterator[pa.Table]]:
        """The schema of a query's rows, and the rows in pieces. Until the last piece is read, no other query
        may be run. Both raise QueryError.
        """
        query = self._attached_query(sql)
        with _query_errors(self._no_table):
            relation = self._connection.sql(query.sql)
            batches = relation.to_arrow_reader(BATCH)
            return _with_spark_types(batches.schema.empty_table(), relation).schema, _pieces(
                batches, relation
            )

    def query_duckdb(self, sql: str) -> pa.Table:
        """See Reader."""
        import sqlglot

        from fencepost.reading import translate

        query = sqlglot.parse_one(sql, read="duckdb")
        self._attach_all(translate.tables(query), translate.words(query))
        return self._answer(sql, {})

    def remember(self, sql: str, translation: Translation) -> None:
        """Use this translation of a query: to translate one takes longer than to run it on few rows."""
        self._translations[sql] = translation

    def _answer(self, sql: str, parameters: Mapping[str, object]) -> pa.Table:
        with _query_errors(self._no_table):
            return _arrow(self._connection.sql(sql, params=dict(parameters) if parameters else None))

    def find(self, table: str) -> Table | View | None:
        """The table or view, in the version of its first use. Raises LakeError."""
        return self._find(table)

    def update(self, table: str, now: Table | View) -> None:
        """Use this version of the table or view from now on."""
        self._tables[table] = now
        for each in (self, *self._of_chapters.values()):
            if table in each._attached:
                # views on it need the same columns as before
                each._attach_table(table, each._attached.pop(table))

    def _find(self, table: str) -> Table | View | None:
        """The table or view, in the version of its first use. Raises LakeError."""
        if table not in self._tables:
            self._tables[table] = self._catalog.find(table) if "." in table else None
        return self._tables[table]

    def _attached_query(self, sql: str) -> Translation:
        """The translation of a query whose tables are attached. Raises QueryError and LakeError."""
        if sql not in self._translations:
            from fencepost.reading import translate

            self._translations[sql] = translate.translated(sql)
        query = self._translations[sql]
        self._attach_all(query.tables, query.words)
        return query

    def _attach_all(self, tables: Iterable[str], words: frozenset[str] | None) -> None:
        for table in tables:
            self._attach_table(table, words)

    def _attach_table(self, table: str, words: frozenset[str] | None) -> None:
        """Make a table or view available in DuckDB, at least its columns among ``words`` (None: all). Raises
        LakeError.
        """
        attached = self._attached.get(table, frozenset())
        if attached is None or (words is not None and words <= attached and table in self._attached):
            return
        table_or_view = self._find(table)
        if table_or_view is None:
            raise LakeError(self._no_table(table))
        self._run(f"CREATE SCHEMA IF NOT EXISTS {quoted(table.partition('.')[0])}")
        if isinstance(table_or_view, View):
            query = self._attached_query(table_or_view.sql)
            columns = ", ".join(map(quoted, table_or_view.columns))
            self._define(table, "VIEW", f"({columns}) AS {query.sql}")
            self._attached[table] = None
            return
        # views on the table need the columns that were attached before
        needed = None if words is None else words | attached
        names = [field.name for field in table_or_view.schema().fields]
        chosen = () if needed is None else [each for each in names if each.lower() in needed]
        rows = self._rows(table, table_or_view, chosen, None)
        with self._file_errors():
            self._attach(table, rows)
        self._attached[table] = needed

    def _relation(self, source: str) -> duckdb.DuckDBPyRelation:
        with self._file_errors():
            return self._connection.sql(source)

    @contextmanager
    def _file_errors(self) -> Iterator[None]:
        try:
            yield
        except duckdb.IOException as error:
            raise LakeError(in_words(self._lake.catalog, error)) from error

    def _rows(self, name: str, table: Table, columns: Sequence[str], where: Where | None) -> Arriving:
        """The rows of a table that ``where`` chooses, with at least these columns."""
        if where is None and self._files_of and CHAPTER in (each.name for each in table.spec().fields):
            where = self._files_of
        try:
            rows = rows_of(table, columns, where)
            # PyIceberg's errors are not hidden in those of DuckDB where all rows are read at once
            return rows if isinstance(rows, FilesQuery) else rows.read_all()
        except FileNotFoundError as error:
            raise LakeError(in_words(self._lake.catalog, error)) from error
        except (ValueError, NotImplementedError) as error:
            raise LakeError(f"{name} cannot be read without Spark: {error}. {_IN_SPARK}") from error

    def _no_table(self, table: str) -> str:
        schema, dot, _ = table.partition(".")
        schemas = self._catalog.schemas()
        near_schemas = [each for each in schemas if each == schema] or list(schemas)
        tables_of_schema = [name for each in near_schemas for name in self._catalog.names(each)]
        by_name = {each.rpartition(".")[2]: each for each in tables_of_schema}
        close = difflib.get_close_matches(table.rpartition(".")[2], by_name, n=3, cutoff=0.6)
        near = [by_name[each] for each in close]
        hint = f" Near: {', '.join(near)}." if near else ""
        if dot and schema in schemas and not near:
            hint = f" {schema} has: {', '.join(sorted(tables_of_schema))}."
        return (
            f"The lake has no table {table}.{hint} Tables are named schema.table, the schemas are "
            f"{', '.join(schemas)}; `fencepost audit` makes those that are missing."
        )


@contextmanager
def _query_errors(no_table: Callable[[str], str] | None = None) -> Iterator[None]:
    """Turn DuckDB's errors into a QueryError that says what to do; ``no_table``: the words where a table is
    named without its schema.
    """
    try:
        yield
    # ValueError: a sum may be too large for Spark's type; OSError: for rows in batches, Arrow raises the
    # errors
    except (duckdb.Error, ValueError, OSError) as error:
        missing = _MISSING.search(str(error)) if isinstance(error, duckdb.CatalogException) else None
        if missing is not None and no_table is not None:
            raise QueryError(no_table(missing[1])) from error
        raise QueryError(
            f"DuckDB, which runs queries here, refused this one: {str(error).strip()}\n"
            "It was translated from Spark's SQL. Correct it, or have Spark run it as it stands, "
            "which takes longer to start: fencepost sql --engine spark"
        ) from error


def _pieces(batches: pa.RecordBatchReader, relation: duckdb.DuckDBPyRelation) -> Iterator[pa.Table]:
    """The rows of a relation in pieces of about PIECE_BYTES, put together from its batches."""
    import pyarrow as pa

    waiting: list[pa.RecordBatch] = []
    while True:
        with _query_errors():
            batch = next(batches, None)
        waiting += [] if batch is None else [batch]
        if waiting and (batch is None or sum(each.nbytes for each in waiting) >= PIECE_BYTES):
            yield _with_spark_types(pa.Table.from_batches(waiting), relation)
            waiting = []
        if batch is None:
            return


def _arrow(relation: duckdb.DuckDBPyRelation) -> pa.Table:
    """The rows of a relation."""
    return _with_spark_types(relation.to_arrow_table(), relation)


def _with_spark_types(rows: pa.Table, relation: duckdb.DuckDBPyRelation) -> pa.Table:
    """Rows of a relation with Spark's types: DuckDB's sums have 128 bits (decimals in Arrow), Spark's have
    64.
    """
    table = rows.rename_columns(list(relation.columns))
    for number, kind in enumerate(relation.types):
        if "HUGEINT" in str(kind):
            field = table.schema.field(number)
            narrow = field.with_type(_narrow(field.type))
            table = table.set_column(number, narrow, table.column(number).cast(narrow.type))
    return table


def _narrow(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    if pa.types.is_list(kind):
        return pa.list_(_narrow(kind.value_type))
    return pa.int64() if pa.types.is_decimal(kind) and kind.scale == 0 else kind
