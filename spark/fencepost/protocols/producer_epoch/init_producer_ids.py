"""InitProducerId requests, and the states they met: where a transactional id's epoch was decided."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fencepost.protocols.producer_epoch.asked import BUSY, FENCED, Asked
from fencepost.protocols.producer_epoch.producer_requests import INIT
from fencepost.protocols.producer_epoch.producer_state import NONE
from fencepost.protocols.producer_epoch.states_met import Candidate, MetStates
from fencepost.protocols.producer_epoch.tables import INIT_PRODUCER_ID_STATES, INIT_PRODUCER_IDS
from fencepost.protocols.producer_epoch.transaction_metadata import Transition
from fencepost.replay.columns import Columns
from fencepost.replay.keys import TRANSACTIONS_TOPIC
from fencepost.replay.logs import COMPACTED
from fencepost.replay.requests import NONE as NO_ERROR

FAILED = "UNKNOWN_SERVER_ERROR"
"""What an exception within the coordinator is answered, as the one at an exhausted epoch."""

ELSEWHERE = ("COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR")
"""The errors of a broker that does not have the id's state, and looked at none."""


def decided(asked: Iterable[Asked]) -> list[Asked]:
    """The InitProducerId requests of a transactional id that its coordinator decided, or may have."""
    return [
        each
        for each in asked
        if each.api_key == INIT and each.transactional_id is not None and each.error not in ELSEWHERE
    ]


class InitProducerIds:
    """The rows of ``silver.init_producer_ids`` and ``silver.init_producer_id_states``."""

    def __init__(self) -> None:
        self.requests = Columns(INIT_PRODUCER_IDS)
        self.states = Columns(INIT_PRODUCER_ID_STATES)

    def add(
        self, asked: Asked, met: MetStates, written: Mapping[str, int], cluster: str, partition: int | None
    ) -> None:
        """Add a request and the states it met.

        ``written``: the offsets of the records that granted requests are known to have written, by request
        id. ``partition``: of its coordinator, None where nothing tells.
        """
        found = met.by(asked)
        known = [self._add_state(asked, number, candidate, met) for number, candidate in found]
        self.requests.add(
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
            written.get(asked.request_id),
            asked.requested_ms,
            asked.responded_ms,
            len(found),
            _unknown_reason(asked, known, partition),
            asked.file,
            asked.position,
        )

    def _add_state(self, asked: Asked, number: int, candidate: Candidate, met: MetStates) -> bool:
        """Add one state that a request may have met; gives back whether it is known."""
        assert met.coordinator is not None
        state = met.states.transitions[candidate.number - 1] if candidate.number else None
        granted = asked.error == NO_ERROR
        known, fields = _state(state, candidate)
        begins = met.coordinator.begins[candidate.stretch] if state is None else state.record.offset
        answered = asked.error is not None
        self.states.add(
            *met.coordinator.key,
            asked.request_id,
            number,
            asked.transactional_id,
            asked.producer_id,
            asked.producer_epoch,
            granted if answered else None,
            asked.error in FENCED if answered else None,
            asked.error == BUSY if answered else None,
            asked.error == FAILED if answered else None,
            asked.returned_producer_id if granted else NONE,
            asked.returned_producer_epoch if granted else NONE,
            known,
            *fields,
            begins,
            begins + 1,
            asked.requested_ms,
            asked.responded_ms,
        )
        return known is not None


def _unknown_reason(asked: Asked, known: list[bool], partition: int | None) -> str | None:
    log = f"{TRANSACTIONS_TOPIC}-{'?' if partition is None else partition}"
    if asked.error is None:
        return "the request log has no answer"
    if not known and asked.error == NO_ERROR:
        return f"the record of this request is not in the captured log of {log}"
    if not known:
        return f"records of {log} from around this request were not captured"
    return None if all(known) else f"the id's history before this is not complete in the log of {log}"


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
    return True, (
        record.status,
        record.producer_id,
        record.producer_epoch,
        state.last_epoch,
        state.previous_id,
        held,
        previous,
    )
