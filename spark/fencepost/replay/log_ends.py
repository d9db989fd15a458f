"""Where logs end, as far as their brokers noted it.

A captured log may end before the cluster's log does: its copy may be older than that of another log, or lack
the newest segment. A log that is captured up to its *final end* is complete. That is known if every broker
that has a replica was shut down cleanly (bronze.log_ends), and none of them was started again, as far as the
metadata log shows. A log of live brokers had not gone on when one of them noted that its high watermark was
the end of what was captured (bronze.high_watermarks).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.replay.entities import tuples
from fencepost.replay.logs import Log
from fencepost.replay.metadata import ClusterMetadata
from fencepost.replay.requests import LATEST_MS

_NOTED_EACH_MS = 6_000
"""A broker notes high watermarks every five seconds. A file that was copied without its time has that of the
copy, so what it says may be so much older.
"""
_SOON_MS = 2_000
"""A record is in its segment, and the segment has a new time, so soon after the record was dated."""
_TIMES = ("written_at", "segment_written_at")
FOREVER = 2**63 - 1
"""The time up to which a log is known that will never be written again."""
NEVER = -FOREVER


class KnownPast(NamedTuple):
    """How long after its newest record a log is known to have got no other one. ``is_final``: for ever;
    else ``until``: for requests that a broker answered until then, by its clock. ``noted_ms``: when a broker
    last noted the end.
    """

    is_final: bool = False
    until: Mapping[int, int] = {}
    noted_ms: int = NEVER

    def ms(self, broker_id: int) -> int:
        """Until when it is known of the requests that a broker answered; NEVER if it is not."""
        return FOREVER if self.is_final else self.until.get(broker_id, NEVER)


NOT_PAST = KnownPast()


class Noted(NamedTuple):
    """A high watermark that a broker had noted at ``noted_ms``; ``ms``: the latest time until which no record
    behind it was written, committed or not; ``segment_ms``: the time of the newest segment.
    """

    broker_id: int
    high_watermark: int
    ms: int
    segment_ms: int
    noted_ms: int

    def is_of_end(self, end: int, newest_ms: int) -> bool:
        """Whether it shows that a log of live brokers, whose newest record is of this time, ended there.

        The times of files may be those of a copy, which is shown by the segment's, or of another clock than
        the records.
        """
        return self.high_watermark == end and abs(self.segment_ms - newest_ms) <= _SOON_MS


@dataclass(frozen=True)
class LogEnd:
    """Where a log ends. ``final``: the first offset that was never written, if it will never be written.
    ``noted``: what brokers noted while they lived.
    """

    final: int | None = None
    noted: tuple[Noted, ...] = ()

    def known_past(self, log: Log) -> KnownPast:
        """How long the log is known past its newest record.

        A broker decides by its own replica. So what it noted tells of the requests that it answered, whoever
        led the log afterwards.
        """
        newest_ms = log.newest_ms
        if newest_ms is None:
            return NOT_PAST
        end = int(log.last_offset.max()) + 1
        noted = [each for each in self.noted if each.is_of_end(end, newest_ms)]
        if self.final is not None and end >= self.final:
            return KnownPast(is_final=True, noted_ms=max((each.noted_ms for each in noted), default=NEVER))
        until = {each.broker_id: each.ms for each in noted}
        return KnownPast(until=until, noted_ms=max(until.values(), default=NEVER))


NO_END = LogEnd()
"""Of a log of which nothing was noted."""

Ends = Mapping[tuple[str, int | None], LogEnd]
"""(cluster, partition) of one topic -> where the log ends of the incarnation that is there."""


def end_of(ends: Ends, cluster: str, partition: int | None, *, is_gone: bool) -> LogEnd:
    """Where a log ends; ``is_gone``: it is of a deleted incarnation, of which brokers note nothing."""
    return NO_END if is_gone else ends.get((cluster, partition), NO_END)


def log_ends(rows: pa.Table, noted: pa.Table, metadata: Mapping[str, ClusterMetadata], topic: str) -> Ends:
    """Where a topic's logs end; logs of which nothing is known are left out.

    ``rows``: of ``bronze.log_ends``; ``noted``: of ``bronze.high_watermarks``.
    """
    final = final_ends(rows, metadata, topic)
    watermarks = high_watermarks(noted, metadata, topic)
    return {
        place: LogEnd(final.get(place), tuple(watermarks.get(place, {}).values()))
        for place in {*final, *watermarks}
    }


def high_watermarks(
    rows: pa.Table, metadata: Mapping[str, ClusterMetadata], topic: str
) -> dict[tuple[str, int], dict[int, Noted]]:
    """By cluster, partition of a topic and broker: the high watermark that the broker noted last. Its time is
    the latest that is sure.

    A record may be uncommitted for as long as a follower may lag, although requests are refused by it.
    ``rows``: of ``bronze.high_watermarks``.
    """
    found: dict[tuple[str, int], dict[int, Noted]] = {}
    rows = rows.filter(pc.equal(rows["topic"], topic)).sort_by("written_at")
    times = [pc.cast(rows[name], pa.timestamp("ms", "UTC"), safe=False) for name in _TIMES]
    table = rows.select(["cluster", "partition", "broker_id", "high_watermark"])
    for name, each in zip(_TIMES, times, strict=True):
        table = table.append_column(name, each.cast(pa.int64()))
    for cluster, partition, broker_id, offset, written_ms, segment_ms in tuples(table):
        known = metadata.get(cluster, ClusterMetadata())
        lag_ms = LATEST_MS if known.is_replicated(topic, partition) else 0
        noted_ms = written_ms - _NOTED_EACH_MS
        noted = Noted(broker_id, offset, noted_ms - lag_ms, segment_ms, noted_ms)
        found.setdefault((cluster, partition), {})[broker_id] = noted
    return found


def final_ends(
    rows: pa.Table, metadata: Mapping[str, ClusterMetadata], topic: str
) -> dict[tuple[str, int], int]:
    """The final ends of a topic's logs; logs whose final end is not known are left out.

    ``rows``: of ``bronze.log_ends``. Replicas that were shut down one after the other may end at different
    offsets: the highest one counts.
    """
    names = ("cluster", "broker_id", "broker_epoch", "topic", "partition", "log_end_offset")
    ends: dict[tuple[str, int], dict[int, int]] = {}
    for cluster, broker_id, broker_epoch, name, partition, end in zip(
        *(rows[name].to_pylist() for name in names), strict=True
    ):
        of_cluster = metadata.get(cluster, ClusterMetadata())
        if name == topic and of_cluster.broker_epochs.get(broker_id) == broker_epoch:
            ends.setdefault((cluster, partition), {})[broker_id] = end
    return {
        (cluster, partition): max(each.values())
        for (cluster, partition), each in ends.items()
        if _replicas(metadata, cluster, topic, partition) == each.keys()
    }


def ends_of_stopped_clusters(
    rows: pa.Table, metadata: Mapping[str, ClusterMetadata]
) -> dict[tuple[str, str, int], int]:
    """By cluster, topic and partition: where the logs end of clusters whose brokers all were shut down
    cleanly, and none was started again. A broker without any replica does not count.

    ``rows``: of ``bronze.log_ends``. A broker learns of another one's start before it sends it anything, and
    its own metadata log tells of it: so nothing that was sent before the last of them stopped is missing.
    """
    names = ("cluster", "broker_id", "broker_epoch")
    closed = set(zip(*(rows[name].to_pylist() for name in names), strict=True))
    stopped = {
        cluster: known.broker_epochs
        for cluster, known in metadata.items()
        if known.hosts
        and all((cluster, each, known.broker_epochs.get(each)) in closed for each in known.hosts)
    }
    ends: dict[tuple[str, str, int], int] = {}
    for cluster, broker_id, epoch, *place, end in zip(
        *(rows[name].to_pylist() for name in (*names, "topic", "partition", "log_end_offset")), strict=True
    ):
        if stopped.get(cluster, {}).get(broker_id) == epoch:
            key = (cluster, *place)
            ends[key] = max(ends.get(key, 0), end)
    return ends


def _replicas(
    metadata: Mapping[str, ClusterMetadata], cluster: str, topic: str, partition: int
) -> set[int] | None:
    replicas = metadata[cluster].replicas.get(topic, {}).get(partition)
    return None if replicas is None else set(replicas)
