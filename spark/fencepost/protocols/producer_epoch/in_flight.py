"""Fencings, each with the victim's writes that were in flight: ``silver.producer_fencings``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.producer_epoch import account
from fencepost.protocols.producer_epoch.account import Account, rows_of
from fencepost.protocols.producer_epoch.facts import Facts
from fencepost.protocols.producer_epoch.tables import PRODUCER_FENCINGS
from fencepost.replay.columns import Columns


def producer_fencings(accounts: Account, transactions: pa.Table, facts: Facts) -> pa.Table:
    """``silver.producer_fencings``, with the records that the victim's transaction had in each partition.

    ``transactions``: rows of account.PARTITION_TRANSACTION with a column ``name``.
    """
    fenced = rows_of(accounts, account.FENCING).to_pylist()
    rows = Columns(PRODUCER_FENCINGS)
    if not fenced:
        return rows.to_arrow()
    newest = _newest_transactions(transactions, {(each["cluster"], each["producer_id"]) for each in fenced})
    epochs = _epochs(accounts)
    for each in fenced:
        if each["transactional_id"] is None:
            each.update(_moved_locally(each, epochs, facts))
        each["in_flight"] = _in_flight(each, newest, facts)
        for name in ("occurred", "fenced", "caused"):
            each[f"{name}_at"] = each[f"{name}_ms"]
        rows.add(*(each[name] for name in PRODUCER_FENCINGS.columns))
    return rows.to_arrow()


_NewestTransactions = Mapping[tuple[object, ...], tuple[int, int | None]]


def _newest_transactions(
    transactions: pa.Table, producers: Iterable[tuple[str, int | None]]
) -> _NewestTransactions:
    """First offset and number of records of the newest transaction of each cluster, producer id, epoch and
    partition.

    The number is None where two incarnations of a topic have a transaction at that offset.
    """
    ids = pa.array({producer_id for _, producer_id in producers if producer_id is not None}, pa.int64())
    rows = transactions.filter(pc.is_in(transactions["producer_id"], ids))
    names = ("cluster", "producer_id", "producer_epoch", "name", "first_offset", "records")
    newest_of_key: dict[tuple[object, ...], tuple[int, int | None]] = {}
    for *key, first_offset, records in zip(*(rows[name].to_pylist() for name in names), strict=True):
        place = tuple(key)
        newest, counted = newest_of_key.get(place, (-1, None))
        if first_offset > newest:
            newest_of_key[place] = (first_offset, records)
        elif first_offset == newest and records != counted:
            # two incarnations of the topic have one there, and nothing tells which is meant
            newest_of_key[place] = (first_offset, None)
    return newest_of_key


def _in_flight(
    fencing: Mapping[str, object], newest_transactions: _NewestTransactions, facts: Facts
) -> str | None:
    listed = fencing["in_flight"]
    if not isinstance(listed, list):
        return None
    partitions = []
    for each in listed:
        topic, _, partition = each["name"].rpartition(":")
        key = (fencing["cluster"], fencing["producer_id"], fencing["victim_epoch"], each["name"])
        first_offset, records = newest_transactions.get(key, (None, None))
        if records is None and facts.whole.get((str(fencing["cluster"]), each["name"])):
            # a partition is added to a transaction before anything is written to it
            records = 0
        partitions.append(
            {
                "topic": topic,
                "partition": int(partition),
                "first_offset": first_offset,
                "records": records,
                "outcome": each["outcome"],
            }
        )
    partitions.sort(key=lambda at: (at["topic"], at["partition"], at["first_offset"] or -1))
    return json.dumps(partitions, separators=(",", ":"), ensure_ascii=False)


def _epochs(accounts: Account) -> dict[tuple[object, ...], list[tuple[int, int]]]:
    """When producers without transactions first wrote with each epoch: (ms, epoch) by cluster, producer id,
    topic and partition.
    """
    rows = rows_of(accounts, account.EPOCH)
    names = ("cluster", "producer_id", "topic", "partition", "first_ms", "producer_epoch")
    first_writes: dict[tuple[object, ...], list[tuple[int, int]]] = {}
    for *key, first_ms, epoch in zip(*(rows[name].to_pylist() for name in names), strict=True):
        first_writes.setdefault(tuple(key), []).append((first_ms, epoch))
    return first_writes


def _moved_locally(
    fencing: Mapping[str, object], epochs: Mapping[tuple[object, ...], list[tuple[int, int]]], facts: Facts
) -> dict[str, object]:
    """The columns of a fencing by a local bump. The current epoch is the newest that the partition had by
    then, unless a hole may hide a newer one.
    """
    cluster, producer_id, topic, partition = (
        fencing[name] for name in ("cluster", "producer_id", "topic", "partition")
    )
    until = fencing["occurred_ms"]
    assert isinstance(until, int)
    first_writes = epochs.get((cluster, producer_id, topic, partition), ())
    newest = max((epoch for ms, epoch in first_writes if ms <= until), default=None)
    current = newest if facts.unbroken.get((str(cluster), f"{topic}:{partition}")) else None
    return {
        "current_epoch": current,
        # the only epoch below 1
        "victim_epoch": 0 if current == 1 else None,
        "cause": "local" if newest is not None and newest > 0 else None,
    }
