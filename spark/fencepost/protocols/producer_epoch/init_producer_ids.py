"""InitProducerId requests, and the states they met: where a transactional id's epoch was decided."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from fencepost.protocols.producer_epoch.asked import BUSY, FENCED, Asked
from fencepost.protocols.producer_epoch.causes import Pair
from fencepost.protocols.producer_epoch.coverage import LogKey, begins
from fencepost.protocols.producer_epoch.producer_requests import INIT
from fencepost.protocols.producer_epoch.producer_state import NONE
from fencepost.protocols.producer_epoch.transaction_metadata import Transition
from fencepost.replay.columns import Columns
from fencepost.replay.keys import TRANSACTIONS_TOPIC
from fencepost.replay.logs import COMPACTED, Log, Term
from fencepost.replay.requests import NONE as NO_ERROR

ELSEWHERE = ("COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR")
"""The errors of a broker that does not have the id's state, and looked at none."""


def decided(asked: Iterable[Asked]) -> list[Asked]:
    """The InitProducerId requests of a transactional id that its coordinator decided, or may have."""
    return [
        each
        for each in asked
        if each.api_key == INIT and each.transactional_id is not None and each.error not in ELSEWHERE
    ]


class Candidate(NamedTuple):
    """A state that a request may have met: ``number`` of the last transition written, 0 for none, and the
    stretch and leader epoch in which it was decided.
    """

    number: int
    stretch: int
    leader_epoch: int


@dataclass(frozen=True)
class BrokersTerms:
    """The terms of a coordinator's log that one broker led, or may have, with what lies between them."""

    terms: Sequence[Term]
    after_hole: Sequence[bool]
    before_hole: Sequence[bool]
    followed_ms: Sequence[int]
    preceded_ms: Sequence[int]

    @classmethod
    def of(cls, log: Log, terms: Iterable[Term], broker_id: int) -> BrokersTerms:
        """Of all ``terms`` of ``log``, the broker's."""
        own = [term for term in terms if term.led_by in (None, broker_id)]
        last = log.stretches[-1]
        end = last.number + (last.to_offset is not None)
        before = [0, *(term.stretch for term in own)]
        after = [*(term.stretch for term in own[1:]), end]
        # when the broker's next term had begun, at the earliest, and its one before went on, at the latest
        followed = list(accumulate((term.first_ms for term in reversed(own)), min))[::-1]
        preceded = list(accumulate((term.last_ms for term in own), max))
        return cls(
            own,
            [stretch != term.stretch for stretch, term in zip(before, own, strict=False)],
            [stretch != term.stretch for stretch, term in zip(after, own, strict=True)] if own else [],
            followed[1:],
            preceded[:-1],
        )

    def during(self, start_ms: int, end_ms: int) -> Sequence[Term]:
        """Every term in which a request may have been decided.

        A term is out when the broker's next one had begun before the request, or the one before went on after
        it. None is given when a hole beside a term may hold another term, or records, that the request met.
        """
        first = bisect_left(self.followed_ms, start_ms)
        last = bisect_right(self.preceded_ms, end_ms)
        for at in range(first, min(last + 1, len(self.terms))):
            term = self.terms[at]
            if self.after_hole[at] and term.first_ms >= start_ms:
                return ()
            if self.before_hole[at] and term.last_ms <= end_ms:
                return ()
        return self.terms[first : last + 1]


class Coordinator:
    """What one coordinator's log says to all of its transactional ids: who led it when."""

    def __init__(self, key: LogKey, log: Log, leaders: Mapping[int, int | None]) -> None:
        """``leaders``: broker ids by leader epoch."""
        self.key = key
        self.log = log
        self._terms = log.terms(leaders)
        self._of_broker: dict[int, BrokersTerms] = {}
        self.begins = {stretch.number: begins(log, stretch) for stretch in log.stretches}

    def terms(self, broker_id: int) -> BrokersTerms:
        """The terms of a broker."""
        if broker_id not in self._of_broker:
            self._of_broker[broker_id] = BrokersTerms.of(self.log, self._terms, broker_id)
        return self._of_broker[broker_id]


