"""Conditions that choose rows: one form for every reader and writer of the lake.

A condition gives, for each column that it names, the value that the column must equal (None: it is null), a
collection of values of which it must be one, or bounds between which it must lie (:class:`Within`). What
reads rows writes a condition in its own language: Iceberg's expressions, SQL, masks over Arrow, the values
and statistics of partitions. All do so by :func:`written`, so they agree on what a condition means.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, TypeVar, cast

from fencepost.tables import CHAPTER

T = TypeVar("T")

Bound = int | str | datetime
"""A value with which a column is compared."""


@dataclass(frozen=True, kw_only=True)
class Within:
    """A column lies at or above ``least``, and below ``below``; None is no bound. A null meets no bound."""

    least: Bound | None = None
    below: Bound | None = None

    def before(self, moment: int) -> Within:
        """The part of these bounds below a moment."""
        below = moment if self.below is None else min(moment, cast(int, self.below))
        return Within(least=self.least, below=below)


Condition = Mapping[str, Any]

Where = Sequence[Condition]
"""Chooses the rows that meet any of these conditions; an empty one chooses none."""


def since_chapters(first: Mapping[str, int]) -> Where:
    """Chooses the rows of each cluster's chapters from the one on that begins then, in milliseconds."""
    return [{"cluster": name, CHAPTER: Within(least=begin)} for name, begin in first.items()]


def values_of(condition: Condition, column: str) -> frozenset[Any] | None:
    """The values of which a column must be one; None if the condition does not name the column."""
    if column not in condition:
        return None
    wanted = condition[column]
    return frozenset(wanted) if _are_several(wanted) else frozenset({wanted})


class Language(Protocol[T]):
    """A language in which conditions are written. ``all_of`` nothing is true, ``any_of`` nothing is false."""

    def is_null(self, column: str) -> T:
        """The column is null."""

    def equals(self, column: str, value: Any) -> T:
        """The column equals a value that is not null."""

    def is_in(self, column: str, values: frozenset[Any]) -> T:
        """The column is one of some values, none of which is null; there is at least one."""

    def at_least(self, column: str, value: Bound) -> T:
        """The column lies at or above a value."""

    def below(self, column: str, value: Bound) -> T:
        """The column lies below a value."""

    def all_of(self, parts: Iterable[T]) -> T:
        """All parts hold."""

    def any_of(self, parts: Iterable[T]) -> T:
        """Some part holds."""


def written(where: Where, language: Language[T]) -> T:
    """``where`` in a language."""
    return language.any_of(
        language.all_of(_of_column(name, wanted, language) for name, wanted in each.items()) for each in where
    )


def _of_column(column: str, wanted: Any, language: Language[T]) -> T:
    if wanted is None:
        return language.is_null(column)
    if isinstance(wanted, Within):
        least = [] if wanted.least is None else [language.at_least(column, wanted.least)]
        below = [] if wanted.below is None else [language.below(column, wanted.below)]
        return language.all_of((*least, *below))
    if _are_several(wanted):
        values = frozenset(wanted) - {None}
        some = [language.is_in(column, values)] if values else []
        return language.any_of((*some, *([language.is_null(column)] if None in wanted else [])))
    return language.equals(column, wanted)


def _are_several(wanted: Any) -> bool:
    return isinstance(wanted, Collection) and not isinstance(wanted, str | bytes)
