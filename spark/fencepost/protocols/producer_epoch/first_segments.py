"""Where partitions begin on disk: a log begins with its first segment, whose name is an offset (LogLoader).

What was before was deleted as whole segments, by retention or DeleteRecords. If the topic's segments are only
a part of a copy, nothing tells so.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.replay.entities import tuples

Begins = Mapping[tuple[str, str, int], int]
"""Cluster, topic and partition -> the offset of the first segment that any run has seen."""

_SEGMENT = r"(?:^|/)(?P<topic>[^/]+)-(?P<partition>\d+)/(?P<begin>\d{20})\.log$"


def first_segments(files: pa.Table) -> Begins:
    """From rows of ``bronze.files``. A folder of a deleted log has another name: it does not count."""
    segments = files.filter(pc.equal(files["kind"], "segment")).group_by(["cluster", "file"]).aggregate([])
    named = pc.extract_regex(segments["file"], _SEGMENT)
    topic, partition, begin = (pc.struct_field(named, name) for name in ("topic", "partition", "begin"))
    rows = pa.table(
        {
            "cluster": segments["cluster"],
            "topic": topic,
            "partition": pc.cast(partition, pa.int64()),
            "begin": pc.cast(begin, pa.int64()),
        }
    ).drop_null()
    first = rows.group_by(["cluster", "topic", "partition"]).aggregate([("begin", "min")])
    return {(cluster, *of): begins for cluster, *of, begins in tuples(first)}
