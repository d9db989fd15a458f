"""What brokers say in their server.log, and no answer tells."""

from __future__ import annotations

import datetime as dt
import gzip
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from plays.calls import Fact

_SKIPPED = re.compile(
    r"\[(?P<at>[^]]+)] .* Couldn't find leader endpoint for partitions \w+\((?P<partitions>[^)]*)\)"
    r" while trying to send transaction markers for (?P<id>.*), these partitions are likely deleted"
)


def skipped_markers(files: Iterable[Path]) -> Iterator[Fact]:
    """Each partition whose marker a coordinator skipped, because the partition had no leader: it takes the
    topic for deleted, and never writes that marker (TransactionMarkerChannelManager).
    """
    for file in files:
        data = file.read_bytes()
        text = (gzip.decompress(data) if file.suffix == ".gz" else data).decode(errors="replace")
        for found in _SKIPPED.finditer(text):
            at = dt.datetime.strptime(found["at"], "%Y-%m-%d %H:%M:%S,%f").replace(tzinfo=dt.UTC)
            for name in found["partitions"].split(", "):
                topic, _, p = name.rpartition("-")
                fact = {"event": "marker_skipped", "ts_ms": round(at.timestamp() * 1000), "txn": found["id"]}
                yield {**fact, "topic": topic, "p": int(p)}
