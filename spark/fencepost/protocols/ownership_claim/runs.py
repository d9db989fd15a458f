"""Rows that hold for several consecutive records of a group: each is written once, when it ends."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from fencepost.protocols.ownership_claim.generations import Generation
from fencepost.protocols.ownership_claim.subscriptions import Partition
from fencepost.replay.columns import Columns
from fencepost.replay.histories import interval

Place = tuple[str, Partition | None]
"""A member, and a partition; None stands for all partitions that an unreadable message may have named."""


@dataclass(slots=True)
class _Run:
    row: Sequence[Any]
    relative: Sequence[Any]
    first: Generation


class Runs:
    """The rows of one table: a row lasts as long as later records give an equal row.

    Rows of two generations are equal if each column that is a generation is equally far behind, or is the
    same negative number: so a member that always claims what it was assigned in the generation before has
    equal rows. A written row has the values of its first record.
    """

    def __init__(self, columns: Columns, generations: Collection[str], of_first: Collection[str]) -> None:
        """``generations``: the columns that are generations; ``of_first``: those that name the
        first record.
        """
        self._columns = columns
        names = list(columns.table.columns)
        self._relative = frozenset(names.index(name) for name in generations)
        self._of_first = frozenset(names.index(name) for name in of_first)
        self._open: dict[Place, _Run] = {}
        self._of_partition: dict[Partition | None, set[str]] = {}

    def set_row(
        self, place: Place, row: Sequence[Any] | None, generation: Generation, last: Generation | None
    ) -> None:
        """Set the row of a place from ``generation`` on; ``last`` is the generation before it. ``row``: all
        columns but the last ones (records, last_generation, last_record_offset, and the interval); None for
        no row.
        """
        relative = None if row is None else self._relative_to(row, generation.generation)
        run = self._open.get(place)
        if run is not None:
            if run.relative == relative:
                return
            self._end(place, last)
        if row is not None and relative is not None:
            self._open[place] = _Run(row, relative, generation)
            self._of_partition.setdefault(place[1], set()).add(place[0])

    def open_members(self, partition: Partition | None) -> set[str]:
        """The members with an open row about the partition."""
        return set(self._of_partition.get(partition, ()))

    def end_all(self, last: Generation) -> None:
        """End all rows with the generation ``last``."""
        for place in list(self._open):
            self._end(place, last)

    def _end(self, place: Place, last: Generation | None) -> None:
        run, members = self._open.pop(place), self._of_partition[place[1]]
        members.discard(place[0])
        if not members:
            del self._of_partition[place[1]]
        interval_of_run = None if last is None else interval(run.first.begin, last.end)
        if last is None or interval_of_run is None:
            raise AssertionError(f"a row of {place} has begun but holds for no record")
        self._columns.add(
            *run.row,
            last.number - run.first.number + 1,
            last.generation,
            last.record.offset,
            *interval_of_run,
        )

    def _relative_to(self, row: Sequence[Any], generation: int) -> list[Any]:
        # a distance is put into a tuple: negative numbers stand for no generation, and may be distances too
        return [
            (generation - value,) if at in self._relative and value is not None and value >= 0 else value
            for at, value in enumerate(row)
            if at not in self._of_first
        ]
