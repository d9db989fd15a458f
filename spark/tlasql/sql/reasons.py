"""Why a verdict is unknown: one word for each unknown row, from the mapping's ``[reasons]``.

The mapping may give a column the one reason for which its values are unknown, name a column in which a row
says its own reason, and give the table a reason for all else. Where it gives none, the reasons are those
below.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from tlasql.mapping.model import Mapping, TableReasons
from tlasql.sql import tree

NOT_COVERED = "not_covered"
"""Of a piece of history that is not completely known."""
NOT_KNOWN = "not_known"
"""Of a value that a table does not have."""
SEVERAL_STATES = "several_states"
"""Of a record that met one of several states, about which a definition says different things."""
NO_VALUE = "no_value"
"""Of a definition that has no value, because TLC would stop at it."""

WORDS = (NOT_COVERED, NOT_KNOWN, SEVERAL_STATES, NO_VALUE)

Read = tuple[exp.Expr, str, str]
"""A value that a definition reads: what holds it in the query, and the table and the column it is from."""


@dataclass
class Why:
    """The reason for an unknown verdict. ``own``: (test, reason) of values that are unknown for a reason of
    their own; ``rows``: what rows say themselves; ``otherwise``: the reason where none of these says one.
    """

    own: list[tuple[exp.Expr, exp.Expr]] = field(default_factory=list)
    rows: list[exp.Expr] = field(default_factory=list)
    otherwise: str = NOT_KNOWN

    def said(self) -> exp.Expr:
        """The reason, never null."""
        others = first_of(self.rows, self.otherwise)
        if not self.own:
            return others
        return exp.Case(ifs=[exp.If(this=test, true=then) for test, then in self.own], default=others)


def first_of(rows: Sequence[exp.Expr], word: str) -> exp.Expr:
    """The first of ``rows`` that is not null, else ``word``."""
    last = tree.string(word)
    return exp.Coalesce(this=rows[0], expressions=[*rows[1:], last]) if rows else last


def of_table(mapping: Mapping, table: str) -> TableReasons:
    """The reasons that the mapping gives for a table."""
    return mapping.reasons.get(table, TableReasons(None, {}, None))


def own_reasons(mapping: Mapping, read: Iterable[Read]) -> list[tuple[exp.Expr, exp.Expr]]:
    """(test, reason) of those values that are unknown for a reason of their own, one for each reason."""
    tests: dict[str, list[exp.Expr]] = {}
    for value, table, column in read:
        reason = of_table(mapping, table).columns.get(column)
        if reason is not None:
            tests.setdefault(reason, []).append(tree.is_null(value))
    return [(tree.any_of(each), tree.string(reason)) for reason, each in tests.items()]


def no_value(read: Iterable[exp.Expr]) -> tuple[exp.Expr, exp.Expr]:
    """(test, reason) of a definition that is unknown although all that it reads is known."""
    return tree.all_of(map(tree.is_known, read)), tree.string(NO_VALUE)


def reason_uncovered(mapping: Mapping, table: str | None = None) -> exp.Expr:
    """The reason of a piece that is not completely known; ``table`` qualifies its columns."""
    return _of_row(mapping, mapping.coverage, NOT_COVERED, table)


def reason_of_row(mapping: Mapping, table: str) -> exp.Expr:
    """The reason of a row of ``table`` that is not known where it is true."""
    return _of_row(mapping, table, NOT_KNOWN)


def _of_row(mapping: Mapping, table: str, otherwise: str, alias: str | None = None) -> exp.Expr:
    """The reason that a row says itself, or what the mapping says of its table."""
    found = of_table(mapping, table)
    rows = [] if found.row is None else [tree.col(found.row, alias)]
    return first_of(rows, found.otherwise or otherwise)
