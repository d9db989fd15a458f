"""A lake read without Spark: PyIceberg finds a table's files, DuckDB reads them and runs queries."""

from __future__ import annotations

import difflib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import duckdb

from fencepost.iceberg.catalog import NAME
from fencepost.protocols import functions
from fencepost.reading import LakeError, QueryError, Value, Where
from fencepost.reading.local_io import LocalFileIO
from fencepost.reading.parquet import from_files
from fencepost.reading.quoting import quoted, table_name
from fencepost.reading.spilling import BATCH, spilling_to
from fencepost.reading.tables import View, in_words, tables_of
from fencepost.settings import Lake
from fencepost.tables import CHAPTER

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.table import Table
    from sqlglot import exp

_DUCKDB_TYPES = {"int": "INTEGER", "binary": "BLOB"}
PIECE_BYTES = 128 << 20
_IN_SPARK = "Spark may read it: fencepost sql --engine spark"


class IcebergReader:
    """A :class:`fencepost.reading.Reader`.

    A table is looked up when it is first named, and stays as it was then, whatever is committed meanwhile.
    """

    engine = "duckdb"

    def __init__(
        self, lake: Lake, scratch: Path | None = None, chosen: BooleanExpression | None = None
    ) -> None:
        """``scratch``: a folder for what queries do not hold in memory (spilling); without one, they have all
        of it.
        ``chosen``: files of tables with chapters where it cannot hold are not opened.
        """
        self._lake = lake
        self._scratch = scratch
        self._chosen = chosen
        self._of_chapters: dict[tuple[tuple[str, int], ...], IcebergReader] = {}
        self._catalog = tables_of(lake)
        self._tables: dict[str, Table | View | None] = {}
        self._attached: dict[str, frozenset[str] | None] = {}
        self._numbers = count()
        # extensions would be downloaded, and spilled rows would go to the working directory
        config = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
        spilled = spilling_to(scratch) if scratch else {"temp_directory": tempfile.gettempdir()}
        self._connection = duckdb.connect(config=config | spilled)
        self._run("SET TimeZone = 'UTC'")
        # a query may name the catalog, as Spark's may
        self._run(f"ATTACH ':memory:' AS {NAME}")
        self._run(f"USE {NAME}")
        for each in functions():
            types: list[Any] = [_DUCKDB_TYPES[kind] for kind in each.parameters]
            self._connection.create_function(each.name, each.call, types, _DUCKDB_TYPES[each.returns])

    def __enter__(self) -> IcebergReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in (*self._of_chapters.values(), self):
            each._connection.close()

    def of_chapters(self, since: Mapping[str, int]) -> IcebergReader:
        """A reader for queries that choose rows of these chapters alone, by cluster the first one: it opens
        no files of others. It knows what this one knows, and is closed with it.
        """
        key = tuple(sorted(since.items()))
        if key not in self._of_chapters:
            from pyiceberg import expressions

            words: Any = expressions
            begun = (
                words.And(words.EqualTo("cluster", cluster), words.GreaterThanOrEqual(CHAPTER, begin))
                for cluster, begin in key
            )
            reader = IcebergReader(self._lake, self._scratch, reduce(words.Or, begun))
            reader._catalog, reader._tables = self._catalog, self._tables
            self._of_chapters[key] = reader
        return self._of_chapters[key]

    def has(self, table: str) -> bool:
        """See Reader."""
        return self._find(table) is not None

    def scan(self, table: str, columns: Sequence[str] = (), where: Where | None = None) -> pa.Table:
        """See Reader. Files whose values lie elsewhere are not opened, other columns not read."""
        found = self._find(table)
        if found is None:
            raise LakeError(self._no_such(table))
        if isinstance(found, View):
            self._attach(table, None)
            source = f"SELECT * FROM {table_name(table)}"
        else:
            source = self._rows(table, found, _columns_of(columns, where), _condition(where))
        rows = self._relation(source)
        for name, value in (where or {}).items():
            rows = rows.filter(_equal(name, value))
        if columns:
            rows = rows.select(*map(duckdb.ColumnExpression, columns))
        return _arrow(rows)

    def query(self, sql: str, **parameters: object) -> pa.Table:
        """See Reader."""
        from fencepost.reading import translate

        query = translate.parsed(sql)
        self._attach_named(query)
        asked = translate.parameters(query)
        return self._answer(
            translate.to_duckdb(query), {name: parameters[name] for name in parameters if name in asked}
        )

    def pieces(self, sql: str) -> tuple[pa.Schema, Iterator[pa.Table]]:
        """The schema of a query's rows, and the rows a piece of them at a time; no other query may be asked
        meanwhile. Both raise QueryError.
        """
        from fencepost.reading import translate

        query = translate.parsed(sql)
        self._attach_named(query)
        with _refusals():
            found = self._connection.sql(translate.to_duckdb(query))
            batches = found.to_arrow_reader(BATCH)
            return _as_spark_has_it(batches.schema.empty_table(), found).schema, _pieces(batches, found)

    def query_duckdb(self, sql: str) -> pa.Table:
        """See Reader."""
        import sqlglot

        self._attach_named(sqlglot.parse_one(sql, read="duckdb"))
        return self._answer(sql, {})

    def _answer(self, sql: str, parameters: Mapping[str, object]) -> pa.Table:
        with _refusals():
            return _arrow(self._connection.sql(sql, params=dict(parameters) if parameters else None))

    def _run(self, sql: str) -> None:
        self._connection.execute(sql).fetchall()

    def find(self, table: str) -> Table | View | None:
        """The table or view, as it was when it was first asked for. Raises LakeError."""
        return self._find(table)

    def learn(self, table: str, now: Table | View) -> None:
        """From here on the table or view is this one: it is not what it was when it was first asked for."""
        self._tables[table] = now
        for each in (self, *self._of_chapters.values()):
            if table in each._attached:
                # what was made of it before needs what it needed
                each._attach(table, each._attached.pop(table))

    def _find(self, table: str) -> Table | View | None:
        """The table or view, as it was when it was first asked for. Raises LakeError."""
        if table not in self._tables:
            self._tables[table] = self._catalog.find(table) if "." in table else None
        return self._tables[table]

    def _attach_named(self, query: exp.Expr) -> None:
        from fencepost.reading import translate

        words = translate.words(query)
        for table in translate.tables(query):
            self._attach(table, words)

    def _attach(self, table: str, words: frozenset[str] | None) -> None:
        """Make DuckDB know a table or view, with the columns among ``words`` at least. Raises LakeError."""
        known = self._attached.get(table, frozenset())
        if known is None or (words is not None and words <= known and table in self._attached):
            return
        found = self._find(table)
        if found is None:
            raise LakeError(self._no_such(table))
        self._run(f"CREATE SCHEMA IF NOT EXISTS {quoted(table.partition('.')[0])}")
        if isinstance(found, View):
            from fencepost.reading import translate

            query = translate.parsed(found.sql)
            self._attach_named(query)
            columns = ", ".join(map(quoted, found.columns))
            self._run(
                f"CREATE OR REPLACE VIEW {table_name(table)}({columns}) AS {translate.to_duckdb(query)}"
            )
            self._attached[table] = None
            return
        # views that were made of the table before need what they needed
        needed = None if words is None else words | known
        names = [field.name for field in found.schema().fields]
        chosen = () if needed is None else [each for each in names if each.lower() in needed]
        source = self._rows(table, found, chosen, None)
        with self._file_errors():
            self._run(f"CREATE OR REPLACE VIEW {table_name(table)} AS {source}")
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

    def _rows(
        self, name: str, table: Table, columns: Sequence[str], condition: BooleanExpression | None
    ) -> str:
        """A query for the rows of a table, without those of files where ``condition`` cannot hold."""
        if self._chosen and CHAPTER in (each.name for each in table.spec().fields):
            condition = self._chosen
        try:
            tasks = list((table.scan(condition) if condition else table.scan()).plan_files())
            return from_files(table, tasks) or self._from_arrow(table, columns, condition)
        except FileNotFoundError as error:
            raise LakeError(in_words(self._lake.catalog, error)) from error
        except (ValueError, NotImplementedError) as error:
            raise LakeError(f"{name} cannot be read without Spark: {error}. {_IN_SPARK}") from error

    def _from_arrow(self, table: Table, columns: Sequence[str], condition: BooleanExpression | None) -> str:
        """Rows read by PyIceberg: files elsewhere, and files with rows that were deleted since."""
        if any("list<struct<" in str(each.field_type) for each in table.schema().fields):
            raise NotImplementedError(
                "of a list of structs PyIceberg 0.12 makes an empty one where it is null"
            )
        if isinstance(table.io, LocalFileIO):
            from pyiceberg.io.pyarrow import PyArrowFileIO

            table.io = PyArrowFileIO()
        chosen = tuple(columns) or ("*",)
        scan = (
            table.scan(condition, selected_fields=chosen) if condition else table.scan(selected_fields=chosen)
        )
        name = f"arrow {next(self._numbers)}"
        self._connection.register(name, scan.to_arrow())
        return f"SELECT * FROM {quoted(name)}"

    def _no_such(self, table: str) -> str:
        schema = table.partition(".")[0]
        schemas = self._catalog.schemas()
        there = self._catalog.names(schema) if schema in schemas else []
        by_name = {each.rpartition(".")[2]: each for each in there}
        close = difflib.get_close_matches(table.rpartition(".")[2], by_name, n=3, cutoff=0.6)
        near = [by_name[each] for each in close]
        known = f" Near: {', '.join(near)}." if near else ""
        if there and not near:
            known = f" {schema} has: {', '.join(sorted(there))}."
        return (
            f"The lake has no table {table}.{known} Tables are named schema.table, the schemas are "
            f"{', '.join(schemas)}; `fencepost audit` makes those that are missing."
        )


