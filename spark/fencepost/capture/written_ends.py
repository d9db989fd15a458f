"""How far logs had been written, told by other files than their segments: the newest segments may be missing,
or a copy of them may be older than a copy of these.

A log is written at least up to its recovery point and to its high watermark, which LogManager and
ReplicaManager note in checkpoints, and up to the offset of each ``.snapshot`` beside its segments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.capture.checkpoints import flushed_or_replicated
from fencepost.capture.files import inside
from fencepost.capture.log_dirs import partition_of
from fencepost.capture.plan import SEGMENT
from fencepost.settings import Cluster

NOTES = ("cluster", "broker_id", "file", "kind", "topic_id", "next_offset", "captured_at")
"""The columns of ``bronze.files`` that are read here."""
_FILE = r"^(?P<folder>.*)/(?P<offset>\d{20})\D[^/]*$"

Folder = tuple[str, int | None, str]
"""A cluster, a broker, and the path of a partition's folder there."""

Written = Mapping[Folder, int]
"""The offset up to which, without it, the log in a folder had been written at least."""


class Log(NamedTuple):
    """One incarnation of a partition's log, with all its replicas."""

    cluster: str
    topic: str
    partition: int
    topic_id: str | None


def written(clusters: Sequence[Cluster]) -> Written:
    """What the checkpoints in log directories tell. They must be read before segments are: a live broker goes
    on writing both.
    """
    ends: dict[Folder, int] = {}
    for cluster, broker_id, log_dir, topic, partition, offset in flushed_or_replicated(clusters):
        folder = cluster, broker_id, inside(log_dir, f"{topic}-{partition}")
        ends[folder] = max(offset, ends.get(folder, 0))
    return ends


def unread_ends(notes: pa.Table, written_to: Written) -> Iterator[tuple[Log, tuple[int, int]]]:
    """The ends of logs that were written, and that no segment has that was read, of whatever replica: the
    first offset of each, and the one that follows its last. ``notes``: rows of ``bronze.files`` about
    segments and snapshots of producers.
    """
    read_to: dict[Log, int] = {}
    ends: dict[Log, int] = {}
    for log, read, end in _logs(notes, written_to):
        read_to[log], ends[log] = max(read, read_to.get(log, 0)), max(end, ends.get(log, 0))
    for log, end in ends.items():
        if read_to[log] < end:
            yield log, (read_to[log], end)


def _logs(notes: pa.Table, written_to: Written) -> Iterator[tuple[Log, int, int]]:
    """The log in each partition's folder of which segments were read, the offset up to which they were, and
    up to which it had been written.
    """
    for folder, topic_id, read_to, offset in newest_incarnations(notes):
        cluster, _, path = folder
        place = partition_of(f"{path}/{0:020d}.log")
        if place is not None and read_to is not None:
            yield Log(cluster, *place, topic_id), read_to, max(offset, written_to.get(folder, 0))


def newest_incarnations(notes: pa.Table) -> Iterator[tuple[Folder, str | None, int | None, int]]:
    """Each folder with the id of the topic that it was read with last, and of the files that were then in it:
    the offset up to which segments were read, and the newest offset that is the name of a file.
    """
    places = pc.extract_regex(notes["file"], _FILE)
    offset = pc.cast(pc.struct_field(places, "offset"), pa.int64())
    # an empty segment, or one of which nothing new was read, is read up to its name at least
    read_to = pc.if_else(
        pc.equal(notes["kind"], SEGMENT), pc.max_element_wise(notes["next_offset"], offset), None
    )
    notes = (
        notes.append_column("folder", pc.struct_field(places, "folder"))
        .append_column("offset", offset)
        .append_column("read_to", read_to)
    )
    notes = notes.filter(pc.is_valid(notes["folder"]))
    found = notes.group_by(["cluster", "broker_id", "folder", "topic_id"]).aggregate(
        [("captured_at", "max"), ("read_to", "max"), ("offset", "max")]
    )
    newest = {
        (row["cluster"], row["broker_id"], row["folder"]): row
        for row in found.sort_by("captured_at_max").to_pylist()
    }
    for folder, row in newest.items():
        yield folder, row["topic_id"], row["read_to_max"], row["offset_max"]
