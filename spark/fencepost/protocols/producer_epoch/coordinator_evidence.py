"""The evidence of one coordinator's log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.producer_epoch.handed_down_ids import Ids
from fencepost.replay.coordinator_logs import ONLY, Incarnation


@dataclass(frozen=True)
class CoordinatorEvidence:
    """The rows of one coordinator's log.

    ``key``: cluster, topic, partition and partition_key, which is None if there is no log. ``incarnation``:
    the one of ``__transaction_state`` whose log it is. ``end``: the first
    offset that was never written, None if that is not known. ``before``: what an earlier chapter handed down
    about its ids; ``began``: the offsets from and to which that chapter knew the log. ``next_ms``: the time
    from which the next chapter reads the log, if there is one.
    """

    key: tuple[str, str, int | None, str | None]
    batches: pa.Table
    records: pa.Table
    quarantine: pa.Table
    cleaned_to: Sequence[int]
    incarnation: Incarnation = ONLY
    end: int | None = None
    before: Ids = field(default_factory=dict)
    began: tuple[int, int] | None = None
    next_ms: int | None = None

    def cut_of_next(self) -> int | None:
        """The offset at which the next chapter begins to read the log: where replay.cuts cuts it."""
        if self.next_ms is None or not self.batches.num_rows:
            return None
        inside = pc.greater_equal(self.batches["max_timestamp_ms"], self.next_ms)
        first = pc.min(self.batches.filter(inside)["base_offset"]).as_py()
        return int(pc.max(self.batches["last_offset"]).as_py()) + 1 if first is None else int(first)
