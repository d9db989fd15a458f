"""Requests that a coordinator decided (InitProducerId, EndTxn, AddPartitionsToTxn), and what they met."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import attrgetter, itemgetter
from typing import Any

from fencepost.protocols.producer_epoch.asked import BUSY, FENCED, Asked
from fencepost.protocols.producer_epoch.producer_requests import ADD_PARTITIONS, END, INIT
from fencepost.protocols.producer_epoch.producer_state import NONE
from fencepost.protocols.producer_epoch.states_met import Candidate, Coordinator, MetStates
from fencepost.protocols.producer_epoch.tables import (
    ADD_PARTITIONS_TO_TXN_STATES,
    ADD_PARTITIONS_TO_TXNS,
    END_TXN_STATES,
    END_TXNS,
    INIT_PRODUCER_ID_STATES,
    INIT_PRODUCER_IDS,
)
from fencepost.protocols.producer_epoch.transaction_metadata import Transition
from fencepost.protocols.producer_epoch.witnesses import Told
from fencepost.replay.columns import Columns
from fencepost.replay.keys import TRANSACTIONS_TOPIC, digest_of
from fencepost.replay.logs import COMPACTED
from fencepost.replay.requests import NONE as NO_ERROR

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


def decided(asked: Iterable[Asked]) -> list[Asked]:
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
        self, asked: Asked, met: MetStates, written: Mapping[str, int], cluster: str, partition: int | None
    ) -> None:
        """Add a request and the states it met.

        ``written``: the offsets of the records that accepted requests are known to have written, by request
        id. ``partition``: of its coordinator, None where nothing tells.
        """
        requests, states = self._rows[asked.api_key]
        said = _said(asked)
        found = [(number, _state(asked, candidate, met)) for number, candidate in met.by(asked)]
        known = [state["known"] is not None for _, state in found]
        if not found:
            found = list(enumerate(_told_state(each, met.coordinator) for each in met.told(asked)))
        answered = _answered(asked)
        for number, state in found:
            _add(states, {**said, **state, **answered, "candidate": number})
        row = {
            **said,
            "cluster": cluster,
            "record_offset": written.get(asked.request_id),
            "candidates": len(found),
            "unknown_reason": _unknown_reason(asked, known, met.coordinator, partition),
        }
        _add(requests, row)


def _add(rows: Columns, row: Mapping[str, Any]) -> None:
    rows.add(*_IN_ORDER[rows.table.name](row))


_IN_ORDER = {table.name: itemgetter(*table.columns) for pair in TABLES.values() for table in pair}
"""The values of a row in the order of its table's columns."""


def _said(asked: Asked) -> dict[str, Any]:
    """What the line of a request says: columns of the tables of requests and of states."""
    name = f"{asked.topic}:{asked.partition}"
    return {
        **dict(zip(_AS_THEY_ARE, _as_they_are(asked), strict=True)),
        "provided_id": asked.producer_id,
        "provided_epoch": asked.producer_epoch,
        "returned_id": asked.returned_producer_id,
        "returned_epoch": asked.returned_producer_epoch,
        "requested_at": asked.requested_ms,
        "responded_at": asked.responded_ms,
        "from_time": asked.requested_ms,
        "to_time": asked.responded_ms,
        "commit": asked.result == "COMMIT",
        "transaction_partition": name,
        "addition_id": digest_of(asked.request_id, asked.transactional_id, name),
    }


_AS_THEY_ARE = (
    "request_id", "broker_id", "api_version", "client_id", "connection", "correlation_id", "transactional_id",
    "verify_only", "error", "file", "position",
)  # fmt: skip
_as_they_are = attrgetter(*_AS_THEY_ARE)


def _answered(asked: Asked) -> dict[str, Any]:
    """What became of a request (null without an answer): columns of the tables of states."""
    granted, answered = asked.error == NO_ERROR, asked.error is not None
    return {
        "granted": granted if answered else None,
        "fenced": asked.error in FENCED if answered else None,
        "busy": asked.error == BUSY if answered else None,
        "failed": asked.error == FAILED if answered else None,
        "returned_id": asked.returned_producer_id if granted else NONE,
        "returned_epoch": asked.returned_producer_epoch if granted else NONE,
    }


def _unknown_reason(
    asked: Asked, known: list[bool], coordinator: Coordinator | None, partition: int | None
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


def _state(asked: Asked, candidate: Candidate, met: MetStates) -> dict[str, Any]:
    """One state that a request may have met, and where in the log it is."""
    assert met.coordinator is not None
    state = met.states.transitions[candidate.number - 1] if candidate.number else None
    begins = met.coordinator.begins[candidate.stretch] if state is None else state.record.offset
    place = zip(("cluster", "topic", "partition", "partition_key"), met.coordinator.key, strict=True)
    fields = zip(_MET, _fields(asked, state, candidate), strict=True)
    return {**dict(place), **dict(fields), "from_position": begins, "to_position": begins + 1}


def _told_state(told: Told, coordinator: Coordinator | None) -> dict[str, Any]:
    """A state that answers tell: it stands where compaction ends."""
    assert coordinator is not None
    place = zip(("cluster", "topic", "partition", "partition_key"), coordinator.key, strict=True)
    begins = min(coordinator.begins.values())
    fields = {**dict.fromkeys(_MET), **told._asdict(), "known": True}
    return {**dict(place), **fields, "from_position": begins, "to_position": begins + 1}


def _fields(asked: Asked, state: Transition | None, candidate: Candidate) -> tuple[Any, ...]:
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
