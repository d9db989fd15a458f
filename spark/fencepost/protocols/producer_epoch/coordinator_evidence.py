"""What is known of one coordinator's log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.producer_epoch.handed_down_ids import Ids


@dataclass(frozen=True)
class CoordinatorEvidence:
    """The rows of one coordinator's log. ``key``: cluster, topic, partition, partition_key; without the last
    there is no log. ``end``: the first offset that was never written; None where that is not known.
    ``before``: what an earlier chapter knew of its ids; ``began``: from where to where the log was
    known then; ``next_ms``: since when the next chapter reads it, if there is one.
    """

    key: tuple[str, str, int | None, str | None]
    batches: pa.Table
    records: pa.Table
    quarantine: pa.Table
    cleaned_to: Sequence[int]
    end: int | None = None
    before: Ids = field(default_factory=dict)
    began: tuple[int, int] | None = None
    next_ms: int | None = None

    def cut_of_next(self) -> int | None:
        """Where the next chapter begins to read the log: as replay.window cuts it."""
        if self.next_ms is None or not self.batches.num_rows:
            return None
        inside = pc.greater_equal(self.batches["max_timestamp_ms"], self.next_ms)
        first = pc.min(self.batches.filter(inside)["base_offset"]).as_py()
        return int(pc.max(self.batches["last_offset"]).as_py()) + 1 if first is None else int(first)
