"""Who ended a transaction in a partition, where a line of a request log shows that no coordinator did."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from fencepost.protocols.producer_epoch.marker_senders import is_of_a_coordinator
from fencepost.protocols.producer_epoch.request_targets import MARKERS
from fencepost.reading import Reader, rows
from fencepost.replay.requests import NONE
from fencepost.words import printable, time_of

_REQUESTS = "silver.producer_requests"
Row = Mapping[str, Any]


class EndedBy:
    """The lines of WriteTxnMarkers about some transactions (rows of ``silver.partition_transactions``)."""

    def __init__(self, reader: Reader, transactions: Iterable[Row]) -> None:
        self._lines: dict[tuple[object, ...], list[Row]] = defaultdict(list)
        producers = sorted({each["producer_id"] for each in transactions if each["aborted"] is not None})
        if not producers or not reader.has(_REQUESTS):
            return
        where = {"api_key": [MARKERS], "producer_id": producers, "error": [NONE]}
        for line in rows(reader.scan(_REQUESTS, where=where)):
            self._lines[_key(line, line["producer_epoch"], line["result"])].append(line)

    def line(self, transaction: Row) -> Row | None:
        """The line of the client that sent the marker, and that is no coordinator; None if that is not known.

        A leader dates a marker while it handles the request, by the clock of its request log.
        """
        ended_at, result = transaction["to_time"], "ABORT" if transaction["aborted"] else "COMMIT"
        found = [
            line
            for line in self._lines[_key(transaction, transaction["marker_epoch"], result)]
            if line["requested_at"] <= ended_at <= line["responded_at"]
        ]
        is_told = len(found) == 1 and not is_of_a_coordinator(found[0]["client_id"])
        return found[0] if is_told else None


def marker_of(transaction: Row, line: Row | None) -> str:
    """The marker that ended a transaction, with who sent it."""
    kind = {True: "An ABORT marker", False: "A COMMIT marker"}.get(transaction["aborted"], "A marker")
    if line is None:
        return kind
    return (
        f"{kind} of client {printable(line['client_id'])} (connection {printable(line['connection'])}; "
        f"{time_of(transaction['to_time'])}), which is no coordinator,"
    )


def place_of(marker: Row) -> str:
    """The partition in which a marker is due, as people name it."""
    topic, _, partition = marker["transaction_partition"].rpartition(":")
    return f"{printable(topic)}-{partition}"


def _key(row: Row, epoch: object, result: str) -> tuple[object, ...]:
    return (*(row[name] for name in ("cluster", "producer_id", "topic", "partition")), epoch, result)
