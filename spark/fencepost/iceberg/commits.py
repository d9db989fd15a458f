"""Commits to Iceberg tables whose cost depends on what they change, not on the history of the table."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, groupby
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

from fencepost.conditions.iceberg import is_chosen_whole
from fencepost.iceberg import patches
from fencepost.iceberg.data_files import DataFiles
from fencepost.iceberg.listing import Listing
from fencepost.iceberg.patches import Append, Exchange, Rewrite

SNAPSHOTS_KEPT = 50
"""How many of a table's newest snapshots are kept. The metadata lists them all, and every commit reads,
copies and writes it.
"""

SNAPSHOTS_WAITING = 1_000
"""How many snapshots are kept at most after the one that was read last: they show what was added since."""

READ = "fencepost-read"
"""The tag of the snapshot that was read last, or of one a little older."""

SMALL_BYTES = 8 << 20
GROUP_ROWS, GROUP_BYTES = 16_384, 2 << 20
"""About so many rows or bytes of files are in memory at once; Arrow takes many times as much."""
FILES_TOGETHER = 32
"""When a partition has so many files below SMALL_BYTES, they become one: each run appends a file to each
table, and every reader goes through the list of all files.
"""

SAME_ROWS = "fencepost.same-rows"
"""The property in a snapshot's summary that says that the rows are the same as before, in other files."""

READ_ROWS = "fencepost.read-rows-only"
"""The property in a snapshot's summary that says that it removed only rows that were read and are not needed
any more: whoever asks what was added since finds what was added.
"""

CHECKS: list[Callable[[], None]] = []
"""What is called before each commit of this process. It raises an error if nothing may be committed now."""

_EVERYTHING: Any = expressions.AlwaysTrue()


def _check() -> None:
    for check in CHECKS:
        check()


class Change(patches.Change):
    """A transaction that lets all but the newest snapshots expire, and those since the one read last."""

    def commit_transaction(self) -> IcebergTable:
        """See patches.Change; raises what CHECKS raise."""
        _check()
        return super().commit_transaction()

    def expired(self) -> list[int]:
        """See patches.Change."""
        refs = self.table_metadata.refs
        named = {each.snapshot_id for each in refs.values()}
        in_order, kept = _in_order(self.table_metadata), SNAPSHOTS_KEPT
        if READ in refs:
            waiting = len(in_order) - in_order.index(refs[READ].snapshot_id)
            kept = max(kept, min(waiting, SNAPSHOTS_WAITING))
        return [each for each in in_order[:-kept] if each not in named]


def append(table: IcebergTable, rows: pa.Table) -> None:
    """Append rows, in one commit."""
    exchange(Listing(table), (), [rows])


def replace(table: IcebergTable, pieces: Iterable[pa.Table], where: Any = _EVERYTHING) -> None:
    """Replace the rows that ``where`` chooses by rows that come in ``pieces``, in one commit; without a
    commit if there are neither old nor new rows. One piece is in memory at a time.
    """
    old = list(table.scan(where).plan_files()) if table.current_snapshot() else []
    if all(map(is_chosen_whole, old)):
        exchange(Listing(table), [task.file for task in old], pieces)
        return
    rows = (piece for piece in pieces if piece.num_rows)
    first = next(rows, None)
    with Change(table) as change:
        overwrite(change, table.schema().as_arrow().empty_table() if first is None else first, where)
        if (second := next(rows, None)) is not None:
            _exchange(change, Append(change), (), chain([second], rows))


def exchange(listing: Listing, old_files: Sequence[DataFile], pieces: Iterable[pa.Table]) -> None:
    """Replace files of the listed table by rows that come in ``pieces``, as ``replace`` does."""
    rows = (piece for piece in pieces if piece.num_rows)
    first = next(rows, None)
    if first is None and not old_files:
        return
    with Change(listing.table) as change:
        files = Exchange(change, listing) if old_files else Append(change)
        _exchange(change, files, old_files, rows if first is None else chain([first], rows))


def exchange_files(listing: Listing, old_files: Sequence[DataFile], new_files: Sequence[DataFile]) -> None:
    """Replace files of the listed table by files that are written already, in one commit."""
    if not old_files and not new_files:
        return
    with Change(listing.table) as change:
        files = Exchange(change, listing) if old_files else Append(change)
        files.put(old_files, new_files)


