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
_LOG = ("topic_id", "partition")
_READ = (*_LOG, "base_offset", "last_offset")

Longs = NDArray[np.int64]

Checkpoints = Mapping[int, int]
"""By partition: the first offset that no compaction has seen."""


def missing_segments(catalog: Catalog, clusters: Sequence[Cluster]) -> list[Fault]:
    """The holes between the batches in ``bronze.batches``, above the cleaner's checkpoints.

    Where a log directory has no checkpoint files, nobody knows what was compacted: no hole is found there.
    Nor is one in a log of which ``bronze.quarantine`` says that something could not be read.
    """
    unread = _unread_logs(catalog)
    return [
        each
        for cluster in clusters
        if have_checkpoints(cluster)
        for topic in _COMPACTED
        for each in _holes_of(catalog, cluster.name, topic)
        if (cluster.name, _folder(each.file)) not in unread
    ]


def _holes_of(catalog: Catalog, cluster: str, topic: str) -> Iterator[Fault]:
    of_topic = {"cluster": cluster, "topic": topic}
    checkpoints: dict[int, int] = {}
    for row in lake.scan(catalog, CLEANED, ("partition", "cleaned_to"), [of_topic]).to_pylist():
        partition = row["partition"]
        checkpoints[partition] = max(row["cleaned_to"], checkpoints.get(partition, 0))
    above = {**of_topic, "base_offset": AtLeast(min(checkpoints.values(), default=0))}
    files = lake.by_file(catalog, BATCHES, _READ, [above])
    batches = [_above(each, checkpoints) for each in files]
    for partition, base, last in _by_log(pa.concat_tables(batches)) if batches else ():
        ends = np.maximum.accumulate(last) + 1
        for at in np.flatnonzero(base[1:] > ends[:-1]).tolist():
            first, following = int(ends[at]), int(base[at + 1])
            yield Fault(
                cluster, None, SEGMENT, f"{topic}-{partition}/{first:020d}.log", 0, 0, "missing",
                f"no segment has offsets {first} to {following - 1}: put it back, or read another replica",
            )  # fmt: skip


def _above(batches: pa.Table, checkpoints: Checkpoints) -> pa.Table:
    """The batches above the checkpoints of their partitions."""
    partition = batches["partition"].to_numpy()
    least = np.zeros(max(partition.max(initial=0), *checkpoints, 0) + 1, dtype=np.int64)
    for number, cleaned_to in checkpoints.items():
        least[number] = cleaned_to
    return batches.filter(pa.array(batches["base_offset"].to_numpy() >= least[partition]))


def _by_log(batches: pa.Table) -> Iterator[tuple[int, Longs, Longs]]:
    """The partition of each log, with the first and last offsets of its batches in order."""
    if not batches.num_rows:
        return
    batches = batches.sort_by([(name, "ascending") for name in (*_LOG, "base_offset")]).combine_chunks()
    columns = [batches[name].combine_chunks() for name in _LOG]
    same = [np.asarray(pc.equal(column[1:], column[:-1]).fill_null(False)) for column in columns]
    begins = [0, *(np.flatnonzero(~np.logical_and.reduce(same)) + 1).tolist()]
    for begin, end in pairwise([*begins, batches.num_rows]):
        log = batches.slice(begin, end - begin)
        base, last = (log[name].to_numpy() for name in ("base_offset", "last_offset"))
        yield log["partition"][0].as_py(), base, last


def _unread_logs(catalog: Catalog) -> set[tuple[str, str]]:
    """Cluster and folder of each log of which something could not be read."""
    rows = lake.scan(catalog, QUARANTINE, ("cluster", "file", "reason"), [{"kind": SEGMENT}]).to_pylist()
    return {(row["cluster"], _folder(row["file"])) for row in rows if row["reason"] != "missing"}


def _folder(file: str) -> str:
    return Path(file).parent.name
