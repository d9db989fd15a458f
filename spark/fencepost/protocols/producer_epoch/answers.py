"""What one answer of TransactionCoordinator shows of the state of a transactional id."""

from __future__ import annotations

from fencepost.protocols.producer_epoch.request_rows import BUSY, FENCED, RequestRow
from fencepost.protocols.producer_epoch.request_targets import ADD_OFFSETS, ADD_PARTITIONS, END, INIT
from fencepost.replay.requests import NONE

_LOADING = "COORDINATOR_LOAD_IN_PROGRESS"
_ENDED_NOTHING = {END: (*FENCED, _LOADING, BUSY, "INVALID_TXN_STATE"), INIT: (*FENCED, _LOADING)}
"""The errors which mean that the request ended no transaction. Others do not: InitProducerId is answered BUSY
when it has ended one, and a record may be in the log although its request failed.
"""

Epoch = tuple[int | None, int | None]
"""Producer id and producer epoch."""


def partition_of(request: RequestRow) -> str:
    """The partition that a request names: 'topic:partition'."""
    return f"{request.topic}:{request.partition}"


def is_granted_init(request: RequestRow) -> bool:
    """Whether this is an InitProducerId that was granted: no transaction was open when it was answered."""
    return request.api_key == INIT and request.error == NONE


def is_accepted_end(request: RequestRow) -> bool:
    """Whether this is an EndTxn that was accepted: the transaction was prepared, or had ended, when it was
    answered.
    """
    return request.api_key == END and request.error == NONE


def shows_open(request: RequestRow) -> bool:
    """Whether the answer shows that a transaction of the epoch that the request presented was open."""
    return request.api_key in (ADD_PARTITIONS, ADD_OFFSETS) and request.error == NONE


def may_end(request: RequestRow) -> bool:
    """Whether the request may have ended a transaction."""
    return request.api_key in _ENDED_NOTHING and request.error not in _ENDED_NOTHING[request.api_key]


def makes_epoch(request: RequestRow) -> bool:
    """Whether the answer returns an epoch that this request, or an earlier attempt of it, has made."""
    return is_granted_init(request) or (is_accepted_end(request) and not request.moves_no_epoch)


def ended_only_earlier_epochs(ender: RequestRow, request: RequestRow) -> bool:
    """Whether ``ender`` can only have ended transactions of epochs before that of a request: its answer
    returned that epoch, or an earlier one.
    """
    epoch_at_answer = epoch_when_answered(ender) if makes_epoch(ender) else None
    if epoch_at_answer is None or request.producer_epoch is None:
        return False
    return epoch_at_answer[0] == request.producer_id and epoch_at_answer[1] <= request.producer_epoch


def epoch_when_answered(request: RequestRow) -> tuple[int, int] | None:
    """The producer id and epoch that the id certainly had when the request was answered; None if
    not known.
    """
    if shows_open(request) or (is_accepted_end(request) and request.moves_no_epoch):
        epoch_at_answer = request.producer_id, request.producer_epoch
    elif is_granted_init(request) or is_accepted_end(request):
        epoch_at_answer = request.returned_producer_id, request.returned_producer_epoch
    else:
        return None
    producer_id, epoch = epoch_at_answer
    return None if producer_id is None or epoch is None or epoch < 0 else (producer_id, epoch)
