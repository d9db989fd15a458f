"""What answers tell of a transactional id: a second witness of its state, where its records are gone.

After org.apache.kafka.coordinator.transaction.TransactionCoordinator: who is answered NONE to
AddPartitionsToTxn or AddOffsetsToTxn has an open transaction, which lasts until EndTxn, InitProducerId or its
timeout ends it. A producer epoch is given once: answered both before and after a request, it was there all
along.

Lines may be lost. So a transaction that is open by what lines tell is said of accepted requests only; against
a broker nothing counts but an epoch that was answered on both sides. Nothing is said across a line that could
not be read, or a file's end.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.capture.plan import REQUEST_LOG
from fencepost.protocols.producer_epoch.asked import BUSY, FENCED, Asked
from fencepost.protocols.producer_epoch.producer_requests import ADD_OFFSETS, ADD_PARTITIONS, END, INIT
from fencepost.protocols.producer_epoch.transaction_log import EMPTY, ONGOING
from fencepost.replay.requests import NONE

UnreadLines = Mapping[str, Sequence[int]]
"""Positions in files of request logs."""

_LOADING = "COORDINATOR_LOAD_IN_PROGRESS"
_ENDED_NOTHING = {END: (*FENCED, _LOADING, BUSY, "INVALID_TXN_STATE"), INIT: (*FENCED, _LOADING)}
"""The errors after which no transaction was ended. InitProducerId is answered BUSY when it has ended one, and
what failed to be written may be there all the same.
"""

Epoch = tuple[int | None, int | None]
"""Producer id and producer epoch."""


class Told(NamedTuple):
    """What a request certainly met; ``status`` and ``listed`` (its partition is in the transaction) are None
    where that is not told.
    """

    producer_id: int
    producer_epoch: int
    status: str | None = None
    listed: bool | None = None


def unread_lines(quarantine: pa.Table) -> UnreadLines:
    """Where lines of request logs could not be read, among rows of ``bronze.quarantine`` of one cluster."""
    rows = quarantine.filter(pc.equal(quarantine["kind"], REQUEST_LOG))
    found: dict[str, list[int]] = {}
    for file, position in zip(rows["file"].to_pylist(), rows["position"].to_pylist(), strict=True):
        found.setdefault(file, []).append(position or 0)
    return found


class Witnesses:
    """The answers about one transactional id, as far as they tell what its requests met."""

    def __init__(self, asked: Sequence[Asked], unread: UnreadLines, tolerance_ms: int) -> None:
        """``asked``: every line about the id, of all brokers, in the order of answers."""
        self._asked = asked
        self._unread = unread
        self._tolerance_ms = tolerance_ms

    def told(self, asked: Asked) -> list[Told]:
        """The states of which a request met one; none where nothing tells."""
        return self._within(asked) or self._between(asked)

    @cached_property
    def _tellers(self) -> _Lines:
        return _Lines((each for each in self._asked if _told_after(each) is not None), self._tolerance_ms)

    @cached_property
    def _began(self) -> _Lines:
        return _Lines((each for each in self._asked if _is_init(each)), self._tolerance_ms)

    @cached_property
    def _added(self) -> dict[str | None, _Lines]:
        """What was added, or verified, by the name of the partition; all of it by None."""
        found: dict[str | None, list[Asked]] = {None: []}
        for each in self._asked:
            if _shows_open(each):
                found[None].append(each)
                found.setdefault(_partition(each), []).append(each)
        return {name: _Lines(lines, self._tolerance_ms) for name, lines in found.items()}

    @cached_property
    def _enders(self) -> _Lines:
        return _Lines((each for each in self._asked if _may_end(each)), self._tolerance_ms)

    @cached_property
    def _ended_at(self) -> dict[Epoch, set[int]]:
        """The brokers that were asked to end a transaction, by what the request said."""
        found: dict[Epoch, set[int]] = {}
        for each in self._asked:
            if each.api_key == END:
                found.setdefault((each.producer_id, each.producer_epoch), set()).add(each.broker_id)
        return found

    @cached_property
    def _met(self) -> dict[Epoch, _Lines]:
        """The lines that certainly met a producer epoch."""
        found: dict[Epoch, list[Asked]] = {}
        for each in self._asked:
            if _shows_open(each) or (_is_ended(each) and each.moves_no_epoch):
                found.setdefault((each.producer_id, each.producer_epoch), []).append(each)
        return {epoch: _Lines(lines, self._tolerance_ms) for epoch, lines in found.items()}

    @cached_property
    def _committed(self) -> dict[Epoch, _Lines]:
        """Commits that moved the epoch: until then nobody else had ended the transaction of that epoch."""
        found: dict[Epoch, list[Asked]] = {}
        for each in self._asked:
            if _is_ended(each) and not each.moves_no_epoch and each.result == "COMMIT":
                found.setdefault((each.producer_id, each.producer_epoch), []).append(each)
        return {epoch: _Lines(lines, self._tolerance_ms) for epoch, lines in found.items()}

    def _between(self, asked: Asked) -> list[Told]:
        """The epoch that was told before and met afterwards."""
        for before in self._tellers.before(asked):
            told = _told_after(before)
            if told is not None and told in self._met and self._met[told].has_after(asked):
                return [Told(*told)]
        return []

    def _within(self, asked: Asked) -> list[Told]:
        """The open transaction that an accepted request of its epoch is part of."""
        if asked.error != NONE or asked.producer_id is None or asked.producer_epoch is None:
            return []
        said = asked.producer_id, asked.producer_epoch
        if self._ended_at.get(said, set()) - {asked.broker_id} or not self._lasts(asked, said):
            return []
        if asked.api_key == ADD_PARTITIONS and self._is_since(self._added.get(_partition(asked)), asked):
            return [Told(*said, ONGOING, listed=True)]
        if self._is_since(self._added[None], asked):
            return [Told(*said, ONGOING)]
        if not asked.verify_only and self._is_since(self._began, asked):
            # what was added since may not have been logged
            return [Told(*said, EMPTY), Told(*said, ONGOING)]
        return []

    def _lasts(self, asked: Asked, said: Epoch) -> bool:
        """Whether the epoch is met later: no timeout has ended the transaction."""
        return any(said in lines and lines[said].has_after(asked) for lines in (self._met, self._committed))

    def _is_since(self, lines: _Lines | None, asked: Asked) -> bool:
        """Whether one of these was answered before with the epoch of a request, and nothing ended since."""
        if lines is None:
            return False
        said = asked.producer_id, asked.producer_epoch
        return any(
            _told_after(before) == said and self._is_unbroken(before, asked) for before in lines.before(asked)
        )

    def _is_unbroken(self, before: Asked, asked: Asked) -> bool:
        """Whether all lines from one request to a later one are there, and none may have ended anything."""
        if before.file != asked.file:
            return False
        if any(before.position < at < asked.position for at in self._unread.get(before.file, ())):
            return False
        return all(
            each.request_id in (before.request_id, asked.request_id)
            or self._enders.is_before(each, before)
            or self._enders.is_before(asked, each)
            for each in self._enders.around(before, asked)
        )


class _Lines:
    """Lines about one transactional id, to be asked what comes before a request and after it."""

    def __init__(self, lines: Iterable[Asked], tolerance_ms: int) -> None:
        self._tolerance_ms = tolerance_ms
        self._places: dict[tuple[int, str | None], list[Asked]] = {}
        for each in lines:
            self._places.setdefault((each.broker_id, None), []).append(each)
            if each.connection is not None:
                self._places.setdefault((each.broker_id, each.connection), []).append(each)
        for place in self._places.values():
            place.sort(key=_turn)

    def is_before(self, one: Asked, other: Asked) -> bool:
        """Whether a request was answered before another arrived: by the clock of the one broker, or because a
        connection has one request at a time.
        """
        if one.broker_id != other.broker_id:
            return False
        if one.connection is not None and one.connection == other.connection:
            return _turn(one) < _turn(other)
        return one.responded_ms < self._arrived(other)

    def before(self, asked: Asked) -> Iterator[Asked]:
        """The newest lines before a request: of its broker, and of its connection."""
        of_broker, of_connection = self._places.get((asked.broker_id, None), ()), self._on_connection(asked)
        at = bisect_left(of_broker, self._arrived(asked), key=lambda each: each.responded_ms)
        yield from of_broker[at - 1 : at] if at else ()
        at = bisect_left(of_connection, _turn(asked), key=_turn)
        yield from of_connection[at - 1 : at] if at else ()

    def has_after(self, asked: Asked) -> bool:
        """Whether a line comes after a request."""
        ends = [*self._latest.get(asked.broker_id, ()), *self._on_connection(asked)[-1:]]
        return any(self.is_before(asked, each) for each in ends)

    def around(self, first: Asked, last: Asked) -> Iterator[Asked]:
        """The lines of a broker from one request to a later one, and perhaps some more."""
        lines = self._places.get((last.broker_id, None), ())
        arrivals = self._arrivals.get(last.broker_id, ())
        at = bisect_left(lines, self._arrived(first), key=lambda each: each.responded_ms)
        while at < len(lines) and arrivals[at] - self._tolerance_ms <= last.responded_ms:
            yield lines[at]
            at += 1

    @cached_property
    def _latest(self) -> dict[int, tuple[Asked]]:
        """By broker, the line that arrived last."""
        return {
            broker_id: (max(lines, key=lambda each: each.requested_ms),)
            for (broker_id, connection), lines in self._places.items()
            if connection is None
        }

    @cached_property
    def _arrivals(self) -> dict[int, list[int]]:
        """By broker, of each line the earliest arrival among it and those after it."""
        return {
            broker_id: list(accumulate((each.requested_ms for each in reversed(lines)), min))[::-1]
            for (broker_id, connection), lines in self._places.items()
            if connection is None
        }

    def _on_connection(self, asked: Asked) -> Sequence[Asked]:
        if asked.connection is None:
            return ()
        return self._places.get((asked.broker_id, asked.connection), ())

    def _arrived(self, asked: Asked) -> int:
        """When a request arrived at the earliest: its line may have been written late."""
        return asked.requested_ms - self._tolerance_ms


def _turn(asked: Asked) -> tuple[int, int]:
    return asked.responded_ms, asked.correlation_id


def _partition(asked: Asked) -> str:
    return f"{asked.topic}:{asked.partition}"


def _is_init(asked: Asked) -> bool:
    return asked.api_key == INIT and asked.error == NONE


def _is_ended(asked: Asked) -> bool:
    return asked.api_key == END and asked.error == NONE


def _shows_open(asked: Asked) -> bool:
    return asked.api_key in (ADD_PARTITIONS, ADD_OFFSETS) and asked.error == NONE


def _may_end(asked: Asked) -> bool:
    return asked.api_key in _ENDED_NOTHING and asked.error not in _ENDED_NOTHING[asked.api_key]


def _told_after(asked: Asked) -> tuple[int, int] | None:
    """The producer id and epoch that the id certainly had when this was answered."""
    if _shows_open(asked) or (_is_ended(asked) and asked.moves_no_epoch):
        told = asked.producer_id, asked.producer_epoch
    elif _is_init(asked) or _is_ended(asked):
        told = asked.returned_producer_id, asked.returned_producer_epoch
    else:
        return None
    producer_id, epoch = told
    return None if producer_id is None or epoch is None or epoch < 0 else (producer_id, epoch)
