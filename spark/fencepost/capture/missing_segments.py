"""Finds offsets of Kafka's own topics that no captured segment has, although no compaction removed them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.capture.checkpoints import have_checkpoints
from fencepost.capture.plan import SEGMENT, Fault
from fencepost.lake import AtLeast
from fencepost.settings import Cluster
from fencepost.tables import BATCHES, CLEANED, QUARANTINE

_COMPACTED = ("__consumer_offsets", "__transaction_state")
_LOG = ("cluster", "topic", "topic_id", "partition")

Longs = NDArray[np.int64]

Checkpoints = Mapping[tuple[str, str, int], int]
"""By cluster, topic and partition: the first offset that no compaction has seen."""


def missing_segments(catalog: Catalog, clusters: Sequence[Cluster]) -> list[Fault]:
    """The holes between the batches in ``bronze.batches``, above the cleaner's checkpoints.

    Where a log directory has no checkpoint files, nobody knows what was compacted: no hole is found there.
    Nor is one in a log of which ``bronze.quarantine`` says that something could not be read.
    """
    names = [cluster.name for cluster in clusters if have_checkpoints(cluster)]
    checkpoints: dict[tuple[str, str, int], int] = {}
    columns = ("cluster", "topic", "partition", "cleaned_to")
    for row in lake.scan(catalog, CLEANED, columns, [{"cluster": frozenset(names)}]).to_pylist():
        *log, cleaned_to = (row[name] for name in columns)
        checkpoints[tuple(log)] = max(cleaned_to, checkpoints.get(tuple(log), 0))
    where = [
        {"cluster": name, "topic": topic, "base_offset": AtLeast(_lowest(checkpoints, name, topic))}
        for name in names
        for topic in _COMPACTED
    ]
    batches = lake.scan(catalog, BATCHES, (*_LOG, "base_offset", "last_offset"), where)
    unread = _unread_logs(catalog)
    return [each for each in _holes(batches, checkpoints) if (each.cluster, _folder(each.file)) not in unread]


def _unread_logs(catalog: Catalog) -> set[tuple[str, str]]:
    """Cluster and folder of each log of which something could not be read."""
    rows = lake.scan(catalog, QUARANTINE, ("cluster", "file", "reason"), [{"kind": SEGMENT}]).to_pylist()
    return {(row["cluster"], _folder(row["file"])) for row in rows if row["reason"] != "missing"}


def _folder(file: str) -> str:
    return Path(file).parent.name


def _lowest(checkpoints: Checkpoints, cluster: str, topic: str) -> int:
    """The lowest checkpoint of a topic's partitions: what lies below it need not be read."""
    return min((to for (of, name, _), to in checkpoints.items() if (of, name) == (cluster, topic)), default=0)


def _holes(batches: pa.Table, checkpoints: Checkpoints) -> Iterator[Fault]:
    for (cluster, topic, partition), base, last in _by_log(batches):
        ends = np.maximum.accumulate(last) + 1
        cleaned_to = checkpoints.get((cluster, topic, partition), 0)
        for at in np.flatnonzero((base[1:] > ends[:-1]) & (ends[:-1] >= cleaned_to)).tolist():
            first, following = int(ends[at]), int(base[at + 1])
            yield Fault(
                cluster, None, SEGMENT, f"{topic}-{partition}/{first:020d}.log", 0, 0, "missing",
                f"no segment has offsets {first} to {following - 1}: put it back, or read another replica",
            )  # fmt: skip


def _by_log(batches: pa.Table) -> Iterator[tuple[tuple[str, str, int], Longs, Longs]]:
    """Cluster, topic and partition of each log, with the first and last offsets of its batches in order."""
    if not batches.num_rows:
        return
    batches = batches.sort_by([(name, "ascending") for name in (*_LOG, "base_offset")]).combine_chunks()
    columns = [batches[name].combine_chunks() for name in _LOG]
    same = [pc.equal(column[1:], column[:-1]).fill_null(False) for column in columns]
    begins = [0, *(np.flatnonzero(~np.logical_and.reduce([np.asarray(each) for each in same])) + 1).tolist()]
    for begin, end in pairwise([*begins, batches.num_rows]):
        cluster, topic, _, partition = (column[begin].as_py() for column in columns)
        log = batches.slice(begin, end - begin)
        yield (cluster, topic, partition), *(log[name].to_numpy() for name in ("base_offset", "last_offset"))
