"""Requests that a coordinator decided (InitProducerId, EndTxn, AddPartitionsToTxn), and what they met."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter, itemgetter
from typing import Any

from fencepost.protocols.producer_epoch.coordinator import Coordinator
from fencepost.protocols.producer_epoch.producer_state import NONE
from fencepost.protocols.producer_epoch.request_rows import BUSY, FENCED, RequestRow
from fencepost.protocols.producer_epoch.request_targets import ADD_PARTITIONS, END, INIT
from fencepost.protocols.producer_epoch.states_met import Candidate, MetStates
from fencepost.protocols.producer_epoch.tables import (
    ADD_PARTITIONS_TO_TXN_STATES,
    ADD_PARTITIONS_TO_TXNS,
    END_TXN_STATES,
    END_TXNS,
    INIT_PRODUCER_ID_STATES,
    INIT_PRODUCER_IDS,
)
from fencepost.protocols.producer_epoch.transaction_metadata import Transition
from fencepost.protocols.producer_epoch.witnesses import WitnessedState
from fencepost.replay.columns import Columns
from fencepost.replay.keys import TRANSACTIONS_TOPIC, digest_of
from fencepost.replay.logs import COMPACTED
from fencepost.replay.requests import NONE as NO_ERROR
from fencepost.tables import Table

FAILED = "UNKNOWN_SERVER_ERROR"
"""What an exception within the coordinator is answered, as the one at an exhausted epoch."""

ELSEWHERE = ("COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR")
"""The errors of a broker that does not have the id's state, and looked at none."""

TABLES = {
    INIT: (INIT_PRODUCER_IDS, INIT_PRODUCER_ID_STATES),
    END: (END_TXNS, END_TXN_STATES),
    ADD_PARTITIONS: (ADD_PARTITIONS_TO_TXNS, ADD_PARTITIONS_TO_TXN_STATES),
}
"""Where the requests of each API are, and the states they met."""


def select_decided(asked: Iterable[RequestRow]) -> list[RequestRow]:
    """The requests of a transactional id that its coordinator decided, or may have."""
    return [
        each
        for each in asked
        if each.api_key in TABLES and each.transactional_id is not None and each.error not in ELSEWHERE
    ]


class DecidedRequests:
    """The rows of the tables in TABLES."""

    def __init__(self) -> None:
        self._rows = {api_key: (Columns(each), Columns(met)) for api_key, (each, met) in TABLES.items()}

    @property
    def columns(self) -> list[Columns]:
        """The rows of every table."""
        return [each for pair in self._rows.values() for each in pair]

    def add(
        self,
        asked: RequestRow,
        met: MetStates,
        written: Mapping[str, int],
        cluster: str,
        partition: int | None,
    ) -> None:
        """Add a request and the states it met.

        ``written``: the offsets of the records that accepted requests are known to have written, by request
        id. ``partition``: of its coordinator, None where nothing tells.
        """
        requests, states = self._rows[asked.api_key]
        said = _said(asked)
        found = [(number, _state(asked, candidate, met)) for number, candidate in met.by(asked)]
        known = [state[_KNOWN] is not None for _, state in found]
        if not found:
            found = list(enumerate(_told_state(each, met.coordinator) for each in met.told(asked)))
        if found:
            answered, in_order = _answered(asked), _IN_ORDER[states.table.name]
            for number, state in found:
                states.add(*in_order((*state, *answered, *said, number)))
        reason = _unknown_reason(asked, known, met.coordinator, partition)
        decision = (cluster, written.get(asked.request_id), len(found), reason)
        requests.add(*_IN_ORDER[requests.table.name]((*decision, *said)))


_AS_THEY_ARE = (
    "request_id", "broker_id", "api_version", "client_id", "connection", "correlation_id", "transactional_id",
    "verify_only", "error", "file", "position",
)  # fmt: skip
_as_they_are = attrgetter(*_AS_THEY_ARE)
_SAID = (
    *_AS_THEY_ARE, "provided_id", "provided_epoch", "returned_id", "returned_epoch", "requested_at",
    "responded_at", "from_time", "to_time", "commit", "transaction_partition", "addition_id",
)  # fmt: skip
"""What the line of a request says: columns of the tables of requests and of states."""


