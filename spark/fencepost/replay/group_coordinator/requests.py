"""The requests that a group's coordinator answers: their API keys, and the errors of other brokers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fencepost.replay.requests import integer

OFFSET_COMMIT, JOIN_GROUP, HEARTBEAT, LEAVE_GROUP, SYNC_GROUP, TXN_OFFSET_COMMIT = 8, 11, 12, 13, 14, 28
CLASSIC_APIS = (JOIN_GROUP, HEARTBEAT, LEAVE_GROUP, SYNC_GROUP)
"""Requests that only members of classic groups send."""

LOADING = "COORDINATOR_LOAD_IN_PROGRESS"
ELSEWHERE = frozenset({LOADING, "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR"})
"""The errors of a broker that does not have the group's state: it decided the request by no state."""


def timeout_of_join(sent: Mapping[str, Any]) -> int | None:
    """The shorter timeout of a JoinGroup in milliseconds. Before version 1 JoinGroup has one timeout for both
    purposes.
    """
    timeouts = (integer(sent.get("sessionTimeoutMs")), integer(sent.get("rebalanceTimeoutMs")))
    return min((each for each in timeouts if each is not None and each >= 0), default=None)
