"""Tells whether the lines of a request log stand in the order in which a broker wrote them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_LEAP_MS = 1000
_METADATA = 3
_MANY = 10
"""Lines were sorted if more than one pair in so many is swapped."""
_AT_LEAST = (1, 4)
"""And at least so many pairs: of those with one time, and of the others."""
_NEAR = 100
"""By fewer requests than this. A client whose numbers do not rise has others."""


class WrittenOrder:
    """The order of the lines of one file, piece after piece.

    A connection has one request at a time, and clients number their requests. So of two lines of a
    connection the later one has the greater number, whatever the clock says. Where both number and time go
    back, the file was put together of others, the newest first, as by ``cat kafka-request.log*``. Where only
    the time does, the clock was set back. If numbers go back within milliseconds, or while time goes on, the
    lines were sorted, perhaps by times of a program that collected them. (A client may number a request
    before it asks for metadata, and send it after: seen once in 3,000 lines, by Java clients.) A line that is
    there again, as collectors send some twice, is in no order.
    """

    def __init__(self) -> None:
        self._newest: dict[str, tuple[int, int]] = {}
        self._put_together = self._set_back = 0
        # of pairs of lines with one time, and of those of which the second has a later time
        self._pairs, self._swapped = np.zeros((2, 2), dtype=np.int64)
        self._is_lost = False
        self._before: set[str] = set()

    def is_lost(self, rows: pa.RecordBatch) -> bool:
        """Whether these lines, or some before them, are not in the order in which they were written; ``rows``
        as of ``request_log.REQUEST_SCHEMA``, in the order of the file.
        """
        again, self._before = self._again(rows["line_digest"].to_pylist())
        known = pc.and_(pc.is_valid(rows["connection"]), pc.is_valid(rows["correlation_id"]))
        known = rows.filter(pc.and_not(known, pa.array(again, pa.bool_())))
        if known.num_rows:
            self._note(known)
        sorted_anew = bool(((self._swapped * _MANY > self._pairs) & (self._swapped >= _AT_LEAST)).any())
        self._is_lost = self._is_lost or sorted_anew or self._put_together > self._set_back
        return self._is_lost

    def _again(self, digests: list[str]) -> tuple[list[bool], set[str]]:
        """Which of these lines were there before, among them or in the piece before; and all of them."""
        seen, again = set(self._before), []
        for digest in digests:
            again.append(digest in seen)
            seen.add(digest)
        return again, set(digests)

    def _note(self, rows: pa.RecordBatch) -> None:
        # requests that a broker forwards have its connection, and the numbers of their clients
        clients = pc.binary_join_element_wise(
            rows["connection"], rows["client_id"], " ", null_handling="replace", null_replacement=""
        ).dictionary_encode()
        client, ms, number = (
            np.asarray(each) for each in (clients.indices, rows["logged_at_ms"], rows["correlation_id"])
        )
        asks = np.asarray(pc.fill_null(rows["api_key"], -1)) == _METADATA
        order = np.argsort(client, kind="stable")
        one, other = order[:-1], order[1:]
        same = client[one] == client[other]
        back, fell = number[other] < number[one], same & (ms[other] < ms[one] - _LEAP_MS)
        swapped = back & ~asks[one]
        self._put_together += int(np.count_nonzero(fell & back))
        self._set_back += int(np.count_nonzero(fell & ~back))
        later = same & (ms[other] > ms[one]) & (number[one] - number[other] < _NEAR)
        for at, pairs in enumerate((same & (ms[other] == ms[one]), later)):
            self._pairs[at] += np.count_nonzero(pairs)
            self._swapped[at] += np.count_nonzero(pairs & swapped)
        ends = np.append(np.flatnonzero(~same), len(order) - 1)
        firsts, lasts = order[np.append(0, ends[:-1] + 1)], order[ends]
        for name, first, last in zip(clients.dictionary.to_pylist(), firsts, lasts, strict=True):
            before = self._newest.get(name)
            if before is not None and ms[first] < before[0] - _LEAP_MS:
                self._put_together += bool(number[first] < before[1])
                self._set_back += bool(number[first] >= before[1])
            self._newest[name] = int(ms[last]), int(number[last])