def _said(asked: RequestRow) -> tuple[Any, ...]:
    """The columns _SAID."""
    name = addition_id = None
    if asked.api_key == ADD_PARTITIONS:
        name = f"{asked.topic}:{asked.partition}"
        addition_id = digest_of(asked.request_id, asked.transactional_id, name)
    return (
        *_as_they_are(asked),
        asked.producer_id,
        asked.producer_epoch,
        asked.returned_producer_id,
        asked.returned_producer_epoch,
        asked.requested_ms,
        asked.responded_ms,
        asked.requested_ms,
        asked.responded_ms,
        asked.result == "COMMIT",
        name,
        addition_id,
    )


_ANSWERED = ("granted", "fenced", "busy", "failed", "returned_id", "returned_epoch")
"""What became of a request: columns of the tables of states."""


def _answered(asked: RequestRow) -> tuple[Any, ...]:
    """The columns _ANSWERED, null without an answer."""
    if asked.error is None:
        return (None, None, None, None, NONE, NONE)
    if asked.error == NO_ERROR:
        return (True, False, False, False, asked.returned_producer_id, asked.returned_producer_epoch)
    return (False, asked.error in FENCED, asked.error == BUSY, asked.error == FAILED, NONE, NONE)


def _unknown_reason(
    asked: RequestRow, known: list[bool], coordinator: Coordinator | None, partition: int | None
) -> str | None:
    log = f"{TRANSACTIONS_TOPIC}-{'?' if partition is None else partition}"
    if asked.error is None:
        return "the request log has no answer"
    base = None if coordinator is None else coordinator.log.base
    if not known and base is not None and base.ms is not None and asked.requested_ms <= base.ms:
        return f"cleaned away: compaction has been over {log} where this request was decided"
    if not known and asked.error == NO_ERROR and asked.api_key == INIT:
        return f"the record of this request is not in the captured log of {log}"
    if not known:
        return f"records of {log} from around this request were not captured"
    return None if all(known) else f"the id's history before this is not complete in the log of {log}"


_MET = (
    "known", "status", "producer_id", "producer_epoch", "last_epoch", "previous_id", "last_epoch_held",
    "previous_id_held", "listed",
)  # fmt: skip
_ABSENT = (False, "Empty", NONE, NONE, NONE, NONE, NONE, NONE, False)
_HIDDEN = (None,) * len(_MET)
_STATE = ("cluster", "topic", "partition", "partition_key", *_MET, "from_position", "to_position")
"""A state and where in the log it is: columns of the tables of states."""
_KNOWN = _STATE.index("known")


def _state(asked: RequestRow, candidate: Candidate, met: MetStates) -> tuple[Any, ...]:
    """One state that a request may have met."""
    assert met.coordinator is not None
    state = met.states.transitions[candidate.number - 1] if candidate.number else None
    begins = met.coordinator.begins[candidate.stretch] if state is None else state.record.offset
    return (*met.coordinator.key, *_fields(asked, state, candidate), begins, begins + 1)


def _told_state(told: WitnessedState, coordinator: Coordinator | None) -> tuple[Any, ...]:
    """A state that answers tell: it stands where compaction ends."""
    assert coordinator is not None
    begins = min(coordinator.begins.values())
    fields = {**told._asdict(), "known": True}
    return (*coordinator.key, *map(fields.get, _MET), begins, begins + 1)


def _in_order(table: Table, *given: str) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """The values of a row in the order of its table's columns, of those that are given; of several of one
    name the first.
    """
    return itemgetter(*(given.index(name) for name in table.columns))


_IN_ORDER = {
    table.name: order
    for requests, states in TABLES.values()
    for table, order in (
        (requests, _in_order(requests, "cluster", "record_offset", "candidates", "unknown_reason", *_SAID)),
        (states, _in_order(states, *_STATE, *_ANSWERED, *_SAID, "candidate")),
    )
}


def _fields(asked: RequestRow, state: Transition | None, candidate: Candidate) -> tuple[Any, ...]:
    """What the coordinator knew of the id (columns _MET).

    Nothing of the id in this stretch so far: it does not exist, if the stretch shows all there is.
    """
    if state is None or state.record.stretch != candidate.stretch:
        return _ABSENT if candidate.stretch in (0, COMPACTED) else _HIDDEN
    if state.record.tombstone:
        return _ABSENT
    record, last = state.record, state.held
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
    return (
        True,
        record.status,
        record.producer_id,
        record.producer_epoch,
        state.last_epoch,
        state.previous_id,
        held,
        previous,
        f"{asked.topic}:{asked.partition}" in record.partitions,
    )
