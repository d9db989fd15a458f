"""The incarnations of topics that stored offsets belong to, as far as the requests that committed
them show.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.replay.logs import Longs


class Origins:
    """The topic id of each commit's offset, and what shows it. ``fetched``: the client fetched there before;
    ``committed``: it repeats a commit that OffsetFetch gave it; ``only``: the name never had another topic.

    The topic id in the commit itself shows nothing: a broker of 4.3 stores the live one's, and a client that
    goes on with an old offset in a new incarnation sends the new id.
    """

    def __init__(
        self,
        stored: pa.Table,
        requests: pa.Table,
        lines: Longs,
        only: Callable[[int], str | None],
        tolerance_ms: int,
    ) -> None:
        """``stored`` and ``requests``: rows of STORED and of COMMIT_LINES; ``lines``: for each stored commit
        the row of its request, -1 for none; ``only``: of such a commit the only topic that its name had until
        then, if that is known.
        """
        self._stored, self._tolerance_ms = stored, tolerance_ms
        self._only = only
        self._newest_before: dict[tuple[int, int], int | None] = {}
        self._found: dict[int, tuple[str, str]] = {}
        has_origin = pc.or_(pc.is_valid(requests["fetched_topic_id"]), pc.is_valid(requests["told_from_ms"]))
        shows_origin = np.asarray(has_origin.to_numpy(), dtype=np.bool_)
        rows = np.flatnonzero(lines >= 0)
        rows = rows[shows_origin[lines[rows]]]
        if len(rows):
            self._trace(rows, requests.take(pa.array(lines[rows])))

    def of(self, row: int) -> tuple[str | None, str | None]:
        """Topic id and what shows it, of the commit in a row; None where it is not known."""
        if (found := self._found.get(row)) is not None:
            return found
        only = self._only(row)
        return (None, None) if only is None else (only, "only")

    def _trace(self, rows: Longs, requests: pa.Table) -> None:
        stored = self._stored
        self._ms, self._offset, self._leader_epoch = (
            stored[name].to_pylist() for name in ("ms", "offset", "leader_epoch")
        )
        logs = (stored[name].to_pylist() for name in ("later_log", "commit_partition"))
        self._log, self._follows = list(zip(*logs, strict=True)), stored["follows"].to_pylist()
        places = zip(self._log, stored["record_offset"].to_pylist(), strict=True)
        self._places = {place: row for row, place in enumerate(places)}
        names = ("fetched_topic_id", "told_from_ms", "told_to_ms", "told_leader_epoch")
        columns = (requests[name].to_pylist() for name in names)
        for row, fetched, first_ms, last_ms, leader_epoch in zip(rows.tolist(), *columns, strict=True):
            if fetched:
                self._found[row] = (fetched, "fetched")
            elif first_ms is not None:
                repeated = self._repeated(row, first_ms, last_ms, leader_epoch)
                topic_id = None if repeated is None else self.of(repeated)[0]
                if topic_id is not None:
                    self._found[row] = (topic_id, "committed")

    def _repeated(self, row: int, first_ms: int, last_ms: int, leader_epoch: int) -> int | None:
        """The row of the commit that OffsetFetch gave a client between two times, and that this
        row repeats.
        """
        begun = one = self._before(row)
        while one is not None and self._ms[one] > last_ms + self._tolerance_ms:
            # a client that commits the same again and again got it from OffsetFetch once
            one = (
                self._newest_before[one, last_ms]
                if (one, last_ms) in self._newest_before
                else self._before(one)
            )
        if begun is not None:
            self._newest_before[begun, last_ms] = one
        if one is None or self._ms[one] >= first_ms - self._tolerance_ms:
            # it may have come before the answer, or after
            return None
        same = (self._offset[one], self._leader_epoch[one]) == (self._offset[row], leader_epoch)
        return one if same else None

    def _before(self, row: int) -> int | None:
        """The row of the commit before it with the same key; None where that is not known."""
        return self._places.get((self._log[row], self._follows[row]))
