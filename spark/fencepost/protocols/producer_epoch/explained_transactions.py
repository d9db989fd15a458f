"""Explains a verdict about a transaction in a partition that its coordinator does not know."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from fencepost.protocols.base import Explanation, Verdict
from fencepost.protocols.producer_epoch.ended_by import EndedBy, Row, marker_of
from fencepost.reading import Reader, rows
from fencepost.words import printable, time_of

_TRANSACTIONS = "silver.partition_transactions"


def explain(reader: Reader, verdicts: Sequence[Verdict]) -> dict[str, Explanation]:
    """Explanations by verdict id; ``verdicts`` are violated."""
    witnesses = {
        row["verdict_id"]: (row, json.loads(row["witness"] or "{}").get("x"))
        for row in verdicts
        if row["invariant"] in _SENTENCES
    }
    ids = sorted({witness for _, witness in witnesses.values() if witness})
    if not ids or not reader.has(_TRANSACTIONS):
        return {}
    # of a transaction there is a row for each stretch in which the same was known of it
    found = {
        (row["cluster"], row["partition_transaction_id"], row["from_position"]): row
        for row in rows(reader.scan(_TRANSACTIONS, where={"partition_transaction_id": ids}))
    }
    ended_by = EndedBy(reader, found.values())
    explanations = {}
    for verdict_id, (verdict, witness) in witnesses.items():
        row = found.get((verdict["cluster"], witness, verdict["from_position"]))
        if row is not None:
            line = ended_by.line(row)
            sentence = _SENTENCES[verdict["invariant"]](row, line)
            place = (line["file"], line["position"]) if line is not None else ()
            explanations[verdict_id] = Explanation(sentence, *place)
    return explanations


def _wrote(row: Row) -> str:
    named = f" (transactional id '{printable(row['transactional_id'])}')" if row["transactional_id"] else ""
    return (
        f"{time_of(row['from_time'])}  producer {row['producer_id']}{named} wrote at epoch "
        f"{row['producer_epoch']} what has offsets {row['first_offset']} to {row['last_offset']} of "
        f"{printable(row['topic'])}-{row['partition']}"
    )


def _dangling(row: Row, _: Row | None) -> str:
    return (
        f"{_wrote(row)}. The transaction is open there, and its coordinator does not know that it is: nobody "
        "will end it.\nAs long as it is open, readers with read_committed get nothing from offset "
        f"{row['first_offset']} on."
    )


def _outside(row: Row, line: Row | None) -> str:
    seen = {True: "never get", False: "got"}.get(row["aborted"])
    return (
        f"{_wrote(row)}. {marker_of(row, line)} ended that at offset {row['to_position']}, although its "
        "coordinator had prepared no such end of a transaction in this partition."
        + (f"\nReaders with read_committed {seen} these records." if seen else "")
    )


def _unindexed(row: Row, _: Row | None) -> str:
    broker = row.get("unindexed_broker_id")
    of = "its index" if broker is None else f"the index of broker {broker}"
    return (
        f"{_wrote(row)}. A marker aborted that at offset {row['to_position']}, and {of} does not have it.\n"
        "Readers with read_committed get these records where that replica serves them, as if they had been "
        "committed."
    )


_SENTENCES: dict[str, Callable[[Row, Row | None], str]] = {
    "no_dangling_transaction": _dangling,
    "no_write_outside_transaction": _outside,
    "aborted_transactions_are_indexed": _unindexed,
}
