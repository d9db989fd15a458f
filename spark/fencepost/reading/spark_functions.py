"""Corrects queries where sqlglot's translation to DuckDB has another meaning in DuckDB, or none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

_MOMENTS = {"TIMESTAMP_SECONDS": 1_000_000, "TIMESTAMP_MILLIS": 1_000, "TIMESTAMP_MICROS": 1}
"""By function that makes a time of a number: the microseconds of its unit."""

_FORMATS = {"'T'": "T", "SSS": "%g", "XXX": "Z"}
"""Parts of Spark's patterns of time that sqlglot does not translate; the session's zone is UTC."""

_WITHOUT_NULLS = ((r',"[^"\\]*":null', ""), (r'[{]"[^"\\]*":null,?', "{"))
"""Patterns for fields that are null: all but the first, then the first. They cannot match inside a text of
JSON, where a quote has a backslash before it.
"""


def for_duckdb(query: exp.Query) -> exp.Query:
    """The query, with each of its parts in DuckDB's form."""
    # inner parts first, since they move with the outer part that is replaced
    for node in reversed(list(query.bfs())):
        replacement = _translated(node)
        if replacement is not node:
            node.replace(replacement)
    return query


def _translated(node: exp.Expr) -> exp.Expr:
    name = str(node.this).upper() if isinstance(node, exp.Anonymous) else ""
    if name in _MOMENTS:
        micros = exp.Mul(
            this=exp.Paren(this=node.expressions[0]), expression=exp.Literal.number(_MOMENTS[name])
        )
        return _call("MAKE_TIMESTAMPTZ", exp.cast(micros, "bigint"))
    rule = _RULES.get(type(node))
    return rule(node) if rule else node


def _call(name: str, *arguments: exp.Expr) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=list(arguments))


def _quantile(node: Any) -> exp.Expr:
    # DuckDB's QUANTILE is one of the values, Spark's percentile interpolates between them
    return _call("QUANTILE_CONT", node.this, node.args["quantile"])


def _count_if(node: Any) -> exp.Expr:
    # without rows DuckDB's is null
    return exp.Count(this=exp.Case().when(node.this, exp.Literal.number(1)))


def _of_extreme(name: str) -> Callable[[Any], exp.Expr]:
    # DuckDB's ARG_MIN passes over a row whose value is null
    return lambda node: node if node.args.get("count") else _call(name, node.this, node.expression)


def _floor(node: Any) -> exp.Expr:
    # of a decimal number DuckDB's has another type
    plain = (
        not node.args.get("decimals") and not node.args.get("to") and not isinstance(node.parent, exp.Cast)
    )
    return exp.cast(node, "bigint") if plain else node


def _unix_millis(node: Any) -> exp.Expr:
    # DuckDB rounds, Spark truncates
    return _call("EPOCH_MS", _call("DATE_TRUNC", exp.Literal.string("millisecond"), node.this))


def _json(node: Any) -> exp.Expr:
    # Spark leaves out fields that are null
    text: exp.Expr = exp.cast(_call("TO_JSON", node.this), "text")
    for pattern, replacement in _WITHOUT_NULLS:
        texts = map(exp.Literal.string, (pattern, replacement, "g"))
        text = _call("REGEXP_REPLACE", text, *texts)
    return text


def _time_text(node: exp.TimeToStr) -> exp.Expr:
    form = node.args["format"]
    if isinstance(form, exp.Literal):
        text = form.name
        for java_letters, strftime_letters in _FORMATS.items():
            text = text.replace(java_letters, strftime_letters)
        node.set("format", exp.Literal.string(text))
    return node


def _aliases(node: exp.Aliases) -> exp.Expr:
    """``stack(n, ...) as (a, b)``: n rows."""
    if not isinstance(node.this, exp.Stack):
        return node
    names, values = node.args["expressions"], node.this.expressions
    width = len(names)
    rows = [
        exp.Struct(
            expressions=[
                exp.PropertyEQ(this=exp.to_identifier(name.name), expression=value.copy())
                for name, value in zip(names, values[at : at + width], strict=True)
            ]
        )
        for at in range(0, len(values), width)
    ]
    expanded = exp.PropertyEQ(this=exp.to_identifier("recursive"), expression=exp.true())
    return _call("UNNEST", exp.Array(expressions=rows), expanded)


def _select(node: exp.Select) -> exp.Expr:
    # a hint does not change the result
    node.set("hint", None)
    return node


_RULES: dict[type[Any], Callable[[Any], exp.Expr]] = {
    exp.Quantile: _quantile,
    exp.CountIf: _count_if,
    exp.ArgMin: _of_extreme("ARG_MIN_NULL"),
    exp.ArgMax: _of_extreme("ARG_MAX_NULL"),
    exp.Floor: _floor,
    exp.UnixMillis: _unix_millis,
    exp.JSONFormat: _json,
    exp.TimeToStr: _time_text,
    exp.Aliases: _aliases,
    exp.Select: _select,
}
