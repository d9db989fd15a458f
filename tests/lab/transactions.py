"""Transactions around hand-made offset commits.

With TxnOffsetCommit v5 the broker adds the group to the transaction (transaction version 2, KIP-890); before,
the client adds it (AddOffsetsToTxn) and ends the transaction at the epoch at which it began.
"""

from __future__ import annotations

import time

from brokers import LabError
from commits import TXN_BY_ID, Transaction, release
from members import Group
from messages import Message

TXN_VERSION, TXN_OLDER = 5, 4
"""TxnOffsetCommit versions: the broker adds the group to the transaction; the client does."""

_TRANSIENT = {14, 15, 16, 51}  # COORDINATOR_*, NOT_COORDINATOR, CONCURRENT_TRANSACTIONS
_UNSTABLE = 88
_PATIENCE_S = 30.0


def newest_txn_version(group: Group) -> int:
    """The TxnOffsetCommit version of the broker's own clients."""
    if release(group.cluster.plan.version) >= (4, 4):
        return TXN_BY_ID
    return TXN_VERSION if release(group.cluster.plan.version) >= (4, 0) else TXN_OLDER


def begin(group: Group, transactional_id: str, version: int | None = None) -> Transaction:
    """A new producer for the transactional id; its transaction begins with the first commit."""
    request = {
        "TransactionalId": transactional_id,
        "TransactionTimeoutMs": 600_000,
        "ProducerId": -1,
        "ProducerEpoch": -1,
    }
    answer = _call(group, transactional_id, "InitProducerId", 5, request)
    producer = (answer["ProducerId"], answer["ProducerEpoch"])
    transaction = Transaction(transactional_id, *producer, version or newest_txn_version(group))
    if transaction.api_version < TXN_VERSION:
        add_group(group, transaction)
    return transaction


def add_group(group: Group, transaction: Transaction) -> None:
    """Tell the transaction's coordinator that commits to the group belong to the transaction."""
    request = {
        "TransactionalId": transaction.transactional_id,
        "ProducerId": transaction.producer_id,
        "ProducerEpoch": transaction.producer_epoch,
        "GroupId": group.group_id,
    }
    _call(group, transaction.transactional_id, "AddOffsetsToTxn", 3, request)


def end(group: Group, transaction: Transaction, committed: bool = True) -> None:
    """Commit or abort the transaction, and wait until the group's offsets show it."""
    request = {
        "TransactionalId": transaction.transactional_id,
        "ProducerId": transaction.producer_id,
        "ProducerEpoch": transaction.producer_epoch,
        "Committed": committed,
    }
    version = 5 if transaction.api_version >= TXN_VERSION else 4
    _call(group, transaction.transactional_id, "EndTxn", version, request)
    accepted = [row for row in transaction.rows if row["error"] == "NONE"]
    for row in accepted:
        row.update(outcome=_outcome(group, accepted, row) if committed else "aborted")
        _verify(group, row)


def _outcome(group: Group, accepted: list[Message], row: Message) -> str:
    """The outcome of an accepted commit in a committed transaction, by the driver's account."""
    partition = (row["topic"], row["partition"])
    history = group.rows(partition)
    later = [r for r in history[history.index(row) + 1 :] if r["error"] == "NONE"]
    if any(r in accepted for r in later):
        return "replaced"
    return "skipped" if any(r["transactional_id"] is None for r in later) else "committed"


def _verify(group: Group, row: Message) -> None:
    found = committed_offset(group, row["topic"], row["partition"])
    if (found == row["committed_offset"]) != (row["outcome"] == "committed"):
        raise LabError(f"{row['case']}: {row['outcome']}, but the group's offset is {found}")


def committed_offset(group: Group, topic: str, partition: int, stable: bool = True) -> int:
    """The group's offset of a partition, -1 for none; ``stable``: once no transaction is open on it."""
    wanted = {"GroupId": group.group_id, "Topics": [{"Name": topic, "PartitionIndexes": [partition]}]}
    request = {"Groups": [wanted], "RequireStable": stable}
    connection = group.cluster.connect("lab-admin", group.broker_id)
    deadline = time.monotonic() + _PATIENCE_S
    try:
        while True:
            answer = connection.call("OffsetFetch", 8, request)["Groups"][0]
            found: Message = (answer["Topics"] or [{"Partitions": [answer]}])[0]["Partitions"][0]
            if found["ErrorCode"] not in _TRANSIENT | {_UNSTABLE} or time.monotonic() > deadline:
                break
            time.sleep(0.1)
    finally:
        connection.close()
    if found["ErrorCode"]:
        raise LabError(f"no offset of {topic}-{partition} in {group.group_id!r}: error {found['ErrorCode']}")
    return int(found["CommittedOffset"])


def _call(group: Group, transactional_id: str, api: str, version: int, request: Message) -> Message:
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        broker_id = group.cluster.coordinator(transactional_id, transaction=True)
        connection = group.cluster.connect(transactional_id, broker_id)
        try:
            answer = connection.call(api, version, request)
        finally:
            connection.close()
        if answer["ErrorCode"] not in _TRANSIENT or time.monotonic() > deadline:
            break
        time.sleep(0.1)
    if answer["ErrorCode"]:
        raise LabError(f"{api} of {transactional_id!r}: error {answer['ErrorCode']}")
    return answer
