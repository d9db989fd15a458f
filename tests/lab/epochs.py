"""The driver's own account of producer epochs: which request bumped them, and which producers that fenced.

Nothing here is read from the cluster's logs. The driver or an operator bumps an epoch; only the
coordinator's own aborts are learned with a request (DescribeTransactions).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from brokers import LabError
from truth import GroundTruth, now_ms

Identity = tuple[int, int]
"""Producer id and producer epoch."""

FENCED = ("INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED", "INVALID_PRODUCER_ID_MAPPING")
"""The errors for a producer whose epoch, or producer id, is no longer current."""

REPEATED = "INVALID_TXN_STATE"
"""The answers to EndTxn with the previous epoch from transaction version 2: it is treated as a retry.

It is a retry of the producer's own EndTxn if that bumped the epoch; otherwise the producer was fenced.
"""

ABORTING = ("new_instance", "timeout", "operator")
"""The causes of bumps that abort an open transaction."""


@dataclass
class _Open:
    """A transaction as its producer knows it."""

    case: str
    identity: Identity
    started_at_ms: int
    partitions: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)
    groups: set[str] = field(default_factory=set)

    def in_flight(self) -> list[dict[str, Any]]:
        """Its partitions with the number of their records."""
        return [
            {"topic": topic, "partition": partition, "records": told["records"]}
            for (topic, partition), told in sorted(self.partitions.items())
        ]


@dataclass
class _History:
    """The identities of one transactional id (or idempotent producer) in order, each with its cause."""

    moves: list[tuple[Identity, str]] = field(default_factory=list)
    open: _Open | None = None
    lost: dict[Identity, list[dict[str, Any]]] = field(default_factory=dict)
    expired: bool = False


class Epochs:
    """The account of a recording. ``key`` is a transactional id, or ``producer <id>`` without one."""

    def __init__(self, truth: GroundTruth) -> None:
        self._truth = truth
        self._histories: dict[str, _History] = {}

    def current(self, key: str) -> Identity | None:
        """The identity that is current, None before the first."""
        moves = self._history(key).moves
        return moves[-1][0] if moves else None

    def moved(self, key: str, identity: Identity, cause: str, aborts: bool = False) -> None:
        """Note a new epoch (or producer id), which may abort the open transaction (``aborts``)."""
        history = self._history(key)
        if history.moves and history.moves[-1][0] == identity:
            return
        if (aborts or cause in ABORTING) and history.open:
            history.lost[history.open.identity] = history.open.in_flight()
            self.ended(key, "aborted", cause)
        history.moves.append((identity, cause))
        history.expired = False

    def expired(self, key: str) -> None:
        """Note that the coordinator has forgotten the transactional id; it no longer has an identity."""
        self._history(key).expired = True

    def forget(self, cause: str) -> None:
        """Note that the coordinator has forgotten every producer, whose transactions stay open."""
        for key, history in self._histories.items():
            if history.open:
                history.lost[history.open.identity] = history.open.in_flight()
            self.ended(key, "open")
            history.moves.append(((-1, -1), cause))

    def verdict(self, key: str, presented: Identity, error: str | None) -> dict[str, Any]:
        """The fields of ground truth about whether a refused producer was fenced."""
        history = self._history(key)
        known = [identity for identity, _ in history.moves]
        current = known[-1] if known and not history.expired else (None, None)
        causes = [*(cause for _, cause in history.moves[1:]), *(["expired"] if history.expired else [])]
        stale = presented in known[: len(causes)]
        cause = causes[known.index(presented)] if stale else None
        victim = stale and (error in FENCED or (error == REPEATED and cause != "end_txn"))
        return {
            "victim": victim,
            "cause": cause if victim else None,
            "current_producer_id": current[0],
            "current_epoch": current[1],
            "in_flight": history.lost.get(presented, []) if victim else [],
        }

    def joined(self, key: str, case: str, identity: Identity) -> _Open:
        """The open transaction of the identity, begun now if there is none."""
        history = self._history(key)
        if history.open is None:
            history.open = _Open(case, identity, now_ms())
        if history.open.identity != identity:
            raise LabError(f"{case}: {key!r} has a transaction of {history.open.identity}, not of {identity}")
        return history.open

    def wrote(self, key: str, case: str, identity: Identity, place: tuple[str, int], batch: range) -> None:
        """The transaction includes the partition, and these offsets of it."""
        told = self.joined(key, case, identity).partitions.setdefault(
            place, {"records": 0, "first_offset": None, "last_offset": None}
        )
        if batch:
            told["records"] += len(batch)
            told["first_offset"] = batch[0] if told["first_offset"] is None else told["first_offset"]
            told["last_offset"] = batch[-1]

    def ended(self, key: str, outcome: str, abort_cause: str | None = None) -> None:
        """Record the transaction that was open, if there was one."""
        history = self._history(key)
        if history.open is None:
            return
        ended, history.open = history.open, None
        self._truth.add(
            {
                "kind": "transaction",
                "case": ended.case,
                "transactional_id": key,
                "producer_id": ended.identity[0],
                "producer_epoch": ended.identity[1],
                "partitions": [
                    {"topic": topic, "partition": partition, **told}
                    for (topic, partition), told in sorted(ended.partitions.items())
                ],
                "groups": sorted(ended.groups),
                "outcome": outcome,
                "abort_cause": abort_cause,
                "started_at_ms": ended.started_at_ms,
                "ended_at_ms": None if outcome == "open" else now_ms(),
            }
        )

    def end_of_recording(self) -> None:
        """Record the transactions that are still open."""
        for key in self._histories:
            self.ended(key, "open")

    def _history(self, key: str) -> _History:
        return self._histories.setdefault(key, _History())
