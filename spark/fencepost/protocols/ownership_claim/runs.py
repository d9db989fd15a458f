"""Rows that are true of several records of a group, one after the other, written once they end."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from fencepost.protocols.ownership_claim.generations import Generation
from fencepost.protocols.ownership_claim.subscriptions import Partition
from fencepost.replay.columns import Columns
from fencepost.replay.histories import interval

Place = tuple[str, Partition | None]
"""A member, and a partition; None stands for all that a message which could not be read may have named."""


@dataclass(slots=True)
class _Run:
    row: Sequence[Any]
    relative: Sequence[Any]
    first: Generation


class Runs:
    """The rows of one table: a row goes on while what follows says the same.

    The same is said of another generation where each column that is a generation is as far from it, or is the
    same negative number: so who claims in each generation what it was assigned in the one before says the
    same each time. A row has the numbers of its first record.
    """

    def __init__(self, columns: Columns, generations: Collection[str], of_first: Collection[str]) -> None:
        """``generations``: columns that are generations; ``of_first``: those that name the first record."""
        self._columns = columns
        names = list(columns.table.columns)
        self._relative = frozenset(names.index(name) for name in generations)
        self._of_first = frozenset(names.index(name) for name in of_first)
        self._open: dict[Place, _Run] = {}
        self._of_partition: dict[Partition | None, set[str]] = {}

    def put(
        self, place: Place, row: Sequence[Any] | None, generation: Generation, last: Generation | None
    ) -> None:
        """What is so as of ``generation``, None for nothing; ``last`` is the one before it. ``row``: all
        columns but the last (records, last_generation, last_record_offset, and from where to where).
        """
        relative = None if row is None else self._of(row, generation.generation)
        run = self._open.get(place)
        if run is not None:
            if run.relative == relative:
                return
            self._end(place, last)
        if row is not None and relative is not None:
            self._open[place] = _Run(row, relative, generation)
            self._of_partition.setdefault(place[1], set()).add(place[0])

    def at(self, partition: Partition | None) -> set[str]:
        """The members that have an open row of the partition."""
        return set(self._of_partition.get(partition, ()))

    def end_all(self, last: Generation) -> None:
        """Nothing is known to go on after ``last``."""
        for place in list(self._open):
            self._end(place, last)

    def _end(self, place: Place, last: Generation | None) -> None:
        run, members = self._open.pop(place), self._of_partition[place[1]]
        members.discard(place[0])
        if not members:
            del self._of_partition[place[1]]
        during = None if last is None else interval(run.first.begin, last.end)
        if last is None or during is None:
            raise AssertionError(f"a row of {place} began and was never true")
        self._columns.add(
            *run.row, last.number - run.first.number + 1, last.generation, last.record.offset, *during
        )

    def _of(self, row: Sequence[Any], generation: int) -> list[Any]:
        # a number in a tuple is no number: -2 stands for none, and may be a distance as well
        return [
            (generation - value,) if at in self._relative and value is not None and value >= 0 else value
            for at, value in enumerate(row)
            if at not in self._of_first
        ]
