"""Requests that a coordinator decided (InitProducerId, EndTxn, AddPartitionsToTxn), and the states that they
met.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import Any

from fencepost.protocols.producer_epoch.coordinator import Coordinator
from fencepost.protocols.producer_epoch.given_epochs import GivenEpoch, is_anothers
from fencepost.protocols.producer_epoch.missing_lines import Numbering
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
from fencepost.reasons import (
    ALL_KNOWN,
    CLEANED_AWAY,
    NO_ANSWER,
    NOT_CAPTURED,
    SEVERAL_STATES,
    Unknown,
    behind_end,
    other_log,
)
from fencepost.replay.columns import Columns
from fencepost.replay.keys import TRANSACTIONS_TOPIC, digest_of
from fencepost.replay.logs import COMPACTED
from fencepost.replay.requests import NONE as NO_ERROR
from fencepost.tables import Table

FAILED = "UNKNOWN_SERVER_ERROR"
"""The error of an exception within the coordinator, such as the one at an exhausted epoch."""

ELSEWHERE = ("COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR")
"""The errors of a broker that does not have the id's state, and so decided nothing."""

TABLES = {
    INIT: (INIT_PRODUCER_IDS, INIT_PRODUCER_ID_STATES),
    END: (END_TXNS, END_TXN_STATES),
    ADD_PARTITIONS: (ADD_PARTITIONS_TO_TXNS, ADD_PARTITIONS_TO_TXN_STATES),
}
"""By API, the table of its requests, and that of the states that they met."""


def select_decided(requests: Iterable[RequestRow]) -> list[RequestRow]:
    """The requests of a transactional id that its coordinator decided, or may have."""
    return [
        each
        for each in requests
        if each.api_key in TABLES and each.transactional_id is not None and each.error not in ELSEWHERE
    ]


class DecidedRequests:
    """The rows of the tables in TABLES."""

    def __init__(self) -> None:
        self._rows = {api_key: (Columns(each), Columns(states)) for api_key, (each, states) in TABLES.items()}

    @property
    def columns(self) -> list[Columns]:
        """The rows of every table."""
        return [each for pair in self._rows.values() for each in pair]

    def add(
        self,
        request: RequestRow,
        met_states: MetStates,
        written: Mapping[str, int],
        cluster: str,
        partition: int | None,
        *,
        numbering: Numbering,
        given: Sequence[GivenEpoch] = (),
        untold: bool = False,
    ) -> None:
        """Add a request and the states that it may have met.

        ``written``: the offsets of the records that accepted requests are known to have written, by request
        id. ``partition``: that of its coordinator, None if it is not known. ``numbering``: of the cluster's
        clients. ``given``: who was given the epoch that an accepted EndTxn presents. ``untold``: it is not
        known which incarnation of ``__transaction_state`` decided it.
        """
        requests, states = self._rows[request.api_key]
        request_values = (*_request_values(request), *_given_values(request, given, numbering))
        states_met = [
            (number, _state(request, candidate, met_states))
            for number, candidate in met_states.candidates(request)
        ]
        if witnessed := not states_met:
            states_met = list(
                enumerate(
                    _witnessed_state(each, met_states.coordinator) for each in met_states.witnessed(request)
                )
            )
        if states_met:
            outcome, in_order = _outcome(request), _IN_ORDER[states.table.name]
            for number, state in states_met:
                states.add(*in_order((*state, *outcome, *request_values, number)))
        unknown = _unknown(
            request,
            [state for _, state in states_met],
            witnessed=witnessed,
            coordinator=met_states.coordinator,
            partition=partition,
        )
        if untold and request.error is not None:
            unknown = _UNTOLD
        decision = (cluster, written.get(request.request_id), len(states_met), *unknown)
        requests.add(*_IN_ORDER[requests.table.name]((*decision, *request_values)))


