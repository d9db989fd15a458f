"""Lines of the request log about one transactional id: which request certainly came before which."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate

from fencepost.protocols.producer_epoch.request_rows import RequestRow


class Lines:
    """Lines about one transactional id, which find what came before and after a request."""

    def __init__(self, lines: Iterable[RequestRow], tolerance_ms: int) -> None:
        self._tolerance_ms = tolerance_ms
        self._places: dict[tuple[int, str | None], list[RequestRow]] = {}
        for each in lines:
            self._places.setdefault((each.broker_id, None), []).append(each)
            if each.connection is not None:
                self._places.setdefault((each.broker_id, each.connection), []).append(each)
        for place in self._places.values():
            place.sort(key=turn)

    def is_before(self, one: RequestRow, other: RequestRow) -> bool:
        """Whether a request was answered before another arrived: by the clock of the broker that had both, or
        because a connection has one request at a time.
        """
        if one.broker_id != other.broker_id:
            return False
        if one.connection is not None and one.connection == other.connection:
            return turn(one) < turn(other)
        return one.responded_ms < self.arrived(other)

    def before(self, request: RequestRow) -> Iterator[RequestRow]:
        """The newest lines before a request: one of its broker, and one of its connection."""
        of_broker, of_connection = (
            self._places.get((request.broker_id, None), ()),
            self._on_connection(request),
        )
        at = bisect_left(of_broker, self.arrived(request), key=lambda each: each.responded_ms)
        yield from of_broker[at - 1 : at] if at else ()
        at = bisect_left(of_connection, turn(request), key=turn)
        yield from of_connection[at - 1 : at] if at else ()

    def has_after(self, request: RequestRow) -> bool:
        """Whether any line comes after a request."""
        ends = [*self._latest.get(request.broker_id, ()), *self._on_connection(request)[-1:]]
        return any(self.is_before(request, each) for each in ends)

    def first_and_last(self, broker_id: int) -> list[RequestRow]:
        """The first and the last line of a broker."""
        lines = self._places.get((broker_id, None), [])
        return [*lines[:1], *lines[-1:]]

    def around(self, first: RequestRow, last: RequestRow) -> Iterator[RequestRow]:
        """The lines of a broker from one request to a later one, and perhaps some others."""
        lines = self._places.get((last.broker_id, None), ())
        arrivals = self._arrivals.get(last.broker_id, ())
        at = bisect_left(lines, self.arrived(first), key=lambda each: each.responded_ms)
        while at < len(lines) and arrivals[at] - self._tolerance_ms <= last.responded_ms:
            yield lines[at]
            at += 1

    @cached_property
    def _latest(self) -> dict[int, tuple[RequestRow]]:
        """By broker, the line that arrived last."""
        return {
            broker_id: (max(lines, key=lambda each: each.requested_ms),)
            for (broker_id, connection), lines in self._places.items()
            if connection is None
        }

    @cached_property
    def _arrivals(self) -> dict[int, list[int]]:
        """By broker, for each line the earliest arrival among it and those after it."""
        return {
            broker_id: list(accumulate((each.requested_ms for each in reversed(lines)), min))[::-1]
            for (broker_id, connection), lines in self._places.items()
            if connection is None
        }

    def _on_connection(self, request: RequestRow) -> Sequence[RequestRow]:
        if request.connection is None:
            return ()
        return self._places.get((request.broker_id, request.connection), ())

    def arrived(self, request: RequestRow) -> int:
        """The earliest time at which a request may have arrived: its line may have been written late."""
        return request.requested_ms - self._tolerance_ms


def turn(request: RequestRow) -> tuple[int, int]:
    """The sort key of the lines of a connection."""
    return request.responded_ms, request.correlation_id
