"""Which of a coordinator's transactions leaders verified for their partitions, and how early (KIP-890).

A leader asks the coordinator (AddPartitionsToTxn, verify-only) before its partition opens a transaction, and
only while it has none of that producer open. Its line in the coordinator's request log proves that what the
partition opens afterwards is part of that transaction.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence

from fencepost.protocols.producer_epoch.refusals import BROKERS_OWN
from fencepost.protocols.producer_epoch.request_rows import RequestRow
from fencepost.protocols.producer_epoch.states_met import MetStates
from fencepost.protocols.producer_epoch.transactions import Transaction
from fencepost.replay.line_times import LineTimesOfCluster
from fencepost.replay.requests import NONE

Verified = Mapping[tuple[int, str], int]
"""How many ms before its Prepare record a transaction had been verified for a partition, at least; by the
offset of its first record and the name of the partition.
"""


def verified_transactions(
    requests: Iterable[RequestRow],
    met_states: MetStates,
    transactions: Sequence[Transaction],
    line_times: LineTimesOfCluster,
) -> Verified:
    """Verified, of the transactions of one transactional id that are prepared.

    A verification counts if it can have been granted in one transaction only, and if the broker that granted
    it also prepared the end: then both times are of one clock, which was not set back between them.
    """
    starts = [each.start.offset for each in transactions]
    verified: dict[tuple[int, str], int] = {}
    for request in requests:
        if not _is_granted(request):
            continue
        states = met_states.granting(request)
        of = {bisect_right(starts, met_states.states.offset_of(each)) - 1 for each in states}
        if len(of) != 1 or -1 in of:
            continue
        transaction = transactions[of.pop()]
        prepare = transaction.prepare
        producer = (transaction.start.producer_id, transaction.producer_epoch)
        if prepare is None or producer != (request.producer_id, request.producer_epoch):
            continue
        is_of_one = {each.leader_epoch for each in states} == {prepare.leader_epoch}
        if is_of_one and line_times.is_steady(request.broker_id, request.requested_ms, prepare.timestamp_ms):
            place = (transaction.start.offset, f"{request.topic}:{request.partition}")
            ms = prepare.timestamp_ms - request.responded_ms
            verified[place] = max(verified.get(place, ms), ms)
    return verified


def _is_granted(request: RequestRow) -> bool:
    of_leader = (request.client_id or "").startswith(BROKERS_OWN)
    return of_leader and bool(request.verify_only) and request.error == NONE
