"""Counts the evidence of each protocol that is missing or could not be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pyarrow as pa

from fencepost.capture.log_dirs import partition_of
from fencepost.capture.plan import SEGMENT
from fencepost.protocols import protocols
from fencepost.tables import UNREAD_EVIDENCE

READ = ("cluster", "kind", "file", "reason")
"""The columns of ``bronze.quarantine`` that ``unread_evidence`` reads."""

_UNFINISHED = "torn_tail"
"""The end of a file that is being written: nothing is missing, the next capture reads it."""


def unread_evidence(quarantine: pa.Table) -> pa.Table:
    """The rows of UNREAD_EVIDENCE; ``quarantine``: columns READ of all rows of ``bronze.quarantine``."""
    entries: Counter[tuple[str, str]] = Counter()
    for cluster, kind, file, reason, count in _counted(quarantine):
        if reason != _UNFINISHED:
            topic, _ = partition_of(file) or (None, None)
            for protocol in _protocols_that_read(kind, topic):
                entries[cluster, protocol] += count
    return UNREAD_EVIDENCE.rows((*place, count) for place, count in sorted(entries.items()))


def _counted(quarantine: pa.Table) -> Iterator[tuple[str, str, str, str, int]]:
    groups = quarantine.group_by(list(READ)).aggregate([([], "count_all")])
    return zip(*(column.to_pylist() for column in groups.select([*READ, "count_all"]).columns), strict=True)


def _protocols_that_read(kind: str, topic: str | None) -> Iterator[str]:
    """The protocols whose verdicts rest on such a file; a segment without a topic stands for a whole
    folder.
    """
    own_kinds = {each.name: {own.name for own in each.kinds()} for each in protocols()}
    is_shared = not any(kind in names for names in own_kinds.values())
    for protocol in protocols():
        rests_on = protocol.rests_on
        shared = is_shared and (
            rests_on is None or (topic or kind) in rests_on or (kind == SEGMENT and topic is None)
        )
        if shared or kind in own_kinds[protocol.name]:
            yield protocol.name
