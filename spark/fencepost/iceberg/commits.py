"""Commits to Iceberg tables that cost what they change, not what the table has been through."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import Any

import pyarrow as pa
from pyiceberg import expressions
from pyiceberg.exceptions import CommitFailedException, ValidationException
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.manifest import DataFile, ManifestEntryStatus
from pyiceberg.table import FileScanTask, Transaction
from pyiceberg.table import Table as IcebergTable
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Operation, Snapshot
from pyiceberg.table.update import RemoveSnapshotsUpdate

from fencepost.iceberg.data_files import DataFiles
from fencepost.iceberg.manifests import Append, Exchange

SNAPSHOTS_KEPT = 50
"""So many of a table's newest snapshots stay. Its metadata lists them all, and is read, copied and written
with every commit.
"""

SNAPSHOTS_WAITING = 1_000
"""So many at most stay of those that came after the one that was read last: they tell what was added."""

READ = "fencepost-read"
"""The tag of a snapshot that was read, the last one or one a little older."""

SMALL_BYTES = 8 << 20
FILES_TOGETHER = 32
"""So many files of a partition that are smaller become one: each run appends one to each table, and whoever
reads it looks at the list of all.
"""

SAME_ROWS = "fencepost.same-rows"
"""Of a snapshot's summary: the table has the rows that it had before, in other files."""

_EVERYTHING: Any = expressions.AlwaysTrue()


class Change(Transaction):
    """A transaction that makes the table's new metadata once for each thing that changes, and has old
    snapshots expire.

    PyIceberg 0.12 makes it anew, with a deep copy, whenever it is looked at: some twenty times in a commit.
    """

    _made: tuple[TableMetadata, tuple[Any, ...], TableMetadata] | None = None

    @property
    def table_metadata(self) -> TableMetadata:
        """The table's metadata as it will be."""
        base, updates = self._table.metadata, self._updates
        if self._made is None or self._made[0] is not base or self._made[1] is not updates:
            self._made = base, updates, super().table_metadata
        return self._made[2]

    def commit_transaction(self) -> IcebergTable:
        """Commit, if there is anything that changes."""
        if self._updates:
            self._expire_snapshots()
        return super().commit_transaction()

    def _rebuild_snapshot_updates(self) -> None:
        # somebody else has committed, and may have had the same snapshots expire
        self._updates = tuple(each for each in self._updates if not isinstance(each, RemoveSnapshotsUpdate))
        super()._rebuild_snapshot_updates()
        self._expire_snapshots()

    def _expire_snapshots(self) -> None:
        refs = self.table_metadata.refs
        named = {each.snapshot_id for each in refs.values()}
        in_order, kept = _in_order(self.table_metadata), SNAPSHOTS_KEPT
        if READ in refs:
            waiting = len(in_order) - in_order.index(refs[READ].snapshot_id)
            kept = max(kept, min(waiting, SNAPSHOTS_WAITING))
        old = [each for each in in_order[:-kept] if each not in named]
        if old:
            self._stage((RemoveSnapshotsUpdate.model_validate({"snapshot-ids": old}),))


def append(table: IcebergTable, rows: pa.Table) -> None:
    """Append rows, in one commit."""
    with Change(table) as change:
        _exchange(change, Append(change), (), [rows])


def replace(table: IcebergTable, pieces: Iterable[pa.Table], where: Any = _EVERYTHING) -> None:
    """Make rows that come in ``pieces`` what ``where`` chooses of the table, in one commit; in none, where
    neither has rows. One piece is in memory at a time.
    """
    gone = list(table.scan(where).plan_files()) if table.current_snapshot() else []
    rows = (piece for piece in pieces if piece.num_rows)
    first = next(rows, None)
    if not gone and first is None:
        return
    with Change(table) as change:
        if not all(map(is_chosen_whole, gone)):
            _overwrite(change, table.schema().as_arrow().empty_table() if first is None else first, where)
            gone, first = [], next(rows, None)
        all_rows = chain([] if first is None else [first], rows)
        if gone:
            _exchange(change, Exchange(change), gone, all_rows)
        elif first is not None:
            _exchange(change, Append(change), gone, all_rows)


def delete(table: IcebergTable, where: Any) -> None:
    """Take away what ``where`` chooses, in one commit; in none, where that is nothing."""
    replace(table, (), where)


