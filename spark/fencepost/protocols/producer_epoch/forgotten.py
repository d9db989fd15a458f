"""The producers that coordinators forgot because their log was deleted: the next coordinator refuses them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fencepost.protocols.producer_epoch.fenced_rows import OpenTransactions
from fencepost.protocols.producer_epoch.refusals import Refusal
from fencepost.protocols.producer_epoch.transaction_log import TransactionRecord
from fencepost.replay.columns import Rows
from fencepost.replay.coordinator_logs import Incarnation

LOG_DELETED = "log_deleted"
"""The cause of a fencing (silver.producer_fencings)."""

_UNKNOWN_ID = "INVALID_PRODUCER_ID_MAPPING"
_END = 2**62


class Deletion(NamedTuple):
    """The deletion of the log that knew a producer id, and the transactions of its transactional id in it,
    None if the log's end is missing.
    """

    incarnation: Incarnation
    transactions: OpenTransactions | None

    def in_flight(self, producer_id: int | None, epoch: int | None) -> list[dict[str, str | None]] | None:
        """The partitions of the transactions of an epoch that were open at the end; None if the epoch is not
        known.
        """
        if self.transactions is None or epoch is None:
            return None
        return self.transactions.at(producer_id, epoch, _END)


class Forgotten:
    """The producer ids in deleted logs of one partition."""

    def __init__(self) -> None:
        self._deletions: dict[tuple[str, int], Deletion] = {}

    def note(
        self,
        incarnation: Incarnation,
        records: Sequence[TransactionRecord],
        transactions: OpenTransactions | None,
    ) -> None:
        """Note the records of one transactional id in a log that was deleted. ``transactions`` is None if the
        log's end is missing.
        """
        for record in records:
            if record.producer_id is not None:
                key = record.transactional_id, record.producer_id
                self._deletions[key] = Deletion(incarnation, transactions)

    def of(self, refusal: Refusal) -> Deletion | None:
        """The deletion because of which a coordinator did not know what a request presented."""
        request, producer_id = refusal.request, refusal.producer_id
        if request.error != _UNKNOWN_ID or request.transactional_id is None or producer_id is None:
            return None
        return self._deletions.get((request.transactional_id, producer_id))


def add_forgotten(rows: Rows, cluster: str, refusal: Refusal, deletion: Deletion) -> None:
    """Add a refusal of a producer that the coordinator had forgotten to rows of account.FENCING."""
    request, (incarnation, _) = refusal.request, deletion
    removed = incarnation.removed
    # another clock may be ahead: the deletion came first
    is_comparable = removed is not None and removed.node_id == request.broker_id
    removed_ms = removed.ms if removed is not None and is_comparable else None
    rows.add(
        *(cluster, refusal.producer_id, request.request_id, request.transactional_id, refusal.victim_epoch),
        *(None, None, request.client_id, request.connection, request.api_name, request.error),
        *(request.responded_ms, LOG_DELETED, incarnation.removed_by, incarnation.removed_on, None),
        *(removed_ms, removed_ms),
        deletion.in_flight(refusal.producer_id, refusal.victim_epoch),
        *(request.topic, request.partition, request.file, request.position),
    )
