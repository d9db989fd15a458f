"""Explains a verdict about a marker that an operator sent: who, when, and which records it concerns."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fencepost.protocols.base import Explanation, Verdict
from fencepost.protocols.producer_epoch.ended_by import place_of
from fencepost.protocols.producer_epoch.request_targets import MARKERS
from fencepost.reading import Reader, rows
from fencepost.words import counted, printable, time_of

_TRANSACTION_MARKERS = "silver.transaction_markers"
_REQUESTS = "silver.producer_requests"
_INVARIANT = "marker_of_the_right_type"
_EFFECTS = {"ABORT": "Readers with read_committed never get", "COMMIT": "Readers with read_committed got"}


def explain(reader: Reader, verdicts: Sequence[Verdict]) -> dict[str, Explanation]:
    """Explanations by verdict id, of the verdicts about markers whose sender's line is known; ``verdicts``
    are violated.
    """
    witnesses = {
        row["verdict_id"]: json.loads(row["witness"] or "{}").get("m")
        for row in verdicts
        if row["invariant"] == _INVARIANT
    }
    if not witnesses or not (reader.has(_TRANSACTION_MARKERS) and reader.has(_REQUESTS)):
        return {}
    markers = {
        row["marker_id"]: row
        for row in rows(
            reader.scan(_TRANSACTION_MARKERS, where={"marker_id": sorted(filter(None, witnesses.values()))})
        )
        if row["wrong_connection"] is not None
    }
    connections = sorted({row["wrong_connection"] for row in markers.values()})
    lines = (
        rows(reader.scan(_REQUESTS, where={"api_key": [MARKERS], "connection": connections}))
        if connections
        else []
    )
    by_marker = {_key(row, row["producer_id"], f"{row['topic']}:{row['partition']}"): row for row in lines}
    explanations: dict[str, Explanation] = {}
    for verdict_id, marker_id in witnesses.items():
        marker = markers.get(marker_id)
        if marker is None:
            continue
        place = (marker["producer_id"], marker["transaction_partition"])
        line = by_marker.get((marker["cluster"], marker["wrong_connection"], marker["wrong_type"], *place))
        if line is not None:
            explanations[verdict_id] = Explanation(_sentence(marker), line["file"], line["position"])
    return explanations


def _key(line: Mapping[str, Any], *place: object) -> tuple[object, ...]:
    return (line["cluster"], line["connection"], line["result"], *place)


def _sentence(marker: Mapping[str, Any]) -> str:
    due = (
        f"its coordinator wrote {marker['due_type']} at offset {marker['marker_position']}"
        if marker["marker_position"] is not None
        else f"its coordinator had decided {marker['due_type']}"
    )
    return (
        f"{time_of(marker['wrong_at'])}  client {printable(marker['wrong_client_id'])} (connection "
        f"{printable(marker['wrong_connection'])}), which is no coordinator, ended the transaction of "
        f"{printable(marker['transactional_id'])} in {place_of(marker)} with "
        f"{marker['wrong_type']} at offset {marker['wrong_position']}; {due}.\n"
        f"{_EFFECTS[marker['wrong_type']]} its {counted(marker['wrong_records'], 'record')} from offset "
        f"{marker['wrong_first_offset']} to {marker['wrong_last_offset']}."
    )
