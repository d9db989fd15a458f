"""The stretches of a partition's log, as columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fencepost.protocols.producer_epoch.arrow import UNKNOWN, Longs
from fencepost.replay.logs import Log


@dataclass(frozen=True)
class Stretches:
    """The stretches of a log, as columns: see replay.logs.Stretch. ``ends`` is UNKNOWN for the last stretch,
    if no hole follows it.

    ``complete`` is 1 for a stretch that begins with the whole state that the leader had there.
    """

    begins: Longs
    ends: Longs
    last_ms: Longs
    complete: Longs

    @classmethod
    def of(cls, log: Log) -> Stretches:
        """The stretches of a log."""
        columns = (
            [each.from_offset for each in log.stretches],
            [UNKNOWN if each.to_offset is None else each.to_offset for each in log.stretches],
            [each.last_ms for each in log.stretches],
            [int(each.number == 0) for each in log.stretches],
        )
        return cls(*(np.array(column, dtype=np.int64) for column in columns))