def compact_files(table: IcebergTable) -> None:
    """Rewrite many small files of a partition as one, for all partitions in one commit. If another process
    removes one of them meanwhile, the files stay as they are.
    """
    snapshot = table.current_snapshot()
    if snapshot is None or _files_of(snapshot) < FILES_TOGETHER:
        return
    small: defaultdict[Any, list[FileScanTask]] = defaultdict(list)
    for task in table.scan().plan_files():
        if task.file.file_size_in_bytes < SMALL_BYTES and is_chosen_whole(task):
            small[task.file.spec_id, task.file.partition].append(task)
    mergeable = [task for tasks in small.values() if len(tasks) >= FILES_TOGETHER for task in tasks]
    if not mergeable:
        return
    arrow_scan = ArrowScan(table.metadata, table.io, table.schema(), _EVERYTHING)
    pieces = map(arrow_scan.to_table, _groups_of(mergeable))
    _rewrite(Listing(table), [task.file for task in mergeable], pieces, SAME_ROWS)


def forget(listing: Listing, old_files: Sequence[DataFile], pieces: Iterable[pa.Table]) -> None:
    """Replace files of the listed table, all of whose rows were read, by those of their rows that come in
    ``pieces``, in one commit. ``added`` sees no change in it. If another process removes one of the files
    meanwhile, all stay.
    """
    _rewrite(listing, old_files, pieces, READ_ROWS)


def _rewrite(listing: Listing, old_files: Sequence[DataFile], pieces: Iterable[pa.Table], says: str) -> None:
    """Replace files, unless another process removes one of them meanwhile; ``says``: the property that says
    what that means for readers.
    """
    with suppress(CommitFailedException, ValidationException), Change(listing.table) as change:
        _exchange(change, Rewrite(change, listing, **{says: "true"}), old_files, pieces)


def _groups_of(tasks: Sequence[FileScanTask]) -> Iterator[list[FileScanTask]]:
    """The files in groups that are read at once, each of one partition; a group becomes a row group."""
    of_partitions = groupby(tasks, lambda task: (task.file.spec_id, task.file.partition))
    for some in (list(each) for _, each in of_partitions):
        group: list[FileScanTask] = []
        for task in some:
            group.append(task)
            rows = sum(each.file.record_count for each in group)
            if rows >= GROUP_ROWS or sum(each.file.file_size_in_bytes for each in group) >= GROUP_BYTES:
                yield group
                group = []
        if group:
            yield group


def keep_since(table: IcebergTable, snapshot: int) -> None:
    """Keep the snapshots since this one, up to which all rows were read: they do not expire, however often
    others commit, so ``added`` can tell the new rows.

    An older tag, which keeps more snapshots, stays as long as few came after it, and also if another process
    commits meanwhile.
    """
    tag = table.metadata.refs.get(READ)
    places = {each: place for place, each in enumerate(_in_order(table.metadata))}
    if snapshot not in places:
        return
    if tag is None or places[snapshot] - places[tag.snapshot_id] >= SNAPSHOTS_KEPT // 2:
        _check()
        with suppress(CommitFailedException), table.manage_snapshots() as change:
            change.create_tag(snapshot, READ)


def added(table: IcebergTable, since: int | None) -> list[FileScanTask] | None:
    """The files that were appended after the snapshot ``since`` (None: all files). None if rows were removed
    since then (but by ``forget``), or if a snapshot since then has expired.
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
        elif not (snapshot.summary.get(SAME_ROWS) or snapshot.summary.get(READ_ROWS)):
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
    """The ids of a table's snapshots, the oldest first."""
    ordered = sorted(metadata.snapshots, key=lambda each: each.sequence_number or 0)
    return [each.snapshot_id for each in ordered]


def _files_of(snapshot: Snapshot) -> int:
    return int(snapshot.summary["total-data-files"] or 0) if snapshot.summary is not None else 0


def _exchange(
    change: Transaction,
    files: Exchange | Append,
    old_files: Iterable[DataFile],
    pieces: Iterable[pa.Table],
) -> None:
    data_files = DataFiles(change.table_metadata, files.io, files.commit_uuid)
    files.put(old_files, data_files.write(pieces))


def overwrite(change: Transaction, rows: pa.Table | pa.RecordBatchReader, where: Any = _EVERYTHING) -> None:
    """Replace the rows that ``where`` chooses, as a part of a change."""
    with warnings.catch_warnings():
        # PyIceberg warns if there was nothing to delete
        warnings.simplefilter("ignore", UserWarning)
        change.overwrite(rows, overwrite_filter=where)