_COPIED = (
    "request_id", "broker_id", "api_version", "client_id", "connection", "correlation_id", "transactional_id",
    "verify_only", "error", "file", "position",
)  # fmt: skip
_copied_values = attrgetter(*_COPIED)
_REQUEST_COLUMNS = (
    *_COPIED, "provided_id", "provided_epoch", "returned_id", "returned_epoch", "requested_at",
    "responded_at", "from_time", "to_time", "commit", "transaction_partition", "addition_id",
    "given_client_id", "given_connection", "by_another",
)  # fmt: skip
"""The columns from the line of a request, in the tables of requests and of states."""


def _request_values(request: RequestRow) -> tuple[Any, ...]:
    """The values of _REQUEST_COLUMNS, up to those of _given_values."""
    name = addition_id = None
    if request.api_key == ADD_PARTITIONS:
        name = f"{request.topic}:{request.partition}"
        addition_id = digest_of(request.request_id, request.transactional_id, name)
    return (
        *_copied_values(request),
        request.producer_id,
        request.producer_epoch,
        request.returned_producer_id,
        request.returned_producer_epoch,
        request.requested_ms,
        request.responded_ms,
        request.requested_ms,
        request.responded_ms,
        request.result == "COMMIT",
        name,
        addition_id,
    )


def _given_values(request: RequestRow, given: Sequence[GivenEpoch], numbering: Numbering) -> tuple[Any, ...]:
    """The last three values of _REQUEST_COLUMNS."""
    client = (given[0].client_id, given[0].connection) if given else (None, None)
    return (*client, is_anothers(request, given, numbering.is_senders))


_OUTCOME = ("granted", "fenced", "busy", "failed", "returned_id", "returned_epoch")
"""The columns of a request's outcome, in the tables of states."""


def _outcome(request: RequestRow) -> tuple[Any, ...]:
    """The values of _OUTCOME, null without an answer."""
    if request.error is None:
        return (None, None, None, None, NONE, NONE)
    if request.error == NO_ERROR:
        return (True, False, False, False, request.returned_producer_id, request.returned_producer_epoch)
    return (False, request.error in FENCED, request.error == BUSY, request.error == FAILED, NONE, NONE)


def _unknown(
    request: RequestRow,
    states_met: Sequence[tuple[Any, ...]],
    *,
    witnessed: bool,
    coordinator: Coordinator | None,
    partition: int | None,
) -> Unknown:
    """Why no state was found, or not all of one. ``states_met``: the values of _STATE_COLUMNS of each;
    ``witnessed``: only answers show them, no record.
    """
    if request.error is None:
        return Unknown(NO_ANSWER, "the request log has no answer")
    if not witnessed and not any(None in state[_KNOWN:_PLACE] for state in states_met):
        return ALL_KNOWN
    log = f"{TRANSACTIONS_TOPIC}-{'?' if partition is None else partition}"
    base = None if coordinator is None else coordinator.log.base or coordinator.log.contradicted
    if not witnessed and None not in [state[_KNOWN] for state in states_met]:
        reason = NOT_CAPTURED if base is None else CLEANED_AWAY
        return Unknown(reason, f"neither {log} nor the request logs tell all that the coordinator knew")
    if not witnessed:
        return _incomplete(coordinator, log)
    if base is not None and base.ms is not None and request.requested_ms <= base.ms:
        return Unknown(
            CLEANED_AWAY, f"cleaned away: compaction has been over {log} where this request was decided"
        )
    is_init = not states_met and request.error == NO_ERROR and request.api_key == INIT
    return _no_record(request, coordinator, log, is_init=is_init)


def _no_record(request: RequestRow, coordinator: Coordinator | None, log: str, *, is_init: bool) -> Unknown:
    if coordinator is not None and request.broker_id in coordinator.unlike:
        return other_log(request.broker_id, log)
    lost = None if coordinator is None else coordinator.why_lost(request)
    if lost is not None:
        return lost
    # nothing comes behind the end of a deleted log
    newest_ms = None if coordinator is None or coordinator.incarnation.is_gone else coordinator.log.newest_ms
    if newest_ms is not None and newest_ms < request.responded_ms:
        return behind_end(log, newest_ms)
    return Unknown(
        NOT_CAPTURED,
        f"the record of this request is not in the captured log of {log}"
        if is_init
        else f"records of {log} from around this request were not captured",
    )


