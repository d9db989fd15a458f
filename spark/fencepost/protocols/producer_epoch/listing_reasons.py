"""Why it is not known whether the coordinator lists a transaction that a partition has."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fencepost.protocols.producer_epoch.arrow import UNKNOWN, Longs
from fencepost.protocols.producer_epoch.moments import Moments
from fencepost.reasons import (
    ALL_KNOWN,
    CLEANED_AWAY,
    EVIDENCE_ENDS,
    LOST_IN_ELECTION,
    NOT_CAPTURED,
    NOT_TOLD_APART,
    TOPIC_REMOVED,
    TOPIC_UNKNOWN,
    Unknown,
)

_HOLE = Unknown(NOT_CAPTURED, "a part of the partition's log, which may have its marker, was not captured")
_COORDINATORS_HOLE = Unknown(NOT_CAPTURED, "the coordinator's log, or a part of it, was not captured")
_CUT = Unknown(
    LOST_IN_ELECTION, "an election, or an older disk, may have taken records of the coordinator's log"
)
_CLEANED = Unknown(CLEANED_AWAY, "compaction has removed records of the coordinator's log of that time")
_BY_NAME = Unknown(TOPIC_UNKNOWN, "the coordinator's records have only the name of the topic")
_ENDS = Unknown(EVIDENCE_ENDS, "the coordinator's log is not known past the begin of the transaction")
_PARTITION_ENDS = Unknown(
    EVIDENCE_ENDS, "the partition's log is not known past the end of the coordinator's transaction"
)
_REMOVED = Unknown(
    TOPIC_REMOVED,
    "clocks do not tell whether the coordinator's transaction ended before the topic was deleted",
)
_REMOVED_BY_NAME = Unknown(
    TOPIC_REMOVED,
    "the coordinator's records have only the name of the topic, which was deleted and created again",
)
_ALIKE = Unknown(NOT_TOLD_APART, "nothing tells which of the coordinator's transactions it is part of")


def why_unknown(listed: Longs, open_: Longs, left: Longs, moments: Moments) -> dict[str, pa.Array]:
    """The columns ``unknown_reason`` and ``unknown_detail``: of each transaction in a partition, why
    ``listed`` is unknown.

    ``left``: how many transactions of the coordinator may be this one. Of a topic that was not created just
    once these may belong to another one of its name. Without any, what counts is how far the coordinator's
    log is known.
    """
    is_gone = (open_ == 1) & (moments.ended_ms != UNKNOWN)
    why = (
        (listed != UNKNOWN, ALL_KNOWN),
        (open_ == UNKNOWN, _HOLE),
        (moments.cut, _CUT),
        (~moments.whole, _COORDINATORS_HOLE),
        (~moments.begins_since, _CLEANED),
        (~moments.created_once & (left > 0) & is_gone, _REMOVED_BY_NAME),
        (~moments.created_once & (left > 0), _BY_NAME),
        (~moments.known_past, _ENDS),
        (is_gone, _REMOVED),
        (open_ == 1, _PARTITION_ENDS),
        (np.ones(len(listed), dtype=np.bool_), _ALIKE),
    )
    first = np.argmax(np.stack([flags for flags, _ in why]), axis=0)
    return {
        f"unknown_{name}": pa.array([getattr(why[at][1], name) for at in first.tolist()], pa.string())
        for name in Unknown._fields
    }
