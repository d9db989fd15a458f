"""What one answer tells of a transactional id, as TransactionCoordinator gives it."""

from __future__ import annotations

from fencepost.protocols.producer_epoch.request_rows import BUSY, FENCED, RequestRow
from fencepost.protocols.producer_epoch.request_targets import ADD_OFFSETS, ADD_PARTITIONS, END, INIT
from fencepost.replay.requests import NONE

_LOADING = "COORDINATOR_LOAD_IN_PROGRESS"
_ENDED_NOTHING = {END: (*FENCED, _LOADING, BUSY, "INVALID_TXN_STATE"), INIT: (*FENCED, _LOADING)}
"""The errors after which no transaction was ended. InitProducerId is answered BUSY when it has ended one, and
what failed to be written may be there all the same.
"""

Epoch = tuple[int | None, int | None]
"""Producer id and producer epoch."""


def partition_of(asked: RequestRow) -> str:
    """The partition that a request names: 'topic:partition'."""
    return f"{asked.topic}:{asked.partition}"


def is_granted_init(asked: RequestRow) -> bool:
    """No transaction was open when this was answered."""
    return asked.api_key == INIT and asked.error == NONE


def is_accepted_end(asked: RequestRow) -> bool:
    """The transaction was prepared, or had ended, when this was answered."""
    return asked.api_key == END and asked.error == NONE


def shows_open(asked: RequestRow) -> bool:
    """A transaction was open when this was answered, at the epoch that the request said."""
    return asked.api_key in (ADD_PARTITIONS, ADD_OFFSETS) and asked.error == NONE


def may_end(asked: RequestRow) -> bool:
    """A transaction may have been ended by this."""
    return asked.api_key in _ENDED_NOTHING and asked.error not in _ENDED_NOTHING[asked.api_key]


def makes_epoch(asked: RequestRow) -> bool:
    """The answer has an epoch that the request, or a repetition of it, has made."""
    return is_granted_init(asked) or (is_accepted_end(asked) and not asked.moves_no_epoch)


def made_until(ender: RequestRow, asked: RequestRow) -> bool:
    """Whether all that a line ended came before the epoch of a request: it is answered with that one, or an
    earlier one.
    """
    told = told_after(ender) if makes_epoch(ender) else None
    if told is None or asked.producer_epoch is None:
        return False
    return told[0] == asked.producer_id and told[1] <= asked.producer_epoch


def told_after(asked: RequestRow) -> tuple[int, int] | None:
    """The producer id and epoch that the id certainly had when this was answered."""
    if shows_open(asked) or (is_accepted_end(asked) and asked.moves_no_epoch):
        told = asked.producer_id, asked.producer_epoch
    elif is_granted_init(asked) or is_accepted_end(asked):
        told = asked.returned_producer_id, asked.returned_producer_epoch
    else:
        return None
    producer_id, epoch = told
    return None if producer_id is None or epoch is None or epoch < 0 else (producer_id, epoch)
