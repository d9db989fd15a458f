"""Conditions as Iceberg's expressions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Any

from pyiceberg import expressions
from pyiceberg.table import FileScanTask

from fencepost.conditions import Bound, Condition, Where, written

_CLUSTER = "cluster"

# built by pydantic from names that mypy does not know
_of: Any = expressions


def expression(where: Where | None) -> Any:
    """Iceberg's expression for the rows that ``where`` chooses; None chooses all."""
    if where is None:
        return _of.AlwaysTrue()
    conditions = list(_merged_clusters(where)) if len(where) > 1 else where
    return written(conditions, _Expressions())


def is_chosen_whole(task: FileScanTask) -> bool:
    """Whether the condition of a scan chooses every row of a file."""
    return task.residual == _of.AlwaysTrue() and not task.delete_files


class _Expressions:
    def is_null(self, column: str) -> Any:
        return _of.IsNull(column)

    def equals(self, column: str, value: Any) -> Any:
        return _of.EqualTo(column, value)

    def is_in(self, column: str, values: frozenset[Any]) -> Any:
        return _of.In(column, values)

    def at_least(self, column: str, value: Bound) -> Any:
        return _of.GreaterThanOrEqual(column, value)

    def below(self, column: str, value: Bound) -> Any:
        return _of.LessThan(column, value)

    def all_of(self, parts: Iterable[Any]) -> Any:
        return reduce(_of.And, parts, _of.AlwaysTrue())

    def any_of(self, parts: Iterable[Any]) -> Any:
        return reduce(_of.Or, parts, _of.AlwaysFalse())


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
