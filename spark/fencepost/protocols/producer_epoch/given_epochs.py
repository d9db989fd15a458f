"""The clients that were given each producer id and epoch of a transactional id, and whether another client
ended a transaction with them.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from typing import NamedTuple

from fencepost.protocols.producer_epoch.causes import Pair
from fencepost.protocols.producer_epoch.request_rows import RequestRow
from fencepost.protocols.producer_epoch.request_targets import END, INIT
from fencepost.protocols.producer_epoch.transaction_metadata import RETRY, Transition
from fencepost.replay.correlation_ids import Connection


class GivenEpoch(NamedTuple):
    """A client whose request wrote a record (at ``offset``) with a producer id and epoch: the first one, or
    one by which InitProducerId gave it once more. The broker and the client's names are None if no line tells
    for sure which request it was.
    """

    offset: int
    producer_id: int | None
    producer_epoch: int | None
    broker_id: int | None
    client_id: str | None
    connection: str | None


_IdAndEpoch = tuple[int | None, int | None]
_Given = dict[_IdAndEpoch, tuple[GivenEpoch, ...]]

GivenEpochs = Mapping[_IdAndEpoch, tuple[GivenEpoch, ...]]
"""By producer id and epoch, the clients that were given it, in the order of the log. If the log does not have
the first of them, one without a name stands first, and behind it those that answers show (at offset -1).
"""


def given_epochs(
    transitions: Iterable[Transition],
    accepted: Iterable[Pair],
    answers: Iterable[RequestRow],
    before: Iterable[GivenEpoch],
) -> GivenEpochs:
    """The epochs that clients were given. ``accepted``: requests and the records that they wrote;
    ``answers``: of giving_answers; ``before``: newest_given before the first of ``transitions``.
    """
    requests = {each.record.offset: each.request for each in accepted if each.sure}
    given: _Given = {}
    for each in before:
        pair = (each.producer_id, each.producer_epoch)
        given[pair] = (*given.get(pair, ()), each)
    for transition in transitions:
        record, previous = transition.record, transition.previous
        pair, request = (record.producer_id, record.producer_epoch), requests.get(record.offset)
        if transition.hidden and not record.based:
            given.clear()  # a hole may hide that it was given once more
        if record.tombstone or record.based:
            continue
        if transition.writer == RETRY:
            if pair in given:
                given[pair] = (*given[pair], _given(record.offset, pair, request))
        elif transition.changes_identity and record.completes and previous is not None:
            # the next producer id goes to whoever has used up the one before
            exhausted = given.get((previous.producer_id, previous.producer_epoch), ())
            if exhausted:
                given[pair] = tuple(
                    each._replace(offset=record.offset, producer_id=pair[0], producer_epoch=pair[1])
                    for each in exhausted
                )
        elif transition.changes_identity and request and _gives_a_new_epoch(request, transition):
            given[pair] = (_given(record.offset, pair, request),)
    # the newest are the last ones
    return _answered(answers, given) | given


def newest_given(given: GivenEpochs, cut: int) -> tuple[GivenEpoch, ...]:
    """What records before an offset gave of the newest two producer ids and epochs, which an accepted EndTxn
    may present.
    """
    newest = [each for each in given.values() if each[0].offset < cut][-2:]
    return tuple(each for clients in newest for each in clients if each.offset < cut)


def is_anothers(
    request: RequestRow,
    given: Iterable[GivenEpoch],
    is_senders: Callable[[Connection, RequestRow], bool | None],
) -> bool | None:
    """Whether none of the clients that were given an epoch sent a request; None if one client id has two
    connections that may be of two clients, and if a name is missing. ``is_senders``: Numbering.is_senders.
    """
    sent = [_sent(request, each, is_senders) for each in given]
    if True in sent:
        return False
    return None if None in sent or not sent else True


def _sent(
    request: RequestRow, client: GivenEpoch, is_senders: Callable[[Connection, RequestRow], bool | None]
) -> bool | None:
    """Whether a client sent a request."""
    if request.connection is not None and _names(request) == _names(client):
        return True
    if None in (request.client_id, client.client_id):
        return None
    if client.client_id != request.client_id:
        return False
    if client.broker_id is None or client.connection is None or request.connection is None:
        return None
    return is_senders((client.broker_id, client.connection), request)


def _names(of: RequestRow | GivenEpoch) -> tuple[int | None, str | None, str | None]:
    return (of.broker_id, of.client_id, of.connection)


def _answered(answers: Iterable[RequestRow], known: Container[_IdAndEpoch]) -> _Given:
    """What answers gave, of the epochs of which the log does not tell who was given them."""
    answered: _Given = {}
    for each in answers:
        pair = (each.returned_producer_id, each.returned_producer_epoch)
        if pair not in known:
            clients = answered.get(pair, (_given(-1, pair, None),))
            answered[pair] = tuple(dict.fromkeys((*clients, _given(-1, pair, each))))
    return answered


def _given(offset: int, pair: _IdAndEpoch, request: RequestRow | None) -> GivenEpoch:
    if request is None:
        return GivenEpoch(offset, *pair, None, None, None)
    return GivenEpoch(offset, *pair, request.broker_id, request.client_id, request.connection)


def _gives_a_new_epoch(request: RequestRow, transition: Transition) -> bool:
    """Whether nobody had the epoch of a record before the request that wrote it. Before transaction version 2
    EndTxn gives none. Behind a hole, an InitProducerId that presents an epoch may have been given once more
    what it had.
    """
    if request.api_key == END:
        return transition.record.transaction_version >= 2
    presents_nothing = request.producer_id is None or request.producer_id < 0
    return request.api_key == INIT and (presents_nothing or not transition.hidden)
