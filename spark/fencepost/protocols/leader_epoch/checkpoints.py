"""The leader-epoch-checkpoint files of replicas, by the log whose leader epochs they list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.capture.digests import head_digest
from fencepost.replay.entities import tuples

LOG_COLUMNS = ("cluster", "topic", "topic_id", "partition")
"""The columns that identify a log."""
_OF_CONTENT = ("broker_id", "state", "content_digest", "file")


class Entry(NamedTuple):
    """An EpochEntry."""

    leader_epoch: int
    start_offset: int


class Checkpoint(NamedTuple):
    """A content of a replica's file, from rows of ``bronze.leader_epoch_checkpoints``; ``entries`` are in the
    order of their epochs. ``earlier``: the entries that retention has removed from its begin, or moved on.
    """

    broker_id: int
    state: str
    content_digest: str
    file: str
    captured_ms: int
    entries: list[Entry]
    earlier: tuple[Entry, ...]

    @property
    def all_entries(self) -> list[Entry]:
        """Those of the content, with those that retention has removed, each where its epoch began."""
        return sorted(({each.leader_epoch: each for each in (*self.entries, *self.earlier)}).values())

    def head_digest(self) -> str:
        """The digest that ``bronze.files`` has of this content (CheckpointFile, version 0)."""
        lines = (f"{epoch} {start}\n" for epoch, start in self.entries)
        data = f"0\n{len(self.entries)}\n{''.join(lines)}".encode()
        return head_digest(BytesIO(data), len(data))


LastRead = Mapping[tuple[int, str, str], tuple[str, int]]
"""By broker, file and topic id ('' for none): digest and length of what was read of a checkpoint last."""


def checkpoints_by_log(
    checkpoints: pa.Table, last_read: Mapping[str, LastRead]
) -> dict[tuple[Any, ...], list[Checkpoint]]:
    """By LOG_COLUMNS the checkpoint of each replica, with the content that it had when it was read last: what
    it had before may be of batches that have been truncated since. Only what retention has removed is taken
    from earlier contents, so the chapters of that time stay as they are. ``last_read`` is by cluster.
    """
    # microseconds
    ms = pc.round(pc.divide(checkpoints["captured_at"].cast(pa.int64()).cast(pa.float64()), 1000)).cast(
        pa.int64()
    )
    rows = checkpoints.select((*LOG_COLUMNS, *_OF_CONTENT, *Entry._fields)).append_column("ms", ms)
    by_log: dict[tuple[Any, ...], dict[tuple[Any, ...], Checkpoint]] = {}
    for row in tuples(rows):
        key, (*content, leader_epoch, start_offset, captured_ms) = (
            row[: len(LOG_COLUMNS)],
            row[len(LOG_COLUMNS) :],
        )
        contents = by_log.setdefault(key, {})
        checkpoint = contents.setdefault(tuple(content), Checkpoint._make((*content, captured_ms, [], ())))
        # an empty list has no epoch
        if leader_epoch is not None:
            checkpoint.entries.append(Entry(leader_epoch, start_offset))
    return {
        key: list(_newest(contents.values(), key[2], last_read.get(key[0], {})))
        for key, contents in by_log.items()
    }


def _newest(contents: Iterable[Checkpoint], topic_id: str | None, last_read: LastRead) -> list[Checkpoint]:
    by_file: dict[tuple[int, str], list[Checkpoint]] = {}
    for each in sorted(contents, key=lambda each: (each[:3], each.captured_ms)):
        each.entries.sort()
        by_file.setdefault((each.broker_id, each.file), []).append(each)
    newest = []
    for place, of_file in by_file.items():
        digest, length = last_read.get((*place, topic_id or ""), ("", None))
        if length == 0:
            # the file is empty now, or damaged
            continue
        latest = max(of_file, key=lambda each: each.captured_ms)
        # a truncation may bring back a content that was read before
        same = (each for each in of_file if each.head_digest() == digest) if len(of_file) > 1 else ()
        chosen = next(iter(same), latest)
        newest.append(chosen._replace(earlier=tuple(_removed_by_retention([*of_file, chosen]))))
    return newest


def _removed_by_retention(contents: Sequence[Checkpoint]) -> Iterable[Entry]:
    """The entries of earlier contents that the last one has no more, or later in the log. Retention removes
    at the begin, truncation at the end (LeaderEpochFileCache).
    """
    known: dict[int, Entry] = {}
    for each in [*sorted(contents[:-1], key=lambda each: each.captured_ms), contents[-1]]:
        first = each.entries[0].leader_epoch if each.entries else None
        before = [entry for epoch, entry in known.items() if first is None or epoch < first]
        if first in known:
            before.append(min(known[first], each.entries[0]))
        known = {entry.leader_epoch: entry for entry in (*each.entries, *before)}
    return [entry for entry in known.values() if entry not in contents[-1].entries]
