"""Tells whether the lines of a request log stand in the order in which a broker wrote them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_LEAP_MS = 1000


class WrittenOrder:
    """The order of the lines of one file, piece after piece.

    A connection has one request at a time, and clients number their requests. So of two lines of a
    connection the later one has the greater number, whatever the clock says. Where both number and time go
    back, the file was put together of others, the newest first, as by ``cat kafka-request.log*``. Where only
    the time does, the clock was set back.
    """

    def __init__(self) -> None:
        self._newest: dict[str, tuple[int, int]] = {}
        self._put_together = self._set_back = 0

    def is_lost(self, rows: pa.RecordBatch) -> bool:
        """Whether these lines, or some before them, are not in the order in which they were written; ``rows``
        as of ``request_log.REQUEST_SCHEMA``, in the order of the file.
        """
        known = rows.filter(pc.and_(pc.is_valid(rows["connection"]), pc.is_valid(rows["correlation_id"])))
        if known.num_rows:
            self._note(known)
        return self._put_together > self._set_back

    def _note(self, rows: pa.RecordBatch) -> None:
        # requests that a broker forwards have its connection, and the numbers of their clients
        clients = pc.binary_join_element_wise(
            rows["connection"], rows["client_id"], " ", null_handling="replace", null_replacement=""
        ).dictionary_encode()
        client, ms, number = (
            np.asarray(each) for each in (clients.indices, rows["logged_at_ms"], rows["correlation_id"])
        )
        order = np.argsort(client, kind="stable")
        one, other = order[:-1], order[1:]
        same = client[one] == client[other]
        fell = same & (ms[other] < ms[one] - _LEAP_MS)
        back = int(np.count_nonzero(fell & (number[other] < number[one])))
        self._put_together += back
        self._set_back += int(np.count_nonzero(fell)) - back
        ends = np.append(np.flatnonzero(~same), len(order) - 1)
        firsts, lasts = order[np.append(0, ends[:-1] + 1)], order[ends]
        for name, first, last in zip(clients.dictionary.to_pylist(), firsts, lasts, strict=True):
            before = self._newest.get(name)
            if before is not None and ms[first] < before[0] - _LEAP_MS:
                self._put_together += bool(number[first] < before[1])
                self._set_back += bool(number[first] >= before[1])
            self._newest[name] = int(ms[last]), int(number[last])
