"""Explains a verdict about a marker that is missing: what waits for it, or what has ended that instead."""

from __future__ import annotations

import json
from collections.abc import Sequence

from fencepost.protocols.base import Explanation, Verdict
from fencepost.protocols.producer_epoch.ended_by import EndedBy, Row, marker_of, place_of
from fencepost.reading import Reader, rows
from fencepost.words import counted, printable, time_of

_MARKERS, _TRANSACTIONS = "silver.transaction_markers", "silver.partition_transactions"
_INVARIANT = "every_marker_is_written"


def explain(reader: Reader, verdicts: Sequence[Verdict]) -> dict[str, Explanation]:
    """Explanations by verdict id; ``verdicts`` are violated."""
    witnesses = {
        row["verdict_id"]: json.loads(row["witness"] or "{}").get("m")
        for row in verdicts
        if row["invariant"] == _INVARIANT
    }
    ids = sorted(filter(None, witnesses.values()))
    if not ids or not (reader.has(_MARKERS) and reader.has(_TRANSACTIONS)):
        return {}
    markers = {row["marker_id"]: row for row in rows(reader.scan(_MARKERS, where={"marker_id": ids}))}
    producers = sorted({row["producer_id"] for row in markers.values()})
    transactions = rows(reader.scan(_TRANSACTIONS, where={"producer_id": producers}))
    ended_by = EndedBy(reader, transactions)
    explanations = {}
    for verdict_id, marker_id in witnesses.items():
        marker = markers.get(marker_id)
        if marker is not None:
            explanations[verdict_id] = _explanation(marker, transactions, ended_by)
    return explanations


def _explanation(marker: Row, transactions: Sequence[Row], ended_by: EndedBy) -> Explanation:
    sentence = (
        f"{time_of(marker['from_time'])}  the coordinator prepared the {marker['due_type']} of a transaction "
        f"of {printable(marker['transactional_id'])} (producer {marker['producer_id']}), and completed it. "
        f"No such marker of it is in {place_of(marker)}."
    )
    waiting = [each for each in transactions if _may_wait(each, marker)]
    if len(waiting) != 1:
        return Explanation(sentence)
    line = ended_by.line(waiting[0])
    place = (line["file"], line["position"]) if line is not None else ()
    return Explanation(f"{sentence}\n{_since(waiting[0], line)}", *place)


def _may_wait(transaction: Row, marker: Row) -> bool:
    """Whether a transaction may be what the marker was due for: it was open then, or may have been."""
    place = f"{transaction['topic']}:{transaction['partition']}"
    return (transaction["cluster"], transaction["producer_id"], place) == tuple(
        marker[name] for name in ("cluster", "producer_id", "transaction_partition")
    ) and (transaction["to_time"] is None or transaction["to_time"] >= marker["from_time"])


def _since(transaction: Row, line: Row | None) -> str:
    first = transaction["first_offset"]
    records = (
        f"{counted(transaction['records'], 'record')} from offset {first} to {transaction['last_offset']}"
    )
    if transaction["open"]:
        return (
            f"Its {records} are still open there: readers with read_committed get nothing from offset "
            f"{first} on."
        )
    if transaction["to_position"] is None:
        return f"It is not known whether its {records} are still open there."
    return (
        f"{marker_of(transaction, line)} ended its {records} there, at offset {transaction['to_position']}: "
        "nobody waits for it any more."
    )
