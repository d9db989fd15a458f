"""Descriptions of transactional ids by their coordinators (``kafka-transactions.sh describe``)."""

from __future__ import annotations

import time

from brokers import LabError
from messages import Message
from producer_requests import Workbench

_PATIENCE_S = 60.0


def describe(bench: Workbench, transactional_id: str) -> Message:
    """The coordinator's description of a transactional id (``kafka-transactions.sh describe``)."""
    broker_id = bench.coordinator(transactional_id, transaction=True)
    connection = bench.cluster.connect("lab-admin", broker_id)
    try:
        asked = {"TransactionalIds": [transactional_id]}
        found: Message = connection.call("DescribeTransactions", 0, asked)["TransactionStates"][0]
    finally:
        connection.close()
    return found


def await_state(
    bench: Workbench, transactional_id: str, *states: str, patience_s: float = _PATIENCE_S
) -> None:
    """Wait until the coordinator describes the transactional id in one of the states."""
    deadline = time.monotonic() + patience_s
    pause_s = 0.05
    while (told := describe(bench, transactional_id))["TransactionState"] not in states:
        if time.monotonic() > deadline:
            raise LabError(f"{transactional_id!r} is {told}, not {states}")
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, 1.0)
