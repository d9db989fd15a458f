"""The records that gave a transactional id another epoch, as one of its clients sees them: it requested the
change itself, or somebody else did.

A client presents the newest epoch that it was given. So where no line tells the epoch that it presented, only
somebody else can have ended that epoch.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from fencepost.protocols.producer_epoch.initialisers import INITIALISED, NEW_INSTANCE, OPERATOR
from fencepost.protocols.producer_epoch.order_of_lines import turn
from fencepost.protocols.producer_epoch.request_rows import RequestRow
from fencepost.protocols.producer_epoch.request_targets import END, INIT
from fencepost.protocols.producer_epoch.transaction_metadata import TIMEOUT, Transition
from fencepost.replay.requests import NONE

INSTANCES = (NEW_INSTANCE, INITIALISED)
_KEEPS_LAST_EPOCH = 2
"""The transaction version from which on a producer may ask for the epoch that a timeout made."""

_Identity = tuple[int, int]
"""Producer id and epoch."""

_NOBODY: _Identity = (-1, -1)


class ClientMoves:
    """The records that gave a transactional id another producer id or epoch, and that one client is not known
    to have requested itself.

    ``client_id`` is that of the client: instances of one application often share it. ``goes_back``: whether
    one of its connections has presented an older epoch after a newer one, as no client of Kafka does.
    """

    def __init__(
        self,
        client_id: str | None,
        states: Sequence[Transition],
        requests: Iterable[RequestRow],
        tolerance_ms: int,
    ) -> None:
        """``states``: those of the id without tombstones, in order; ``requests``: those of the id."""
        self.client_id = client_id
        self.goes_back = False
        self._tolerance_ms = tolerance_ms
        self._presented: list[tuple[RequestRow, _Identity]] = []
        self._given: dict[_Identity, list[RequestRow]] = {}
        newest: dict[tuple[int, str | None], _Identity] = {}
        for each in sorted((each for each in requests if each.client_id == client_id), key=turn):
            if each.producer_id is None or each.producer_id < 0 or each.producer_epoch is None:
                continue
            identity, place = (each.producer_id, each.producer_epoch), (each.broker_id, each.connection)
            self._presented.append((each, identity))
            self.goes_back |= each.connection is not None and identity < newest.get(place, identity)
            newest[place] = identity
            epoch = each.returned_producer_epoch
            if each.api_key in (END, INIT) and each.error == NONE and epoch is not None:
                self._given.setdefault((each.returned_producer_id or 0, epoch), []).append(each)
        self._moves = _others(client_id, states, max(self._given, default=_NOBODY))
        self._numbers = [each.number for each in self._moves]

    def next_after(self, number: int) -> Transition | None:
        """The first such record after a state."""
        at = bisect_right(self._numbers, number)
        return self._moves[at] if at < len(self._moves) else None

    def newest_until(self, number: int) -> Transition | None:
        """The last such record up to a state."""
        at = bisect_right(self._numbers, number)
        return self._moves[at - 1] if at else None

    def was_given(self, move: Transition, request: RequestRow) -> bool | None:
        """Whether the client had been given the epoch that a record made before it sent a request; None if
        that is not known.

        A request for something that another client has done already is granted, too: an EndTxn if the
        transaction has ended in that way, an InitProducerId if it presents the last epoch. Its line may be
        missing.
        """
        answers = self._given.get(_identity(move), [])
        before = {self._was_answered_before(each, request) for each in answers}
        if True in before:
            return True
        is_kept = move.writer in (*INSTANCES, OPERATOR) or (
            move.writer == TIMEOUT and move.record.transaction_version < _KEEPS_LAST_EPOCH
        )
        return False if is_kept and None not in before else None

    def presents_older(self, move: Transition, since_ms: int, broker_id: int) -> bool:
        """Whether the client presented an older epoch than that of a record to a broker, in a request that
        arrived after a time.
        """
        return any(
            identity < _identity(move)
            for each, identity in self._presented
            if each.broker_id == broker_id and each.requested_ms - self._tolerance_ms > since_ms
        )

    def _was_answered_before(self, answer: RequestRow, request: RequestRow) -> bool | None:
        if answer.broker_id != request.broker_id:
            return None
        if answer.connection is not None and answer.connection == request.connection:
            return turn(answer) < turn(request)
        if answer.responded_ms <= request.requested_ms - self._tolerance_ms:
            return True
        return False if answer.responded_ms > request.responded_ms else None


def _others(client_id: str | None, states: Sequence[Transition], newest_given: _Identity) -> list[Transition]:
    """The states with another identity that the client is not known to have requested, or was not given: an
    InitProducerId that meets an open transaction moves the epoch, and may be refused when it is sent again.
    """
    moves, asked_on = [], None
    for each in states:
        if not each.changes_identity:
            continue
        request = each.request
        connection = None if request is None else (request.broker_id, request.connection)
        if each.writer in INSTANCES:
            # an instance that asks for a new epoch goes on with it
            goes_on = connection is not None and None not in connection and connection == asked_on
            asked_on = connection
        else:
            is_given = request is None or request.error == NONE or newest_given >= _identity(each)
            goes_on = each.keeps_instance and is_given
        is_own = request is not None and request.client_id == client_id and not each.hidden
        if not (is_own and goes_on):
            moves.append(each)
    return moves


def _identity(state: Transition) -> _Identity:
    return state.record.producer_id or 0, state.record.producer_epoch or 0