def compact_files(table: IcebergTable) -> None:
    """Make one file of many small ones, partition by partition, in one commit. Where somebody else commits
    meanwhile they stay as they are.
    """
    snapshot = table.current_snapshot()
    if snapshot is None or _files_of(snapshot) < FILES_TOGETHER:
        return
    small: defaultdict[Any, list[FileScanTask]] = defaultdict(list)
    for task in table.scan().plan_files():
        if task.file.file_size_in_bytes < SMALL_BYTES and is_chosen_whole(task):
            small[task.file.spec_id, task.file.partition].append(task)
    many = [task for tasks in small.values() if len(tasks) >= FILES_TOGETHER for task in tasks]
    if not many:
        return
    read = ArrowScan(table.metadata, table.io, table.schema(), _EVERYTHING)
    with suppress(CommitFailedException, ValidationException), Change(table) as change:
        _exchange(change, Exchange(change, **{SAME_ROWS: "true"}), many, [read.to_table(many)])


def note_read(table: IcebergTable, snapshot: int) -> None:
    """Note that all up to a snapshot was read: what was added since stays known, however often others commit
    until it is read. An older note, which says less, stays while few snapshots came after it, and where
    somebody else commits meanwhile.
    """
    tag = table.metadata.refs.get(READ)
    places = {each: place for place, each in enumerate(_in_order(table.metadata))}
    if snapshot not in places:
        return
    if tag is None or places[snapshot] - places[tag.snapshot_id] >= SNAPSHOTS_KEPT // 2:
        with suppress(CommitFailedException), table.manage_snapshots() as change:
            change.create_tag(snapshot, READ)


def added(table: IcebergTable, since: int | None) -> list[FileScanTask] | None:
    """The files that were appended after a snapshot (None: ever); None where rows went since then, or where
    what happened since is not known any more.
    """
    if since is None:
        return list(table.scan().plan_files())
    tasks: list[FileScanTask] = []
    snapshot = table.current_snapshot()
    while snapshot is None or snapshot.snapshot_id != since:
        if snapshot is None or snapshot.summary is None:
            return None
        if snapshot.summary.operation == Operation.APPEND:
            tasks += [FileScanTask(file) for file in _appended(table, snapshot)]
        elif not snapshot.summary.get(SAME_ROWS):
            return None
        snapshot = _parent(table, snapshot)
    return tasks


def _parent(table: IcebergTable, snapshot: Snapshot) -> Snapshot | None:
    parent = snapshot.parent_snapshot_id
    return None if parent is None else table.snapshot_by_id(parent)


def _appended(table: IcebergTable, snapshot: Snapshot) -> Iterator[DataFile]:
    for manifest in snapshot.manifests(table.io):
        if manifest.added_snapshot_id == snapshot.snapshot_id:
            for entry in manifest.fetch_manifest_entry(table.io):
                if entry.status == ManifestEntryStatus.ADDED:
                    yield entry.data_file


def _in_order(metadata: TableMetadata) -> list[int]:
    """A table's snapshots, the oldest first."""
    ordered = sorted(metadata.snapshots, key=lambda each: each.sequence_number or 0)
    return [each.snapshot_id for each in ordered]


def _files_of(snapshot: Snapshot) -> int:
    return int(snapshot.summary["total-data-files"] or 0) if snapshot.summary is not None else 0


def _exchange(
    change: Transaction,
    files: Exchange | Append,
    gone: Iterable[FileScanTask],
    pieces: Iterable[pa.Table],
) -> None:
    table = change._table
    with files:
        for task in gone:
            files.delete_data_file(task.file)
        for file in DataFiles(change.table_metadata, table.io, files.commit_uuid).write(pieces):
            files.append_data_file(file)


def is_chosen_whole(task: FileScanTask) -> bool:
    """Whether the condition of a scan chooses every row of a file."""
    return task.residual == _EVERYTHING and not task.delete_files


def _overwrite(change: Transaction, rows: pa.Table | pa.RecordBatchReader, where: Any) -> None:
    with warnings.catch_warnings():
        # PyIceberg warns where there was nothing to take away
        warnings.simplefilter("ignore", UserWarning)
        change.overwrite(rows, overwrite_filter=where)
