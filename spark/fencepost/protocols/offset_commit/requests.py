"""Commits as the request log has them: what was asked of each partition, and what was answered."""

from __future__ import annotations

from dataclasses import dataclass

from fencepost.replay.group_coordinator.requests import OFFSET_COMMIT, TXN_OFFSET_COMMIT
from fencepost.replay.requests import NONE

COMMIT_APIS = (OFFSET_COMMIT, TXN_OFFSET_COMMIT)
FENCING = frozenset(
    {
        "ILLEGAL_GENERATION",
        "UNKNOWN_MEMBER_ID",
        "STALE_MEMBER_EPOCH",
        "FENCED_MEMBER_EPOCH",
        "FENCED_INSTANCE_ID",
        "REBALANCE_IN_PROGRESS",
        "GROUP_ID_NOT_FOUND",
    }
)
"""The errors that mean: the coordinator knows the group and refuses this member or epoch."""


@dataclass(slots=True, eq=False)
class CommitRequest:
    """What is asked about of an OffsetCommit or TxnOffsetCommit, with each of its partitions once, as last
    mentioned.

    ``client_epoch`` is the member epoch or generation it presents, -1 for none. ``requested_ms`` and
    ``responded_ms`` are of the clock of the broker that answered. ``number`` is its place among the requests
    of its coordinator, once they are in order.
    """

    broker_id: int
    connection: str | None
    group_id: str
    member_id: str
    instance_id: str | None
    client_epoch: int
    is_transactional: bool
    producer_id: int | None
    producer_epoch: int | None
    requested_ms: int
    responded_ms: int
    file: str
    commits: list[Commit]
    number: int = -1


@dataclass(slots=True, eq=False)
class Commit:
    """One partition of a CommitRequest.

    ``commit_id`` is a digest of the request and of the partition as it names it. ``broker_error`` is Kafka's
    name; None when the line has no answer, as ``accepted`` (it was stored, see Undecided) and ``fenced`` (a
    fencing rule refused it). ``number`` is its place among the commits of its coordinator's requests.
    """

    request: CommitRequest
    commit_id: str
    topic: str | None
    topic_id: str | None
    partition: int
    partition_key: str | None
    committed_offset: int | None
    committed_leader_epoch: int
    broker_error: str | None
    accepted: bool | None
    fenced: bool | None
    number: int = -1


def is_accepted(error: str | None) -> bool | None:
    """Whether a broker says with this error that it took the commit."""
    return None if error is None else error == NONE


def is_fenced(error: str | None) -> bool | None:
    """Whether it says that a fencing rule refused it."""
    return None if error is None else error in FENCING
