"""Explains a verdict about a request to a transaction coordinator: who asked for what, what the coordinator
had, and what it answered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from fencepost.protocols.base import Explanation, Verdict
from fencepost.protocols.witnesses import explained
from fencepost.reading import Reader, rows
from fencepost.words import printable, time_of

Row = Mapping[str, Any]

_MODULE = "ProducerEpochProps"


def explain(reader: Reader, verdicts: Sequence[Verdict]) -> dict[str, Explanation]:
    """Explanations by verdict id, of the verdicts whose witness is a request or a partition of one."""
    return explained(verdicts, _MODULE, partial(_explanations, reader))


def _explanations(reader: Reader, ids: Sequence[str]) -> dict[str, Explanation]:
    return {
        row[key]: Explanation(sentence(row), row["file"], row["position"])
        for table, (key, sentence) in _SENTENCES.items()
        if reader.has(table)
        for row in rows(reader.scan(table, where={key: ids}))
    }


def _init_producer_id(row: Row) -> str:
    return (
        f"{_client(row)} asked for an epoch of {_transactional_id(row)} (InitProducerId) and presented "
        f"{_presented(row)}; {_met(row)}; {_answer(row)}.\n"
        f"KIP-360 says {row['kip_360'] or '(unknown)'}, the shipped rule {row['shipped'] or '(unknown)'}."
    )


def _end_txn(row: Row) -> str:
    wanted = {True: "commit", False: "abort"}.get(row["is_commit"], "end")
    return (
        f"{_client(row)} asked to {wanted} the transaction of {_transactional_id(row)} (EndTxn) and "
        f"presented {_presented(row)}; {_met(row)}; {_answer(row)}.\n"
        f"KIP-890 says {row['kip_890'] or '(unknown)'}, the shipped rule {row['shipped'] or '(unknown)'}."
    )


def _add_partition(row: Row) -> str:
    what = (
        f"whether {printable(row['transaction_partition'])} is in"
        if row["is_verification"]
        else f"to add {printable(row['transaction_partition'])} to"
    )
    return (
        f"{_client(row)} asked {what} the transaction of {_transactional_id(row)} (AddPartitionsToTxn) and "
        f"presented {_presented(row)}; {_met(row)}; {_answer(row)}.\n"
        f"The shipped rule says {row['shipped'] or '(unknown)'}."
    )


def _client(row: Row) -> str:
    asked = f"{time_of(row['requested_at'])}  client {printable(row['client_id'])}"
    return f"{asked} (connection {printable(row['connection'])})"


def _transactional_id(row: Row) -> str:
    return f"transactional id '{printable(row['transactional_id'])}'"


def _presented(row: Row) -> str:
    known = row["provided_id"] is not None and row["provided_id"] >= 0
    return _producer(row["provided_id"], row["provided_epoch"]) if known else "no producer id"


def _met(row: Row) -> str:
    if row["current_producer_id"] is None:
        return "what the coordinator had is not known"
    producer = _producer(row["current_producer_id"], row["current_epoch"])
    if row["current_producer_id"] < 0:
        producer = "no producer id"
    return f"the coordinator had {producer}" + (f" in {row['status']}" if row["status"] else "")


def _answer(row: Row) -> str:
    if row["error"] is None:
        return "its answer is not known"
    if row["error"] != "NONE":
        return f"it answered {row['error']}"
    returned = row.get("returned_id")
    given = returned is not None and returned >= 0
    return f"it answered with {_producer(returned, row['returned_epoch'])}" if given else "it granted that"


def _producer(producer_id: int | None, epoch: int | None) -> str:
    return f"producer id {producer_id}, epoch {'(unknown)' if epoch is None else epoch}"


_SENTENCES: Mapping[str, tuple[str, Callable[[Row], str]]] = {
    "marts.fct_init_producer_ids": ("request_id", _init_producer_id),
    "marts.fct_end_txns": ("request_id", _end_txn),
    "marts.fct_add_partitions_to_txns": ("addition_id", _add_partition),
}