def _columns_of(columns: Sequence[str], where: Where | None) -> Sequence[str]:
    """What must be read to choose rows and show ``columns``."""
    return tuple(dict.fromkeys((*columns, *(where or {})))) if columns else ()


def _condition(where: Where | None) -> BooleanExpression | None:
    """The condition in PyIceberg's words, by which it leaves out files; None where there is none."""
    if not where:
        return None
    from pyiceberg import expressions

    # mypy takes the fields of these classes for their parameters
    words: Any = expressions
    found = [
        words.IsNull(name)
        if value is None
        else words.EqualTo(name, value)
        if isinstance(value, str | int)
        else words.In(name, set(value))
        for name, value in where.items()
    ]
    condition: BooleanExpression = reduce(words.And, found)
    return condition


def _equal(name: str, value: Value | Sequence[str]) -> duckdb.Expression:
    column = duckdb.ColumnExpression(name)
    if value is None:
        return column.isnull()
    if isinstance(value, str | int):
        return column == duckdb.ConstantExpression(value)
    if not value:
        return duckdb.ConstantExpression(False)
    return column.isin(*map(duckdb.ConstantExpression, value))


@contextmanager
def _refusals() -> Iterator[None]:
    """What DuckDB says when it refuses a query, in words."""
    try:
        yield
    # a sum may be too large for what Spark has for it; of rows in batches Arrow says what DuckDB says
    except (duckdb.Error, ValueError, OSError) as error:
        raise QueryError(
            f"DuckDB, which runs queries here, refused this one: {str(error).strip()}\n"
            "It was translated from Spark's SQL. Correct it, or have Spark run it as it stands, "
            "which takes longer to start: fencepost sql --engine spark"
        ) from error


def _pieces(batches: pa.RecordBatchReader, found: duckdb.DuckDBPyRelation) -> Iterator[pa.Table]:
    """The rows of a relation, which come in batches, as many at a time as PIECE_BYTES hold."""
    import pyarrow as pa

    held: list[pa.RecordBatch] = []
    while True:
        with _refusals():
            batch = next(batches, None)
        held += [] if batch is None else [batch]
        if held and (batch is None or sum(each.nbytes for each in held) >= PIECE_BYTES):
            yield _as_spark_has_it(pa.Table.from_batches(held), found)
            held = []
        if batch is None:
            return


def _arrow(found: duckdb.DuckDBPyRelation) -> pa.Table:
    """The rows of a relation."""
    return _as_spark_has_it(found.to_arrow_table(), found)


def _as_spark_has_it(rows: pa.Table, found: duckdb.DuckDBPyRelation) -> pa.Table:
    """Rows of a relation. DuckDB's sums have 128 bits and become Arrow's decimals: Spark's have 64."""
    table = rows.rename_columns(list(found.columns))
    for number, kind in enumerate(found.types):
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
