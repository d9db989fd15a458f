"""The incarnations that stored offsets are of, as far as the requests for them tell."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.replay.logs import Longs


class Origins:
    """``found``: by the row of a commit the topic id of its offset, and what tells it.

    A topic id beside a commit does not: a broker of 4.3 stores the live one's, and a client that goes on with
    an old offset in a new incarnation sends the new id.
    """

    def __init__(self, stored: pa.Table, asked: pa.Table, lines: Longs, tolerance_ms: int) -> None:
        """``stored`` and ``asked``: rows of STORED and of COMMIT_LINES; ``lines``: of each commit the row of
        its request, -1 for none.
        """
        self._stored, self._tolerance_ms = stored, tolerance_ms
        self._told: dict[tuple[int, int], int | None] = {}
        self.found: dict[int, tuple[str, str]] = {}
        telling = pc.or_(pc.is_valid(asked["fetched_topic_id"]), pc.is_valid(asked["told_from_ms"]))
        tells = np.asarray(telling.to_numpy(), dtype=np.bool_)
        rows = np.flatnonzero(lines >= 0)
        rows = rows[tells[lines[rows]]]
        if len(rows):
            self._trace(rows, asked.take(pa.array(lines[rows])))

    def _trace(self, rows: Longs, asked: pa.Table) -> None:
        stored = self._stored
        self._ms, self._offset, self._leader_epoch = (
            stored[name].to_pylist() for name in ("ms", "offset", "leader_epoch")
        )
        self._partition, self._follows = (
            stored[name].to_pylist() for name in ("commit_partition", "follows")
        )
        places = zip(self._partition, stored["record_offset"].to_pylist(), strict=True)
        self._places = {place: row for row, place in enumerate(places)}
        names = ("fetched_topic_id", "told_from_ms", "told_to_ms", "told_leader_epoch")
        columns = (asked[name].to_pylist() for name in names)
        for row, fetched, first_ms, last_ms, leader_epoch in zip(rows.tolist(), *columns, strict=True):
            if fetched:
                self.found[row] = (fetched, "fetched")
            elif first_ms is not None:
                again = self._repeated(row, first_ms, last_ms, leader_epoch)
                if again in self.found:
                    self.found[row] = (self.found[again][0], "committed")

    def _repeated(self, row: int, first_ms: int, last_ms: int, leader_epoch: int) -> int | None:
        """The commit that a client had been told by OffsetFetch, between two times, and repeats."""
        begun = one = self._before(row)
        while one is not None and self._ms[one] > last_ms + self._tolerance_ms:
            # who commits the same again and again was told it once
            one = self._told[one, last_ms] if (one, last_ms) in self._told else self._before(one)
        if begun is not None:
            self._told[begun, last_ms] = one
        if one is None or self._ms[one] >= first_ms - self._tolerance_ms:
            # it may have come before the answer, or after
            return None
        same = (self._offset[one], self._leader_epoch[one]) == (self._offset[row], leader_epoch)
        return one if same else None

    def _before(self, row: int) -> int | None:
        """The row of the commit of the same key before it, if it is known which."""
        return self._places.get((self._partition[row], self._follows[row]))
