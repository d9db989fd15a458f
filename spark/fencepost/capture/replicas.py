"""Finds batches that two replicas of a partition have and that are not the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.capture.plan import SEGMENT
from fencepost.capture.rows import OUTCOME
from fencepost.engines import Compared
from fencepost.words import counted

CONTRADICTION = "contradiction"
"""The reason in ``bronze.quarantine``."""

_HAS_DELETE_HORIZON = 0x40
"""In a batch's attributes: the log cleaner wrote it (DefaultRecordBatch)."""


def differences(batches: pa.Table, known: pa.Table) -> pa.RecordBatch:
    """Rows of OUTCOME about ``batches`` that are not what was read before, which is ``known`` of them: a
    fault for each file. A follower appends what it fetches as it is, with its checksum; only the log cleaner
    of each replica writes batches anew.
    """
    written = pc.and_(_as_written(batches), _as_written(known))
    batches, known = (each.filter(written) for each in (batches, known))
    place = pc.binary_join_element_wise(batches["broker_id"].cast("string"), batches["file"], ":")
    order = np.argsort(batches["position"].to_numpy(), kind="stable")
    _, first, counts = np.unique(
        place.to_numpy(zero_copy_only=False)[order], return_index=True, return_counts=True
    )
    at = pa.array(order[first])
    found = zip(batches.take(at).to_pylist(), known.take(at).to_pylist(), counts.tolist(), strict=True)
    faults = [_fault(batch, other["broker_id"], count - 1) for batch, other, count in found]
    return pa.RecordBatch.from_pylist(faults, OUTCOME.arrow_schema)


COMPARED = Compared("crc", ("record_count", "last_offset", "attributes", "broker_id"), differences)


def _as_written(batches: pa.Table) -> pa.ChunkedArray:
    """Which of them no log cleaner can have written: they lack no record."""
    spans = pc.add(pc.subtract(batches["last_offset"], batches["base_offset"]), 1)
    horizons = pc.bit_wise_and(batches["attributes"], _HAS_DELETE_HORIZON)
    return pc.and_(pc.equal(batches["record_count"], spans), pc.equal(horizons, 0))


def _fault(batch: dict[str, Any], broker_id: int, others: int) -> dict[str, Any]:
    return {
        **dict.fromkeys(OUTCOME.columns),
        **{name: batch[name] for name in ("cluster", "broker_id", "file", "position")},
        "kind": SEGMENT,
        "length": batch["size"],
        "reason": CONTRADICTION,
        "detail": _detail(batch, broker_id, others),
    }


def _detail(batch: dict[str, Any], broker_id: int, others: int) -> str:
    place = f"offset {batch['base_offset']} of leader epoch {batch['leader_epoch']}"
    more = f" (and {counted(others, 'other')} behind it)" if others else ""
    return (
        f"broker {broker_id} has another batch at {place}{more}, which was read first and counts: see with "
        "kafka-dump-log.sh which of the two is wrong, and let its broker fetch the partition into an empty "
        "folder again"
    )
