"""Who was fenced, and by whom: requests refused because a producer's epoch is over."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.producer_epoch.arrow import Rows
from fencepost.protocols.producer_epoch.asked import FENCED, STALE_END, Asked, is_refusal
from fencepost.protocols.producer_epoch.producer_requests import PRODUCE
from fencepost.protocols.producer_epoch.producer_state import NONE
from fencepost.protocols.producer_epoch.transaction_metadata import END_TXN, NEW_INSTANCE, Transition
from fencepost.protocols.producer_epoch.transactions import Transaction
from fencepost.replay.logs import Log
from fencepost.replay.requests import NONE as NO_ERROR

BROKERS_OWN = "AddPartitionsManager-client-"
"""What the client id of a broker begins with that asks a coordinator for a producer."""


class Had(NamedTuple):
    """A producer id and epoch, and when they were told."""

    at_ms: int
    producer_id: int
    epoch: int


Connection = tuple[int, str]
"""Broker and connection."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refused request, with what it presented as far as that is known.

    ``began`` is what its connection is known to have had before.
    """

    asked: Asked
    producer_id: int | None
    victim_epoch: int | None
    began: Had | None


@dataclass(frozen=True, slots=True)
class Fencing:
    """A refusal and what fenced it: ``fence`` is the first record past the victim's epoch, ``now`` the state
    when it was answered, where that is settled.
    """

    refusal: Refusal
    producer_id: int | None
    victim_epoch: int | None
    fence: Transition | None
    now: Transition | None


def asking_connections(requests: pa.Table) -> set[str]:
    """The connections that were refused a Produce, among rows of ``silver.producer_requests``.

    A Produce line has neither producer id nor epoch: what its connection wrote before may tell.
    """
    refused = requests.filter(pc.and_(is_refusal(requests), pc.equal(requests["api_key"], PRODUCE)))
    return {each for each in refused["connection"].unique().to_pylist() if each is not None}


def refusals(
    asked: Sequence[Asked], wrote: Mapping[Connection, Sequence[Had]], tolerance_ms: int
) -> list[Refusal]:
    """The refused requests among those of one transactional id (or of none), in the order of answers.

    The first error stands for the request. What a Produce presented is told by the line in which the broker
    asks the coordinator for it meanwhile (KIP-890), or else by what its connection was granted or ``wrote``.
    A broker's own line stands alone only where the producer's is missing. Among them are requests that were
    refused for another reason (STALE_END, an epoch that never was).
    """
    sent: dict[str, Asked] = {}
    for each in asked:
        if _is_refused(each):
            sent.setdefault(each.request_id, each)
    if not sent:
        return []
    own, theirs_ = [], []
    for each in sent.values():
        (theirs_ if (each.client_id or "").startswith(BROKERS_OWN) else own).append(each)
    brokers, had = _Meanwhile(theirs_, tolerance_ms), _connections(asked, wrote)
    answered: set[str] = set()
    found = []
    for each in own:
        theirs = brokers.during(each)
        answered.update(their.request_id for their in theirs)
        found.append(_presented(each, theirs, had))
    found += [
        Refusal(each, each.producer_id, each.producer_epoch, None)
        for each in brokers.asked
        if each.request_id not in answered
    ]
    return sorted(found, key=lambda refusal: refusal.asked.order)


def _is_refused(asked: Asked) -> bool:
    # is_refusal has left nothing else but what was granted, and what ended a transaction
    return asked.error in FENCED or asked.error == STALE_END


def _presented(asked: Asked, theirs: Sequence[Asked], had: Mapping[Connection, Sequence[Had]]) -> Refusal:
    if asked.producer_id is not None or asked.connection is None:
        return Refusal(asked, asked.producer_id, asked.producer_epoch, None)
    known = had.get((asked.broker_id, asked.connection), ())
    at = bisect_right(known, asked.requested_ms, key=lambda each: each.at_ms)
    began = known[at - 1] if at else None
    said = {(their.producer_id, their.producer_epoch) for their in theirs}
    producer_id, epoch = said.pop() if len(said) == 1 else (None, None)
    if producer_id is None and began is not None:
        producer_id = began.producer_id
    return Refusal(asked, producer_id, epoch, began)


def _connections(
    asked: Iterable[Asked], wrote: Mapping[Connection, Sequence[Had]]
) -> dict[Connection, list[Had]]:
    """What each connection was granted or wrote, in the order of time."""
    found: dict[Connection, list[Had]] = {place: list(had) for place, had in wrote.items()}
    for each in asked:
        epoch, producer_id = each.returned_producer_epoch, each.returned_producer_id
        told = each.error == NO_ERROR and epoch is not None and epoch >= 0 and producer_id is not None
        if told and each.connection is not None and epoch is not None and producer_id is not None:
            place = (each.broker_id, each.connection)
            found.setdefault(place, []).append(Had(each.responded_ms, producer_id, epoch))
    for had in found.values():
        had.sort()
    return found


class _Meanwhile:
    """The brokers' own refused requests, by when they were made."""

    def __init__(self, asked: Iterable[Asked], tolerance_ms: int) -> None:
        self.asked = sorted(asked, key=lambda each: (each.requested_ms, each.request_id))
        self._requested = [each.requested_ms for each in self.asked]
        self._tolerance_ms = tolerance_ms

    def during(self, own: Asked) -> list[Asked]:
        """Those made while the producer waited for this answer."""
        if own.transactional_id is None:
            return []
        latest = own.responded_ms + self._tolerance_ms
        first = bisect_left(self._requested, own.requested_ms - self._tolerance_ms)
        last = bisect_right(self._requested, latest)
        return [each for each in self.asked[first:last] if each.responded_ms <= latest]