def _incomplete(coordinator: Coordinator | None, log: str) -> Unknown:
    if coordinator is not None and coordinator.log.contradicted is not None:
        return Unknown(CLEANED_AWAY, f"what compaction left of {log} contradicts what follows")
    return Unknown(NOT_CAPTURED, f"the id's history before this is not complete in the log of {log}")


_UNTOLD = Unknown(
    SEVERAL_STATES,
    f"log deleted: {TRANSACTIONS_TOPIC} was deleted around this request, and nothing tells whether the old "
    "or the new coordinator decided it",
)
_MET_COLUMNS = (
    "known", "status", "producer_id", "producer_epoch", "last_epoch", "previous_id", "last_epoch_held",
    "previous_id_held", "listed",
)  # fmt: skip
_ABSENT = (False, "Empty", NONE, NONE, NONE, NONE, NONE, NONE, False)
_HIDDEN = (None,) * len(_MET_COLUMNS)
_STATE_COLUMNS = (
    "cluster",
    "topic",
    "partition",
    "partition_key",
    *_MET_COLUMNS,
    "from_position",
    "to_position",
)
"""The columns of a state and its place in the log, in the tables of states."""
_KNOWN, _PLACE = _STATE_COLUMNS.index("known"), _STATE_COLUMNS.index("from_position")


def _state(request: RequestRow, candidate: Candidate, met_states: MetStates) -> tuple[Any, ...]:
    """One state that a request may have met."""
    assert met_states.coordinator is not None
    state = met_states.states.transitions[candidate.number - 1] if candidate.number else None
    begins = met_states.coordinator.begins[candidate.stretch] if state is None else state.record.offset
    return (*met_states.coordinator.key, *_fields(request, state, candidate), begins, begins + 1)


def _witnessed_state(state: WitnessedState, coordinator: Coordinator | None) -> tuple[Any, ...]:
    """A state that answers show: its place in the log is where the compacted part ends."""
    assert coordinator is not None
    begins = min(coordinator.begins.values())
    fields = {**state._asdict(), "known": True}
    return (*coordinator.key, *map(fields.get, _MET_COLUMNS), begins, begins + 1)


def _in_order(table: Table, *names: str) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """A function that orders values of these names as the columns of the table; of several values of one name
    it takes the first.
    """
    return itemgetter(*(names.index(name) for name in table.columns))


_IN_ORDER = {
    table.name: order
    for requests, states in TABLES.values()
    for table, order in (
        (
            requests,
            _in_order(
                requests,
                "cluster",
                "record_offset",
                "candidates",
                "unknown_reason",
                "unknown_detail",
                *_REQUEST_COLUMNS,
            ),
        ),
        (states, _in_order(states, *_STATE_COLUMNS, *_OUTCOME, *_REQUEST_COLUMNS, "candidate")),
    )
}


def _fields(request: RequestRow, state: Transition | None, candidate: Candidate) -> tuple[Any, ...]:
    """The values of _MET_COLUMNS: what the coordinator knew of the id.

    If the stretch has no record of the id so far, the id did not exist, provided that the stretch begins with
    the whole state of the log.
    """
    if state is None or state.record.stretch != candidate.stretch:
        return _ABSENT if candidate.stretch in (0, COMPACTED) else _HIDDEN
    if state.record.tombstone:
        return _ABSENT
    record, last_epoch = state.record, state.remembered_epoch
    remembered: int | None = None
    if last_epoch is not None:
        # it is only in the memory of the coordinator that set it
        remembered = last_epoch.epoch if last_epoch.leader_epoch == candidate.leader_epoch else NONE
    if record.leader_epoch != candidate.leader_epoch:
        # this coordinator has read the record from the log
        previous_id: int | None = record.previous_producer_id
    elif state.previous is not None:
        previous_id = state.previous.producer_id
    else:
        previous_id = NONE if state.first_known else None
    return (
        True,
        record.status,
        record.producer_id,
        record.producer_epoch,
        state.last_epoch,
        state.previous_id,
        remembered,
        previous_id,
        f"{request.topic}:{request.partition}" in record.partitions,
    )
