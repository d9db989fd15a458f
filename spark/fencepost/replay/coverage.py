"""Rows of coverage: which offsets of a log are known."""

from __future__ import annotations

from fencepost.replay.columns import Columns
from fencepost.replay.logs import UNKNOWN, Log, Longs, Stretch

LogKey = tuple[str, str, int, str]
"""Cluster, topic, partition and partition_key, which together name a log. A topic that was deleted and
created again has new logs.
"""


def begins(log: Log, stretch: Stretch) -> int:
    """The offset at which the history of a stretch begins; for a compacted one, where compaction ends."""
    return stretch.from_offset if log.base is None else log.base.to


def is_whole(log: Log) -> bool:
    """Whether no record is missing from the log's beginning, or from the end of compaction, on."""
    return len(log.stretches) == 1 and log.stretches[0].number <= 0 and log.stretches[0].to_offset is None


def log_coverage(
    rows: Columns,
    key: tuple[object, ...],
    log: Log,
    dated: Longs | None = None,
    gone_ms: int | None = None,
) -> None:
    """Add the stretches of a log, and the holes between them, to ``rows``; each row begins with ``key``.

    ``dated``: the time of each batch by a broker's clock, UNKNOWN if a client set the time; by default
    brokers dated all batches. A client's clock that is in the future must not date a whole cluster.
    ``gone_ms``: when the log was deleted, if it was: its last stretch ended then.
    """
    for at, stretch in enumerate(log.stretches):
        end, start = stretch.to_offset, begins(log, stretch)
        last_ms = None if end is None else stretch.last_ms
        known_to = stretch.last_offset + 1
        newest_ms = stretch.newest_ms if dated is None else _newest(dated[log.stretch == stretch.number])
        if end is None and gone_ms is not None:
            rows.add(*key, True, start, known_to, stretch.first_ms, gone_ms, known_to, newest_ms)
            continue
        rows.add(*key, True, start, end, stretch.first_ms, last_ms, known_to, newest_ms)
        if end is None:
            continue
        if at + 1 < len(log.stretches):
            after = log.stretches[at + 1]
            resumed, resumed_ms = begins(log, after), after.first_ms
            rows.add(*key, False, end, resumed, last_ms, resumed_ms, resumed, None)
        else:
            rows.add(*key, False, end, None, last_ms, gone_ms, end, None)


def _newest(dated: Longs) -> int | None:
    newest = int(dated.max()) if len(dated) else UNKNOWN
    return None if newest == UNKNOWN else newest
