"""Conditions that choose rows of a table: in the form that this package uses, and in Iceberg's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from typing import Any

from pyiceberg import expressions

__all__ = ["AtLeast", "Below", "Condition", "Where", "expression"]

Bound = int | datetime
"""A value that a column is compared with."""


@dataclass(frozen=True)
class AtLeast:
    """A column lies at or above ``value``."""

    value: Bound


@dataclass(frozen=True)
class Below:
    """A column lies below ``value``, and at or above ``least`` if there is one."""

    value: Bound
    least: Bound | None = None


_CLUSTER = "cluster"

# built by pydantic from names that mypy does not know
_of: Any = expressions

Condition = Mapping[str, Any]

Where = Sequence[Condition]
"""Chooses the rows that meet any of these conditions; an empty one chooses none.

A condition gives, for each column that it names, the value that the column must equal (None: it is null), a
frozenset of values of which it must be one, or a bound, :class:`AtLeast` or :class:`Below`.
"""


def expression(where: Where | None) -> Any:
    """Iceberg's expression for the rows that ``where`` chooses; None chooses all."""
    if where is None:
        return _of.AlwaysTrue()
    return reduce(_of.Or, [_all_of(each) for each in _merged_clusters(where)], _of.AlwaysFalse())


def _merged_clusters(where: Where) -> Iterator[Condition]:
    """Merges conditions that differ only in the cluster: Iceberg compares each condition with every file."""
    clusters_by_others: dict[tuple[tuple[str, Any], ...], set[str]] = {}
    for each in where:
        if isinstance(cluster := each.get(_CLUSTER), str):
            others = tuple((name, value) for name, value in each.items() if name != _CLUSTER)
            clusters_by_others.setdefault(others, set()).add(cluster)
        else:
            yield each
    for others, clusters in clusters_by_others.items():
        yield {_CLUSTER: frozenset(clusters), **dict(others)}


def _all_of(values: Mapping[str, Any]) -> Any:
    return reduce(_of.And, [_is(name, value) for name, value in values.items()], _of.AlwaysTrue())


def _is(name: str, value: Any) -> Any:
    if value is None:
        return _of.IsNull(name)
    if isinstance(value, AtLeast):
        return _of.GreaterThanOrEqual(name, value.value)
    if isinstance(value, Below):
        below = _of.LessThan(name, value.value)
        return below if value.least is None else _of.And(_of.GreaterThanOrEqual(name, value.least), below)
    if not isinstance(value, frozenset):
        return _of.EqualTo(name, value)
    one_of = _of.In(name, value - {None}) if value - {None} else _of.AlwaysFalse()
    return _of.Or(one_of, _of.IsNull(name)) if None in value else one_of
