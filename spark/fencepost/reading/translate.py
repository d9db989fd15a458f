"""Translates queries from Spark's SQL to DuckDB's."""

from __future__ import annotations

import sqlglot
from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ErrorLevel, ParseError, SqlglotError

from fencepost.iceberg.catalog import NAME
from fencepost.reading import QueryError
from fencepost.reading.spark_functions import for_duckdb
from fencepost.reading.translation import Translation

_IN_SPARK = (
    "Correct it, or have Spark run it as it stands, which takes longer to start: fencepost sql --engine spark"
)


_OF_SPARK = (
    "Older versions of a table, and what Iceberg tells of it (snapshots, files), are read by Spark: "
    "fencepost sql --engine spark"
)


class _Spark(Spark):
    """Spark since version 4: a value that cannot be cast is an error, not null."""

    class Parser(Spark.Parser):  # type: ignore[valid-type, misc]
        STRICT_CAST = True


def parsed(sql: str) -> exp.Query:
    """The parsed query. Raises QueryError, also if ``sql`` is not exactly one query."""
    try:
        statements = [each for each in sqlglot.parse(sql, read=_Spark) if each is not None]
    except ParseError as error:
        first = error.errors[0]
        where = f"line {first.get('line')}, column {first.get('col')}: {first.get('description')}"
        word = first.get("highlight") or ""
        hint = f" A name that SQL uses as a word needs backquotes: `{word}`." if word.isidentifier() else ""
        raise QueryError(
            f"sqlglot, which translates Spark's SQL, cannot read this ({where}).{hint} {_IN_SPARK}"
        ) from error
    except SqlglotError as error:
        raise QueryError(
            f"sqlglot, which translates Spark's SQL, cannot read this ({error}). {_IN_SPARK}"
        ) from error
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        raise QueryError(
            "DuckDB, which runs queries here, is given one query that reads (SELECT, WITH, DESCRIBE, SHOW). "
            "For anything else ask Spark, which takes longer to start: fencepost sql --engine spark"
        )
    return statements[0]


def translated(sql: str) -> Translation:
    """A query's translation. Raises QueryError."""
    query = parsed(sql)
    return Translation(to_duckdb(query), tuple(tables(query)), words(query), frozenset(parameters(query)))


def tables(query: exp.Expr) -> list[str]:
    """The tables of the lake that a query names, as ``schema.table``. Raises QueryError."""
    names: dict[str, None] = {}
    for table in query.find_all(exp.Table):
        if not table.db:
            # a common table expression, a function, or a name that DuckDB will refuse
            continue
        if table.args.get("version") or table.args.get("when"):
            raise QueryError(f"{table.sql('spark')}: {_OF_SPARK}")
        if table.catalog not in ("", NAME):
            raise QueryError(
                f"{table.sql('spark')}: there is no catalog {table.catalog}, tables are named schema.table. "
                f"{_OF_SPARK}"
            )
        names[f"{table.db}.{table.name}"] = None
    return list(names)


def parameters(query: exp.Expr) -> set[str]:
    """The names of the parameters, ``:name``, in a query."""
    return {each.name for each in query.find_all(exp.Placeholder)}


def words(query: exp.Expr) -> frozenset[str] | None:
    """Every name in a query, in lower case: the columns that it needs, and others. None if it needs all."""
    if any(not isinstance(each.parent, exp.Count) for each in query.find_all(exp.Star)):
        return None
    if any(each.method == "NATURAL" for each in query.find_all(exp.Join)):
        return None
    return frozenset(each.name.lower() for each in query.find_all(exp.Identifier))


def to_duckdb(query: exp.Query) -> str:
    """The query's text for DuckDB; its columns keep the names that Spark gives them. Raises QueryError."""
    translated = for_duckdb(_with_escapes(_with_names(query.copy())))
    try:
        return translated.sql("duckdb", unsupported_level=ErrorLevel.RAISE)
    except SqlglotError as error:
        raise QueryError(
            f"DuckDB, which runs queries here, has no word for it: {error}. {_IN_SPARK}"
        ) from error


def _with_escapes(query: exp.Query) -> exp.Query:
    """Make the backslash the escape character of LIKE, as in Spark; by default DuckDB has none."""
    for each in list(query.find_all(exp.Like, exp.ILike)):
        if not isinstance(each.parent, exp.Escape):
            each.replace(exp.Escape(this=each.copy(), expression=exp.Literal.string("\\")))
    return query


def _with_names(query: exp.Query) -> exp.Query:
    """Name columns without a name by their text in Spark, as Spark does; DuckDB's text is different."""
    first = query
    while isinstance(first, exp.SetOperation):
        first = first.left
    if isinstance(first, exp.Select):
        first.set("expressions", [_with_name(each) for each in first.expressions])
    return query


def _with_name(column: exp.Expr) -> exp.Expr:
    if column.is_star or isinstance(
        column, exp.Column | exp.Alias | exp.Aliases | exp.Explode | exp.Posexplode
    ):
        return column
    return exp.alias_(column, _text(column), quoted=True)


def _text(column: exp.Expr) -> str:
    if isinstance(column, exp.Cast) and isinstance(column.this, exp.Column):
        return column.this.name
    return str(column.transform(_as_spark_prints).sql("spark", normalize_functions="lower"))


def _as_spark_prints(node: exp.Expr) -> exp.Expr:
    """An expression in Spark's form: text and names without quotes, operators in parentheses,
    ``count(1)``.
    """
    if isinstance(node, exp.Literal):
        return exp.var(node.name)
    if isinstance(node, exp.Identifier):
        return exp.to_identifier(node.name)
    if isinstance(node, exp.IntDiv):
        return exp.var(f"({_text(node.this)} div {_text(node.expression)})")
    if isinstance(node, exp.Count) and isinstance(node.this, exp.Star):
        return exp.var("count(1)")
    if isinstance(node, exp.Binary) and not isinstance(node, exp.Dot):
        return exp.Paren(this=node) if not isinstance(node.parent, exp.Paren) else node
    return node
