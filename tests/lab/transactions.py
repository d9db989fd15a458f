"""Transactions around hand-made offset commits (transaction version 2, KIP-890)."""

from __future__ import annotations

import time

from brokers import LabError
from commits import Transaction
from members import Group
from messages import Message

TXN_VERSION = 5
"""TxnOffsetCommit v5: the broker itself adds the group to the transaction."""

_TRANSIENT = {14, 15, 16, 51}  # COORDINATOR_*, NOT_COORDINATOR, CONCURRENT_TRANSACTIONS
_PATIENCE_S = 30.0


def begin(group: Group, transactional_id: str) -> Transaction:
    """A new producer for the transactional id; its transaction begins with the first commit."""
    request = {
        "TransactionalId": transactional_id,
        "TransactionTimeoutMs": 60_000,
        "ProducerId": -1,
        "ProducerEpoch": -1,
    }
    answer = _call(group, transactional_id, "InitProducerId", 5, request)
    return Transaction(transactional_id, answer["ProducerId"], answer["ProducerEpoch"])


def end(group: Group, transaction: Transaction, committed: bool = True) -> None:
    """Commit or abort the transaction."""
    request = {
        "TransactionalId": transaction.transactional_id,
        "ProducerId": transaction.producer_id,
        "ProducerEpoch": transaction.producer_epoch,
        "Committed": committed,
    }
    _call(group, transaction.transactional_id, "EndTxn", 5, request)


def _call(group: Group, transactional_id: str, api: str, version: int, request: Message) -> Message:
    broker_id = group.cluster.coordinator(transactional_id, transaction=True)
    connection = group.cluster.connect(transactional_id, broker_id)
    deadline = time.monotonic() + _PATIENCE_S
    try:
        while True:
            answer = connection.call(api, version, request)
            if answer["ErrorCode"] not in _TRANSIENT or time.monotonic() > deadline:
                break
            time.sleep(0.1)
    finally:
        connection.close()
    if answer["ErrorCode"]:
        raise LabError(f"{api} of {transactional_id!r}: error {answer['ErrorCode']}")
    return answer
