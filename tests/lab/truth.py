"""The driver's own account: who owned what at which epoch, and the answer to each hand-made commit.

Nothing here is read from the cluster's logs. Ownership follows from the messages between the coordinator and
each member, so that a rebuild from the logs can be compared with it.
"""

from __future__ import annotations

import itertools
import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# The errors that scenarios may get; names of org.apache.kafka.common.protocol.Errors.
ERRORS = {
    -1: "UNKNOWN_SERVER_ERROR",
    0: "NONE",
    1: "OFFSET_OUT_OF_RANGE",
    3: "UNKNOWN_TOPIC_OR_PARTITION",
    5: "LEADER_NOT_AVAILABLE",
    6: "NOT_LEADER_OR_FOLLOWER",
    7: "REQUEST_TIMED_OUT",
    14: "COORDINATOR_LOAD_IN_PROGRESS",
    15: "COORDINATOR_NOT_AVAILABLE",
    16: "NOT_COORDINATOR",
    19: "NOT_ENOUGH_REPLICAS",
    22: "ILLEGAL_GENERATION",
    25: "UNKNOWN_MEMBER_ID",
    27: "REBALANCE_IN_PROGRESS",
    35: "UNSUPPORTED_VERSION",
    36: "TOPIC_ALREADY_EXISTS",
    41: "NOT_CONTROLLER",
    42: "INVALID_REQUEST",
    45: "OUT_OF_ORDER_SEQUENCE_NUMBER",
    46: "DUPLICATE_SEQUENCE_NUMBER",
    47: "INVALID_PRODUCER_EPOCH",
    48: "INVALID_TXN_STATE",
    49: "INVALID_PRODUCER_ID_MAPPING",
    51: "CONCURRENT_TRANSACTIONS",
    52: "TRANSACTION_COORDINATOR_FENCED",
    59: "UNKNOWN_PRODUCER_ID",
    69: "GROUP_ID_NOT_FOUND",
    74: "FENCED_LEADER_EPOCH",
    75: "UNKNOWN_LEADER_EPOCH",
    77: "STALE_BROKER_EPOCH",
    78: "OFFSET_NOT_AVAILABLE",
    79: "MEMBER_ID_REQUIRED",
    82: "FENCED_INSTANCE_ID",
    84: "ELECTION_NOT_NEEDED",
    88: "UNSTABLE_OFFSET_COMMIT",
    90: "PRODUCER_FENCED",
    95: "INVALID_UPDATE_VERSION",
    100: "UNKNOWN_TOPIC_ID",
    101: "DUPLICATE_BROKER_REGISTRATION",
    102: "BROKER_ID_NOT_REGISTERED",
    103: "INCONSISTENT_TOPIC_ID",
    105: "TRANSACTIONAL_ID_NOT_FOUND",
    106: "FETCH_SESSION_TOPIC_ID_ERROR",
    107: "INELIGIBLE_REPLICA",
    108: "NEW_LEADER_ELECTED",
    110: "FENCED_MEMBER_EPOCH",
    111: "UNRELEASED_INSTANCE_ID",
    113: "STALE_MEMBER_EPOCH",
    120: "TRANSACTION_ABORTABLE",
    121: "INVALID_RECORD_STATE",
    122: "SHARE_SESSION_NOT_FOUND",
    123: "INVALID_SHARE_SESSION_EPOCH",
    124: "FENCED_STATE_EPOCH",
}


def error_name(code: int | None) -> str:
    """Kafka's name of an error code. Raises ``LookupError`` for an error that no scenario expects."""
    if code not in ERRORS:
        raise LookupError(f"no name for error code {code}: add it to ERRORS in {__file__}")
    return ERRORS[code]


def now_ms() -> int:
    """The driver's clock, milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


Partition = tuple[str, int]
"""A partition as (topic name, index)."""


@dataclass
class _Stay:
    """One uninterrupted ownership of a partition by a member, with the epochs the member had during it."""

    member_id: str
    since: int
    until: int | None = None
    epochs: dict[int, int] = field(default_factory=dict)  # member epoch -> the first moment it was seen


@dataclass
class Ownership:
    """Ownership in one group, moment by moment. A partition pending revocation is still owned."""

    moment: int = 0
    stays: dict[Partition, list[_Stay]] = field(default_factory=dict)

    def holds(self, member_id: str, epoch: int, partitions: set[Partition]) -> None:
        """Note that the member owns exactly these partitions now, at this epoch."""
        self.moment += 1
        for partition, stays in self.stays.items():
            if partition not in partitions:
                self._end(stays, member_id)
        for partition in partitions:
            stays = self.stays.setdefault(partition, [])
            stay = self._open(stays, member_id)
            if stay is None:
                stay = _Stay(member_id, self.moment)
                stays.append(stay)
            stay.epochs.setdefault(epoch, self.moment)

    def owner(self, partition: Partition) -> str | None:
        """Who owns the partition now."""
        return next((s.member_id for s in self.stays.get(partition, []) if s.until is None), None)

    def truth(self, member_id: str, epoch: int, partition: Partition) -> str:
        """``owner``, ``zombie``, ``not_owner`` or ``unfenced``: the truth about a commit that is sent now."""
        if epoch < 0:
            return "unfenced"
        stays = self.stays.get(partition, [])
        seen = [s for s in stays if s.member_id == member_id and epoch in s.epochs]
        if any(s.until is None for s in seen):
            return "owner"
        if any(
            other.member_id != member_id and other.since > s.epochs[epoch] for s in seen for other in stays
        ):
            return "zombie"
        return "not_owner"

    def _end(self, stays: list[_Stay], member_id: str) -> None:
        stay = self._open(stays, member_id)
        if stay is not None:
            stay.until = self.moment

    @staticmethod
    def _open(stays: list[_Stay], member_id: str) -> _Stay | None:
        return next((s for s in stays if s.member_id == member_id and s.until is None), None)


class GroundTruth:
    """Collects one row per hand-made request and partition, in the order of sending.

    ``oracles``: the output of other tools while the cluster ran, by name of a file beside the rows, as JSON.
    """

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.oracles: dict[str, Any] = {}
        self._offsets = itertools.count(1001)

    def next_offset(self) -> int:
        """An offset to commit that no other hand-made commit of the recording uses."""
        return next(self._offsets)

    def add(self, row: dict[str, Any]) -> None:
        """Add one row."""
        self.rows.append(row)

    def write(self, path: Path) -> None:
        """Write the rows as JSON lines, and the oracles beside them."""
        with path.open("w") as out:
            for row in self.rows:
                out.write(json.dumps(row, ensure_ascii=False) + "\n")
        for name, said in self.oracles.items():
            path.with_name(name).write_text(json.dumps(said, indent=1, ensure_ascii=False) + "\n")
