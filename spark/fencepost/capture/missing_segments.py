"""Finds segments that were never read, although something tells that they were there and no compaction
removed them: segments of coordinators' logs between others, and the newest segments of all logs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.capture.checkpoints import have_checkpoints
from fencepost.capture.log_dirs import base_offset, partition_of
from fencepost.capture.plan import PRODUCER_SNAPSHOT, SEGMENT, Fault
from fencepost.capture.replicas import CONTRADICTION
from fencepost.capture.written_ends import NOTES, Log, Written, unread_ends
from fencepost.conditions.arrow import filter_rows
from fencepost.settings import Cluster
from fencepost.tables import CLEANED, FILES, QUARANTINE

_COMPACTED = {"__consumer_offsets", "__transaction_state"}


class _Read(NamedTuple):
    """The offsets of a segment that were read: from ``begin`` on, before ``end`` (None: not known)."""

    begin: int
    end: int | None


def missing_segments(catalog: Catalog, clusters: Sequence[Cluster], written_to: Written) -> list[Fault]:
    """A fault for each range of offsets that no segment in ``bronze.files`` has, of whatever replica: in
    coordinators' logs those between the offsets of two, above the cleaner's checkpoint, and before the first
    of a compacted log, in all logs those that were written after all that was read. ``written_to``: what
    tells that, from before segments were read.

    Where a log directory has no checkpoint files, nobody knows what was compacted: nothing is missing between
    segments there. The cleaner leaves the active segment alone, and the name of the first (Cleaner.doClean):
    it removes neither end. Nothing is missing in a log of which ``bronze.quarantine`` says that a part could
    not be read.
    """
    here = frozenset(cluster.name for cluster in clusters if any(each.log_dirs for each in cluster.brokers))
    of_logs = {"kind": frozenset({SEGMENT, PRODUCER_SNAPSHOT}), "cluster": here}
    notes = lake.scan(catalog, FILES, NOTES, [of_logs])
    names = frozenset(cluster.name for cluster in clusters if have_checkpoints(cluster))
    unread = _unread_logs(catalog)
    cleaned_to = _checkpoints(catalog, names)
    holes = [
        (log, first, following)
        for log, segments in _segments(notes, names).items()
        for first, following in _holes(segments, _compacted_to(log, cleaned_to))
    ]
    holes += [(log, *hole) for log, hole in unread_ends(notes, written_to)]
    return [
        Fault(
            log.cluster, None, SEGMENT, f"{log.topic}-{log.partition}/{first:020d}.log", 0, 0, "missing",
            f"no segment has offsets {first} to {following - 1}: put it back, or read another replica",
        )
        for log, first, following in holes
        if (log.cluster, (log.topic, log.partition)) not in unread
    ]  # fmt: skip


def _segments(notes: pa.Table, clusters: frozenset[str]) -> Mapping[Log, list[_Read]]:
    """What was read of each segment of the coordinators' logs, by log. ``notes``: of ``bronze.files``."""
    file = ("cluster", "file", "topic_id")
    notes = filter_rows(notes, [{"kind": SEGMENT, "cluster": clusters}])
    # first of all, since bronze.files has notes of every run about every partition of the cluster
    notes = notes.filter(pc.match_substring_regex(notes["file"], "|".join(_COMPACTED)))
    # a run that read nothing new of a segment does not know its end, but an earlier one may
    notes = notes.group_by(file).aggregate([("next_offset", "max"), ("captured_at", "max")])
    rows = notes.sort_by("captured_at_max").to_pylist()
    # the id of the topic may have been found later than the file: rows with another one are not in bronze
    topic_ids = {(row["cluster"], row["file"]): row["topic_id"] for row in rows}
    ends: dict[tuple[Log, int], int | None] = {}
    for row in rows:
        if topic_ids[row["cluster"], row["file"]] != row["topic_id"]:
            continue
        topic, partition = partition_of(row["file"]) or ("", -1)
        if topic in _COMPACTED:
            key = Log(row["cluster"], topic, partition, row["topic_id"]), base_offset(row["file"])
            known = [each for each in (ends.get(key), row["next_offset_max"]) if each is not None]
            ends[key] = max(known, default=None)
    segments: defaultdict[Log, list[_Read]] = defaultdict(list)
    for (log, begin), end in ends.items():
        segments[log].append(_Read(begin, end))
    return segments


def _compacted_to(log: Log, cleaned_to: Mapping[Log, int]) -> int:
    """A checkpoint that was captured without a topic id counts for every incarnation."""
    return max(cleaned_to.get(each, 0) for each in (log, log._replace(topic_id=None)))


def _checkpoints(catalog: Catalog, clusters: frozenset[str]) -> Mapping[Log, int]:
    """By log: the first offset that no compaction of any replica has seen."""
    log = ("cluster", "topic", "partition", "topic_id")
    cleaned = lake.scan(catalog, CLEANED, (*log, "cleaned_to"), [{"cluster": clusters}])
    newest = cleaned.group_by(log).aggregate([("cleaned_to", "max")])
    return {Log(*(row[name] for name in log)): row["cleaned_to_max"] for row in newest.to_pylist()}


def _unread_logs(catalog: Catalog) -> set[tuple[str, tuple[str, int] | None]]:
    """Cluster, and topic and partition, of each log of which something could not be read."""
    rows = lake.scan(catalog, QUARANTINE, ("cluster", "file", "reason"), [{"kind": SEGMENT}]).to_pylist()
    all_read = ("missing", CONTRADICTION)
    return {(row["cluster"], partition_of(row["file"])) for row in rows if row["reason"] not in all_read}


def _holes(segments: Sequence[_Read], cleaned_to: int) -> Iterator[tuple[int, int]]:
    """The ranges between segments, and before those of a compacted log, whose rest would tell the state of
    nothing: the first missing offset, and the one that follows the last.
    """
    read_to: int | None = None
    first = min(each.begin for each in segments)
    if cleaned_to and first:
        yield 0, first
    for begin, end in sorted(segments, key=lambda each: each.begin):
        if read_to is not None and cleaned_to <= read_to < begin:
            yield read_to, begin
        if end is None:
            read_to = None  # nothing is known of what follows, up to the next segment
        elif read_to is None or end > read_to:
            read_to = end