class States:
    """The states of one transactional id, to be asked which of them a request met."""

    def __init__(self, transitions: Sequence[Transition], tolerance_ms: int) -> None:
        self.transitions = transitions
        self._tolerance_ms = tolerance_ms
        self._offsets = [each.record.offset for each in transitions]

    @cached_property
    def _times(self) -> dict[tuple[int, int], tuple[list[int], list[int], list[int]]]:
        """By stretch and leader epoch: times in order, the transitions' numbers, and the newest number so far."""
        by_term: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for each in self.transitions:
            record = each.record
            by_term.setdefault((record.stretch, record.leader_epoch), []).append(
                (record.timestamp_ms, each.number)
            )
        found = {}
        for term, times in by_term.items():
            times.sort()
            numbers = [number for _, number in times]
            found[term] = ([ms for ms, _ in times], numbers, list(accumulate(numbers, max)))
        return found

    @cached_property
    def _order(self) -> _Order:
        return _Order(self.transitions)

    def before(self, offset: int) -> int:
        """The number of the last transition before an offset; 0 for none."""
        return bisect_left(self._offsets, offset)

    def met_by_writer(self, pairs: Iterable[Pair]) -> list[Candidate]:
        """The state that a request met which wrote a record (``pairs``): the one before the record.

        Where it is not sure which record it wrote, the state before each of them.
        """
        pairs = list(pairs)
        sure = [pair for pair in pairs if pair.sure]
        records = [pair.record for pair in pairs]
        if sure:
            records = [min((pair.record for pair in sure), key=lambda record: record.offset)]
        return [
            Candidate(self.before(record.offset), record.stretch, record.leader_epoch)
            for record in sorted(records, key=lambda record: record.offset)
        ]

    def met_by_refused(self, asked: Asked, coordinator: Coordinator) -> list[tuple[int, Candidate]]:
        """The states from arrival to answer of a request that wrote nothing, numbered.

        Times are only compared where one broker's clock wrote both: in the terms of the broker that answered.
        Of those states the order of requests leaves some.
        """
        start_ms = asked.requested_ms - self._tolerance_ms
        end_ms = asked.responded_ms + self._tolerance_ms
        found: set[Candidate] = set()
        for term in coordinator.terms(asked.broker_id).during(start_ms, end_ms):
            found.update(self._in_term(term, start_ms, end_ms))
        at_least, below = self._order.bounds(asked)
        return [
            (number, candidate)
            for number, candidate in enumerate(sorted(found))
            if at_least <= candidate.number and (below is None or candidate.number < below)
        ]

    def _in_term(self, term: Term, start_ms: int, end_ms: int) -> Iterable[Candidate]:
        times, numbers, newest = self._times.get((term.stretch, term.leader_epoch), ([], [], []))
        first, last = bisect_left(times, start_ms), bisect_right(times, end_ms)
        inside = numbers[first:last]
        # the newest record from before the window, or from before the term
        start = newest[first - 1] if first else self.before(term.begins)
        if inside:
            start = min(inside) - 1
        return (Candidate(number, term.stretch, term.leader_epoch) for number in (start, *inside))


class _Order:
    """What the order of requests tells: a broker takes up the next request of a connection when the one before
    is answered. What wrote a record on the same connection before or after a refused request bounds what it
    met, whatever the clock says.
    """

    def __init__(self, transitions: Sequence[Transition]) -> None:
        written: dict[tuple[int, str], list[tuple[tuple[int, int], int]]] = {}
        for each in transitions:
            # what completes a transaction is written after the answer
            if each.by is None or each.by.connection is None or each.record.completes:
                continue
            order = (each.by.responded_ms, each.by.correlation_id)
            written.setdefault((each.by.broker_id, each.by.connection), []).append((order, each.number))
        self._written: dict[tuple[int, str], tuple[list[tuple[int, int]], list[int], list[int]]] = {}
        for connection, orders in written.items():
            orders.sort()
            numbers = [number for _, number in orders]
            least = list(accumulate(reversed(numbers), min))[::-1]
            self._written[connection] = (
                [order for order, _ in orders],
                list(accumulate(numbers, max)),
                least,
            )

    def bounds(self, asked: Asked) -> tuple[int, int | None]:
        """The state that a request met at the earliest, and the first one that it did not meet any more."""
        if asked.connection is None or (asked.broker_id, asked.connection) not in self._written:
            return 0, None
        orders, newest, least = self._written[asked.broker_id, asked.connection]
        order = (asked.responded_ms, asked.correlation_id)
        before, after = bisect_left(orders, order), bisect_right(orders, order)
        return newest[before - 1] if before else 0, least[after] if after < len(least) else None


@dataclass(frozen=True)
class InitRows:
    """The rows of both tables."""

    requests: Columns
    states: Columns