class Fences:
    """The history of one transactional id, to be asked who fenced a request."""

    def __init__(self, transitions: Iterable[Transition], log: Log | None) -> None:
        self._states = [each for each in transitions if not each.record.tombstone]
        self._numbers = [each.number for each in self._states]
        self._at = {each.number: each for each in self._states}
        self._lost = _lost(self._states, log)
        times = sorted((each.record.timestamp_ms, each.number) for each in self._states)
        self._times = [ms for ms, _ in times]
        self._newest = list(accumulate((number for _, number in times), max))
        self._foreign = [each for each in self._states if each.moved and not each.own]
        self._foreign_numbers = [each.number for each in self._foreign]
        self._untold = sorted(
            each.record.timestamp_ms for each in self._states if each.moved and each.act is None
        )
        self._begun: dict[str, list[Had]] = {}
        for each in self._states:
            if each.cause == NEW_INSTANCE and each.by is not None and each.by.client_id is not None:
                self._begun.setdefault(each.by.client_id, []).append(_had(each))
        for begun in self._begun.values():
            begun.sort()
        self._epochs = _last_epochs(self._states)
        self._any_hidden = any(each.hidden for each in self._states)

    def of(self, refusal: Refusal) -> Fencing | None:
        """What fenced a request; None where its epoch is known not to be over.

        Also where nothing can be told: there is no history of the id, or nothing says what was presented.
        An EndTxn that is answered STALE_END may just be a retry.
        """
        producer_id, epoch = _or_none(refusal.producer_id), _or_none(refusal.victim_epoch)
        last_mine = last_own = None
        if self._states:
            began = self._began(refusal) if epoch is None else None
            if producer_id is None and began is not None:
                mine = began.producer_id
            else:
                mine = producer_id if producer_id is not None else NONE
            presented = epoch if epoch is not None else began.epoch if began is not None else None
            last_mine = self._last_of(mine, presented)
            last_own = last_mine if epoch is not None else self._followed(last_mine)
        fence = self._next(last_own)
        reached = self._at.get(last_own) if fence is not None and last_own is not None else None
        if reached is not None:
            producer_id = reached.record.producer_id if producer_id is None else producer_id
            epoch = reached.record.producer_epoch if epoch is None else epoch
        asked = refusal.asked
        now = self._state_at(bisect_right(self._times, asked.responded_ms))
        ended_itself = fence is not None and fence.cause in (END_TXN, None)
        fenced = fence is not None and not (asked.error == STALE_END and ended_itself)
        untold = now is None or epoch is None or (self._any_hidden and last_mine is None)
        if not fenced and not (untold and asked.error in FENCED):
            return None
        before = self._state_at(bisect_left(self._times, asked.requested_ms))
        settled = now is not None and self._now(now) == self._now(before) and now.number not in self._lost
        return Fencing(refusal, producer_id, epoch, fence, now if settled else None)

    def _now(self, state: Transition | None) -> tuple[object, ...] | None:
        if state is None:
            return None
        return state.record.producer_id, state.record.producer_epoch, state.number in self._lost

    def _began(self, refusal: Refusal) -> Had | None:
        """What the connection had, or what the client id tells where the connection tells nothing.

        Instances of one application often share it: it only tells where it was the name of one new instance
        of the id, and the requests behind all that happened to the id are known.
        """
        if refusal.began is not None or refusal.asked.client_id is None:
            return refusal.began
        until = refusal.asked.requested_ms
        begun = self._begun.get(refusal.asked.client_id, ())
        alone = bisect_right(begun, until, key=lambda each: each.at_ms) == 1
        return begun[0] if alone and not bisect_right(self._untold, until) else None

    def _last_of(self, producer_id: int, epoch: int | None) -> int | None:
        """The number of the last state of this producer id up to this epoch."""
        if epoch is None or producer_id not in self._epochs:
            return None
        numbers, epochs = self._epochs[producer_id]
        at = bisect_right(epochs, epoch)
        return numbers[at - 1] if at else None

    def _followed(self, last_mine: int | None) -> int | None:
        """The last state that a producer can have gone on to from there, by its own moves.

        None when nothing tells whose the next move was.
        """
        if last_mine is None:
            return None
        at = bisect_right(self._foreign_numbers, last_mine)
        if at == len(self._foreign) or self._foreign[at].act is None:
            return None
        return self._foreign_numbers[at] - 1

    def _next(self, number: int | None) -> Transition | None:
        if number is None:
            return None
        at = bisect_right(self._numbers, number)
        return self._states[at] if at < len(self._states) else None

    def _state_at(self, count: int) -> Transition | None:
        """The newest state among the first ``count`` in the order of time."""
        return self._at[self._newest[count - 1]] if count else None


