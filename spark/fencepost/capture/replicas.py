"""Finds batches that two replicas of a partition have and that are not the same."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import Any

import pyarrow as pa

from fencepost.capture.plan import SEGMENT
from fencepost.capture.rows import OUTCOME
from fencepost.engines import Compared
from fencepost.words import counted

CONTRADICTION = "contradiction"
"""The reason in ``bronze.quarantine``."""

_HAS_DELETE_HORIZON = 0x40
"""In a batch's attributes: the log cleaner wrote it (DefaultRecordBatch)."""
_WHOLE = ("record_count", "base_offset", "last_offset", "attributes")
_LOG = ("cluster", "broker_id", "file")


def differences(batches: pa.Table, known: pa.Table) -> pa.RecordBatch:
    """Rows of OUTCOME about ``batches`` that are not what was read before, which is ``known`` of them: a
    fault for each file. A follower appends what it fetches as it is, with its checksum; only the log cleaner
    of each replica writes batches anew.
    """
    rows = zip(batches.to_pylist(), known.to_pylist(), strict=True)
    pairs = [(row, other) for row, other in rows if _is_as_written(row) and _is_as_written(other)]
    pairs.sort(key=lambda pair: (*_place(pair[0]), pair[0]["position"]))
    faults = [_fault(list(of_file)) for _, of_file in groupby(pairs, key=lambda pair: _place(pair[0]))]
    schema = OUTCOME.arrow_schema
    return pa.RecordBatch.from_pylist([dict.fromkeys(schema.names) | each for each in faults], schema)


COMPARED = Compared("crc", ("record_count", "last_offset", "attributes", "broker_id"), differences)

_place = itemgetter(*_LOG)


def _is_as_written(batch: dict[str, Any]) -> bool:
    count, first, last, attributes = (batch[name] for name in _WHOLE)
    return bool(count == last - first + 1 and not attributes & _HAS_DELETE_HORIZON)


def _fault(pairs: list[tuple[dict[str, Any], dict[str, Any]]]) -> dict[str, Any]:
    batch, known = pairs[0]
    return {
        **{name: batch[name] for name in _LOG},
        "kind": SEGMENT,
        "position": batch["position"],
        "length": batch["size"],
        "reason": CONTRADICTION,
        "detail": _detail(batch, known["broker_id"], len(pairs) - 1),
    }


def _detail(batch: dict[str, Any], broker_id: int, others: int) -> str:
    place = f"offset {batch['base_offset']} of leader epoch {batch['leader_epoch']}"
    more = f" (and {counted(others, 'other')} behind it)" if others else ""
    return (
        f"broker {broker_id} has another batch at {place}{more}, which was read first and counts: see with "
        "kafka-dump-log.sh which of the two is wrong, and let its broker fetch the partition into an empty "
        "folder again"
    )
