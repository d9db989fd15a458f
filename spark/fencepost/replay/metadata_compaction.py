"""Compacts a metadata log before a chapter or a window: only records that are replayed are kept.

An idle controller writes a NoOpRecord every 500 ms. Batches of such records matter only because they show
where and when leader terms and stretches of the log begin and end.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.replay.logs import Log, longs
from fencepost.replay.merged_batches import are_whole, mask, merge_batches
from fencepost.replay.metadata_records import NAMES


def compacted(batches: pa.Table, records: pa.Table, log: Log) -> tuple[pa.Table, pa.Table]:
    """The rows of ``bronze.batches`` and ``bronze.records`` of a log that are kept.

    Successive batches without a kept record become one row without a crc, except for the first and the last
    batch of each leader and stretch, which date these.
    """
    place = log.find_all(longs(records["base_offset"]), longs(records["leader_epoch"]))
    others = pc.and_(
        pc.equal(records["decode_status"], "known"),
        pc.invert(pc.is_in(records["record_type"], pa.array(NAMES, pa.int32()))),
    )
    kept = (place >= 0) & ~mask(others)
    batches = batches.take(pa.array(log.rows))
    begins = np.ones(len(log), dtype=np.bool_)
    begins[1:] = (log.stretch[1:] != log.stretch[:-1]) | (log.leader_epoch[1:] != log.leader_epoch[:-1])
    stay = begins | np.append(begins[1:], True)[: len(log)] | ~are_whole(batches)
    stay[place[kept]] = True
    return merge_batches(batches, stay), records.filter(pa.array(kept))