def _had(state: Transition) -> Had:
    record = state.record
    return Had(record.timestamp_ms, record.producer_id or 0, record.producer_epoch or 0)


def _or_none(value: int | None) -> int | None:
    return None if value == NONE else value


def _lost(states: Sequence[Transition], log: Log | None) -> set[int]:
    """The states that a hole in the log follows: nothing tells how long they lasted."""
    if log is None:
        return set()
    last = {each.record.stretch: each.number for each in states}
    return {
        last[stretch.number]
        for stretch in log.stretches
        if stretch.to_offset is not None and stretch.number in last
    }


def _last_epochs(states: Sequence[Transition]) -> dict[int, tuple[list[int], list[int]]]:
    """For each producer id: the states with no lower epoch after them, as (numbers, epochs) in order."""
    found: dict[int, tuple[list[int], list[int]]] = {}
    for each in states:
        producer_id, epoch = each.record.producer_id, each.record.producer_epoch
        if producer_id is None or epoch is None:
            continue
        numbers, epochs = found.setdefault(producer_id, ([], []))
        while epochs and epochs[-1] >= epoch:
            epochs.pop()
            numbers.pop()
        numbers.append(each.number)
        epochs.append(epoch)
    return found


class OpenTransactions:
    """The transactions of one transactional id, to be asked what was in flight at an offset of its log."""

    def __init__(self, found: Iterable[Transaction], log: Log | None) -> None:
        self._open = {each.number for each in log.stretches if each.to_offset is None} if log else set()
        self._ended: dict[tuple[int | None, int | None], list[Transaction]] = {}
        self._unended: dict[tuple[int | None, int | None], list[Transaction]] = {}
        for each in found:
            kind = self._unended if each.prepare is None else self._ended
            kind.setdefault((each.start.producer_id, each.start.producer_epoch), []).append(each)

    def at(self, producer_id: int | None, epoch: int | None, offset: int) -> list[dict[str, str | None]]:
        """The partitions of the transactions that were open with this epoch before this record was written."""
        key = (producer_id, epoch)
        ended = self._ended.get(key, [])
        at = bisect_left(ended, offset, key=lambda each: each.start.offset)
        flying = [each for each in self._unended.get(key, []) if each.start.offset < offset]
        # within one epoch a transaction begins when the one before it has been prepared
        flying += [
            each for each in ended[max(at - 1, 0) : at] if each.prepare and each.prepare.offset >= offset
        ]
        return [
            {"name": name, "outcome": each.outcome(each.stretch in self._open)}
            for each in sorted(flying, key=lambda each: each.start.offset)
            for name in each.newest.partitions
        ]


def add_fencing(rows: Rows, cluster: str, fencing: Fencing, flying: OpenTransactions) -> None:
    """Add a fencing of a transactional producer to rows of account.FENCED."""
    fence, now = fencing.fence, fencing.now
    # behind a hole it is not known to be the first
    seen = fence is not None and not fence.hidden
    in_flight: list[dict[str, str | None]] | None = None
    if fence is not None and seen:
        # a producer that ended its transaction itself had none open
        own = fence.cause == END_TXN
        at = fence.record.offset
        in_flight = [] if own else flying.at(fencing.producer_id, fencing.victim_epoch, at)
    asked, by = fencing.refusal.asked, fence.by if fence is not None else None
    rows.add(
        cluster,
        fencing.producer_id,
        asked.request_id,
        asked.transactional_id,
        fencing.victim_epoch,
        None if now is None else now.record.producer_id,
        None if now is None else now.record.producer_epoch,
        asked.client_id,
        asked.connection,
        asked.api_name,
        asked.error,
        asked.responded_ms,
        None if fence is None else fence.cause,
        None if by is None else by.client_id,
        None if by is None else by.connection,
        fence.record.offset if fence is not None and seen else None,
        fence.record.timestamp_ms if fence is not None and seen else None,
        in_flight,
        asked.topic,
        asked.partition,
        asked.file,
        asked.position,
    )


def add_idempotent(rows: Rows, cluster: str, refusal: Refusal) -> None:
    """Add a refusal of a producer without a transactional id: only it itself moves its epoch.

    Its request names neither producer nor epoch: the producer is the one that the connection was granted; the
    current epoch is the newest in the partition, which the last step knows.
    """
    asked = refusal.asked
    producer_id = refusal.producer_id
    rows.add(
        *(cluster, producer_id, asked.request_id, None, None, producer_id, None),
        *(asked.client_id, asked.connection, asked.api_name, asked.error, asked.responded_ms),
        *(None, None, None, None, None, None),
        *(asked.topic, asked.partition, asked.file, asked.position),
    )
