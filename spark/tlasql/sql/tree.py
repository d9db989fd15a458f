"""Small builders of sqlglot trees: names, JSON objects, typed nulls, conjunctions. No SQL text is pasted
together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import count

from sqlglot import exp

DIALECT = "spark"
_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")
_RESERVED = set(
    re.findall(
        r"\w+",
        """
        all analyse analyze and anti any array as asc asof asymmetric at authorization between bigint
        binary bit boolean both by case cast char character check coalesce collate collation column
        columns concurrently constraint create cross current_catalog current_date current_role
        current_schema current_time current_timestamp current_timezone current_user dec decimal default
        deferrable desc describe distinct do else end except exists extract false fetch float for
        foreign freeze from full generated glob group grouping grouping_id having ilike in initially
        inner inout int integer intersect interval into is isnull join lambda lateral leading left like
        limit localtime localtimestamp map member minus national natural nchar none not notnull null
        nullif numeric offset on only or order out outer overlaps overlay partition pivot pivot_longer
        pivot_wider placing position positional precision primary qualify real references returning
        right row rule select semi session_user set setof show similar smallint some state struct
        substring summarize symmetric system_user table tablesample then time timestamp to trailing
        treat trim true try_cast tuple union unique unpack unpivot user using values varchar variadic
        verbose when where window with xmlattributes xmlconcat xmlelement xmlexists xmlforest
        xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable
        """,
    )
)
"""Words that one of the engines does not take for a name."""
_LONG = 150
"""Nodes that are written once, with a lambda, rather than several times."""


def name(text: str) -> exp.Identifier:
    """An identifier, quoted unless it is a plain lower-case word."""
    return exp.to_identifier(text, quoted=not _PLAIN.fullmatch(text) or text in _RESERVED)


def is_long(*parts: exp.Expr) -> bool:
    """Whether the parts together are too long to be written several times."""
    return sum(1 for each in parts for _ in each.walk()) >= _LONG


def parameters(columns: Iterable[str]) -> Callable[[str], str]:
    """Gives names to parameters of lambdas: none twice, and none like the beginning of one of ``columns``,
    which it would hide.
    """
    taken = tuple(each.lower() for each in columns)
    numbers = count(1)

    def fresh(stem: str) -> str:
        found = f"{stem}_{next(numbers)}"
        while any(each.startswith(found.lower()) for each in taken):
            found = f"{stem}_{next(numbers)}"
        return found

    return fresh


def col(column: str, table: str | None = None) -> exp.Column:
    """``table.column``"""
    return exp.Column(this=name(column), table=name(table) if table else None)


def alias(tree: exp.Expr, text: str) -> exp.Expr:
    """``tree AS text``; a column that already has this name stays as it is."""
    if isinstance(tree, exp.Column) and tree.name == text:
        return tree
    return exp.Alias(this=tree, alias=name(text))


def table(path: str, as_name: str | None = None) -> exp.Table:
    """``schema.table AS as_name``"""
    schema, _, tail = path.rpartition(".")
    found = exp.Table(this=name(tail), db=name(schema) if schema else None)
    if as_name is not None:
        found.set("alias", exp.TableAlias(this=name(as_name)))
    return found


def string(text: str) -> exp.Expr:
    """A string literal."""
    return exp.Literal.string(text)


def null(kind: str) -> exp.Expr:
    """``CAST(NULL AS kind)``"""
    return exp.cast(exp.null(), kind)


def is_null(tree: exp.Expr) -> exp.Expr:
    """``tree IS NULL``"""
    return exp.Is(this=tree, expression=exp.null())


def is_known(tree: exp.Expr) -> exp.Expr:
    """``tree IS NOT NULL``"""
    return exp.Not(this=exp.Is(this=tree, expression=exp.null()))


def negation(tree: exp.Expr) -> exp.Expr:
    """``NOT tree``"""
    return exp.not_(tree, copy=False)


def grouped(tree: exp.Expr) -> exp.Expr:
    """``tree`` in parentheses where it binds weaker than a comparison."""
    loose = isinstance(tree, exp.Binary | exp.Not) and not isinstance(tree, exp.Dot)
    return exp.Paren(this=tree) if loose else tree


def all_of(trees: Iterable[exp.Expr]) -> exp.Expr:
    """Kleene conjunction; TRUE for none."""
    found = list(trees)
    return exp.and_(*found, copy=False) if found else exp.true()


def any_of(trees: Iterable[exp.Expr]) -> exp.Expr:
    """Kleene disjunction; FALSE for none."""
    found = list(trees)
    return exp.or_(*found, copy=False) if found else exp.false()


def surely(tree: exp.Expr) -> exp.Expr:
    """``COALESCE(tree, FALSE)``: unknown counts as no."""
    return exp.Coalesce(this=tree, expressions=[exp.false()])


def case(branches: Sequence[tuple[exp.Expr, exp.Expr]]) -> exp.Expr:
    """``CASE WHEN ... THEN ... END``, null when no branch is true."""
    return exp.Case(ifs=[exp.If(this=test, true=then) for test, then in branches])


def case_of(
    value: exp.Expr, branches: Sequence[tuple[exp.Expr, exp.Expr]], default: exp.Expr | None = None
) -> exp.Expr:
    """``CASE value WHEN ... THEN ... ELSE default END``"""
    ifs = [exp.If(this=test, true=then) for test, then in branches]
    return exp.Case(this=grouped(value), ifs=ifs, default=default)


def call(function: str, *arguments: exp.Expr) -> exp.Expr:
    """A function that sqlglot gives no node of its own, printed as named."""
    return exp.Anonymous(this=function, expressions=list(arguments))


def json_object(columns: Sequence[exp.Expr]) -> exp.Expr:
    """The columns as one JSON object, nulls kept."""
    if not columns:
        return string("{}")
    keep = call("MAP", string("ignoreNullFields"), string("false"))
    return call("TO_JSON", call("STRUCT", *columns), keep)
