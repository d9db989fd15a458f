"""Batches of partitions' logs as columns, which are made for all logs at once; each log gets
slices of them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.leader_epoch.checkpoints import LOG_COLUMNS
from fencepost.protocols.leader_epoch.known_batches import CONTROL, LOG_APPEND_TIME, with_read
from fencepost.protocols.leader_epoch.tables import KNOWN_BATCHES
from fencepost.replay.logs import UNKNOWN, Batches, Longs, by_log, longs


@dataclass(frozen=True, slots=True)
class LogBatches:
    """Batches as ``rows`` of KNOWN_BATCHES, and columns of these. ``is_dated``: 0 where the client dated the
    batch; ``is_control``: 0 where it has records; ``stands_for``: how many batches a row stands for, UNKNOWN
    where that is not known.
    """

    rows: pa.Table
    headers: Batches
    broker: Longs
    size: Longs
    is_dated: Longs
    is_control: Longs
    stands_for: Longs

    @classmethod
    def of(cls, rows: pa.Table) -> Self:
        """The columns of rows."""
        return cls(
            rows,
            Batches.of(rows),
            longs(rows["broker_id"]),
            longs(rows["size"]),
            longs(rows["attributes"]) & LOG_APPEND_TIME,
            longs(rows["attributes"]) & CONTROL,
            longs(pc.fill_null(rows["batches"], UNKNOWN)),
        )

    def of_log(self, rows: pa.Table, begin: int) -> LogBatches:
        """The part of the columns that belongs to ``rows``, which begin at index ``begin``."""
        end = begin + rows.num_rows
        columns = (getattr(self, each.name)[begin:end] for each in fields(self)[2:])
        return LogBatches(rows, self.headers.slice(begin, end), *columns)


def batches_by_log(batches: pa.Table, before: pa.Table) -> dict[tuple[Any, ...], LogBatches]:
    """By LOG_COLUMNS the batches of each log, together with those that were known ``before``; both are rows
    of KNOWN_BATCHES.
    """
    logs, known = by_log(batches, *LOG_COLUMNS), by_log(before, *LOG_COLUMNS)
    nothing = KNOWN_BATCHES.arrow_schema.empty_table()
    logs |= {key: with_read(rows, logs.get(key, nothing)) for key, rows in known.items()}
    of_all = LogBatches.of(pa.concat_tables([nothing, *logs.values()]))
    begins = np.cumsum([0, *(rows.num_rows for rows in logs.values())]).tolist()
    return {key: of_all.of_log(rows, begin) for (key, rows), begin in zip(logs.items(), begins, strict=False)}
