"""What is kept of a metadata log before a chapter or a window: the records that are replayed.

A controller that has nothing to say writes a NoOpRecord every 500 ms. What such batches tell beyond the next
heartbeats of brokers is where leaders and stretches of the log begin and end, and when.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.replay.logs import Log, longs
from fencepost.replay.merged_batches import are_whole, mask, merge_batches
from fencepost.replay.metadata_records import NAMES


def compacted(batches: pa.Table, records: pa.Table, log: Log) -> tuple[pa.Table, pa.Table]:
    """What is left of rows of ``bronze.batches`` and ``bronze.records`` of a log.

    Batches without a record that is left, and that follow one upon the other, are one row, without crc; but
    for the first and the last one of each leader and stretch, which date them.
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
