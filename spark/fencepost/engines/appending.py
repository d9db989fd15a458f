"""Appends the rows of tasks that a table does not have yet: tasks write them to files, the driver commits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.engines import AppendResult, T, Target, Work, piece_files
from fencepost.engines.backends import Backend
from fencepost.engines.intake import Intake, TaskRows
from fencepost.engines.key_hashes import Hashes, is_in
from fencepost.engines.new_rows import NewRows
from fencepost.engines.outputs import Output, Place, Staging
from fencepost.engines.parts import Held, Rows, pieces_of, whole
from fencepost.engines.places import Places, rows_of
from fencepost.tables import Table


@dataclass(frozen=True)
class Appending:
    """Appends rows of tasks to ``targets``; those of the table ``report`` are returned."""

    catalog: Catalog
    backend: Backend
    places: Places
    targets: Sequence[Target]
    report: Table

    def done(self, groups: Sequence[Sequence[T]], work: Work[T]) -> AppendResult:
        """Do the tasks, each group of them in one task of the back end, and commit their new rows."""
        of_tables = [self.places.of_table(each.table) for each in self.targets]
        stored = lake.frozen(self.catalog, [each.table.name for each in self.targets])
        targets, report = self.targets, self.report

        def read_group(group: Sequence[T]) -> tuple[Held, list[tuple[Output, list[Hashes]]]]:
            rows = [
                (target.table, TaskRows(place, stored, target, group))
                for target, place in zip(targets, of_tables, strict=True)
            ]
            intake = Intake(rows, report)
            for task in group:
                for table, some in work(task):
                    intake.take(table, some)
            reported = intake.append_all()
            differences = chain.from_iterable(each.reported for _, each in rows)
            reported = pa.concat_tables([reported, *map(_as_table, differences)])
            return Held(reported), [each.close() for _, each in rows]

        found = self.backend.run("capture", groups, read_group)
        tasks = list(chain.from_iterable(groups))
        added = {
            target.table.name: self._commit(target, place, tasks, [outputs[number] for _, outputs in found])
            for number, (target, place) in enumerate(zip(targets, of_tables, strict=True))
        }
        return AppendResult(added, whole((each.rows for each, _ in found), report.arrow_schema))

    def _commit(
        self,
        target: Target,
        place: Place,
        tasks: Sequence[Any],
        outputs: Sequence[tuple[Output, list[Hashes]]],
    ) -> int:
        """Commit the rows of tasks, each of which has left out what the table had. Of rows that several tasks
        may have, the first one's are committed, and the others' are compared with the table again.
        """
        known: Hashes = np.empty(0, dtype=np.uint64)
        files, few, unsure = [], Staging(place.in_files()), list[Rows]()
        for output, hashes_of_task in outputs:
            hashes = np.unique(np.concatenate([np.empty(0, dtype=np.uint64), *hashes_of_task]))
            is_unsure = is_in(hashes, known).any()
            known = np.sort(np.concatenate([known, hashes]), kind="stable")
            if is_unsure:
                unsure.append(rows_of(place, [output]))
                continue
            files += output.files
            if output.rows is not None:
                few.add(output.rows.rows)
        files += few.close().files
        count = lake.append_files(self.catalog, target.table, files)
        again = NewRows(self.catalog, target.table, target.within(tasks))
        pieces = chain.from_iterable(map(pieces_of, unsure))
        return count + sum(map(again.append, _together(pieces)))


def _as_table(rows: pa.RecordBatch) -> pa.Table:
    return pa.Table.from_batches([rows])


def _together(pieces: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The rows in as few pieces as memory allows: each becomes a commit."""
    waiting: list[pa.Table] = []
    for piece in pieces:
        waiting.append(piece)
        if sum(each.nbytes for each in waiting) >= piece_files.PIECE_BYTES:
            yield pa.concat_tables(waiting)
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting)