def add_rows(
    rows: InitRows,
    inits: Sequence[Asked],
    placed: Mapping[str, Sequence[Pair]],
    granted: Collection[Pair],
    states: States,
    coordinator: Coordinator | None,
    *,
    cluster: str,
    partition: int | None,
) -> None:
    """Add the requests of one transactional id and the states they met.

    ``placed``: the pairs of requests whose record is known, by request id, of those that were ``granted`` and
    of those that made the coordinator abort a transaction, which are answered once that record is written.
    """
    own = {pair.asked.request_id: pair.record.offset for pair in granted if pair.sure}
    for asked in inits:
        met = _met(asked, placed.get(asked.request_id), states, coordinator)
        complete = True
        for number, candidate in met:
            complete &= _add_state(rows.states, asked, number, candidate, states, coordinator)
        rows.requests.add(
            cluster,
            asked.request_id,
            asked.broker_id,
            asked.api_version,
            asked.client_id,
            asked.connection,
            asked.correlation_id,
            asked.transactional_id,
            asked.producer_id,
            asked.producer_epoch,
            asked.error,
            asked.returned_producer_id,
            asked.returned_producer_epoch,
            own.get(asked.request_id),
            asked.requested_ms,
            asked.responded_ms,
            len(met),
            _unknown_reason(asked, bool(met), complete, partition),
            asked.file,
            asked.position,
        )


def _met(
    asked: Asked, pairs: Sequence[Pair] | None, states: States, coordinator: Coordinator | None
) -> list[tuple[int, Candidate]]:
    if pairs:
        return list(enumerate(states.met_by_writer(pairs)))
    # without an answer nothing tells whether it was granted, and what was granted wrote a record
    if coordinator is None or asked.error in (None, NO_ERROR):
        return []
    return states.met_by_refused(asked, coordinator)


def _unknown_reason(asked: Asked, met: bool, complete: bool, partition: int | None) -> str | None:
    log = f"{TRANSACTIONS_TOPIC}-{'?' if partition is None else partition}"
    if asked.error is None:
        return "the request log has no answer"
    if not met and asked.error == NO_ERROR:
        return f"the record of this request is not in the captured log of {log}"
    if not met:
        return f"records of {log} from around this request were not captured"
    return None if complete else f"the id's history before this is not complete in the log of {log}"


def _add_state(
    rows: Columns,
    asked: Asked,
    number: int,
    candidate: Candidate,
    states: States,
    coordinator: Coordinator | None,
) -> bool:
    """Add one state that a request may have met; gives back whether it is known."""
    assert coordinator is not None
    state = states.transitions[candidate.number - 1] if candidate.number else None
    granted = asked.error == NO_ERROR
    known, fields = _state(state, candidate)
    from_position = coordinator.begins[candidate.stretch] if state is None else state.record.offset
    answered = asked.error is not None
    rows.add(
        *coordinator.key,
        asked.request_id,
        number,
        asked.transactional_id,
        asked.producer_id,
        asked.producer_epoch,
        granted if answered else None,
        asked.error in FENCED if answered else None,
        asked.error == BUSY if answered else None,
        asked.returned_producer_id if granted else NONE,
        asked.returned_producer_epoch if granted else NONE,
        known,
        *fields,
        from_position,
        from_position + 1,
        asked.requested_ms,
        asked.responded_ms,
    )
    return known is not None


_Fields = tuple[str | None, int | None, int | None, int | None, int | None, int | None, int | None]
_ABSENT: _Fields = ("Empty", NONE, NONE, NONE, NONE, NONE, NONE)
_HIDDEN: _Fields = (None, None, None, None, None, None, None)


def _state(state: Transition | None, candidate: Candidate) -> tuple[bool | None, _Fields]:
    """Whether the coordinator knew the id, and what (silver.init_producer_id_states, from ``status`` on).

    Nothing of the id in this stretch so far: it does not exist, if the stretch shows all there is.
    """
    if state is None or state.record.stretch != candidate.stretch:
        return (False, _ABSENT) if candidate.stretch in (0, COMPACTED) else (None, _HIDDEN)
    if state.record.tombstone:
        return False, _ABSENT
    record, last = state.record, state.last
    held: int | None = None
    if last is not None:
        # another coordinator than the one that set it has forgotten it
        held = last.epoch if last.leader_epoch == candidate.leader_epoch else NONE
    if record.leader_epoch != candidate.leader_epoch:
        # it was read from the log
        previous: int | None = record.previous_producer_id
    elif state.was is not None:
        previous = state.was.producer_id
    else:
        previous = NONE if state.first_known else None
    return True, (
        record.status,
        record.producer_id,
        record.producer_epoch,
        None if last is None else last.epoch,
        state.previous_id,
        held,
        previous,
    )
