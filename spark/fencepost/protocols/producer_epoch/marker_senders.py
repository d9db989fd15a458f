"""Who sent the markers of one partition: its coordinators, or somebody else.

A marker does not name its sender, and ``kafka-transactions.sh abort`` writes the coordinator epoch of the
partition's last marker (0 without one), as a coordinator may have it. The lines of WriteTxnMarkers tell:
coordinators send it as ``broker-N-txn-marker-sender`` (TransactionMarkerChannelManager), and a leader dates
the marker while it handles the request.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.producer_epoch.arrow import (
    UNKNOWN,
    Longs,
    Piece,
    first_at_or_after,
    longs,
    milliseconds,
)
from fencepost.protocols.producer_epoch.request_targets import MARKERS
from fencepost.replay.requests import NONE as NO_ERROR

_COORDINATOR = re.compile(r"broker-\d+-txn-marker-sender")

SENT = ("row", "producer_id", "producer_epoch", "type", "by_operator", "requested_ms", "responded_ms")
"""The columns of a WriteTxnMarkers that wrote a marker; ``type`` is a place in MARKER_TYPES."""

_AFTER_APPEND = ("NOT_LEADER_OR_FOLLOWER", "REQUEST_TIMED_OUT", "NOT_ENOUGH_REPLICAS_AFTER_APPEND")
"""Errors of a leader that may have written the marker, and does not know whether others have it."""


def is_of_a_coordinator(client_id: str | None) -> bool:
    """Whether coordinators send WriteTxnMarkers by this name."""
    return _COORDINATOR.fullmatch(client_id or "") is not None


def writing_markers(requests: pa.Table) -> pa.Table:
    """The rows of ``silver.producer_requests`` that wrote a marker, and those of coordinators that may have:
    these send it again, so the marker is a coordinator's anyway.
    """
    accepted = pc.equal(requests["error"], NO_ERROR)
    of_coordinators = pc.match_substring_regex(requests["client_id"], rf"\A{_COORDINATOR.pattern}\z")
    doubtful = pc.and_(pc.is_in(requests["error"], pa.array(_AFTER_APPEND)), of_coordinators)
    is_written = pc.and_(pc.equal(requests["api_key"], MARKERS), pc.or_(accepted, doubtful))
    return requests.filter(pc.fill_null(is_written, False))


def sent_markers(requests: pa.Table) -> Piece:
    """The columns SENT of rows of writing_markers."""
    clients = requests["client_id"].combine_chunks().dictionary_encode()
    others = [not is_of_a_coordinator(name) for name in clients.dictionary.to_pylist()]
    by_operator = np.array([*others, 0], dtype=np.int64)[longs(pc.fill_null(clients.indices, len(others)))]
    return {
        "row": np.arange(requests.num_rows),
        "producer_id": longs(requests["producer_id"]),
        "producer_epoch": longs(requests["producer_epoch"]),
        "type": longs(pc.equal(requests["result"], "COMMIT")),
        "by_operator": by_operator,
        "requested_ms": milliseconds(requests["requested_at"]),
        "responded_ms": milliseconds(requests["responded_at"]),
    }


class Senders(NamedTuple):
    """For each marker: ``by_operator``: 1 if no coordinator sent it, 0 if one did, UNKNOWN if no line tells;
    ``row`` of the operator's line, UNKNOWN without one.
    """

    by_operator: Longs
    row: Longs


def senders(markers: Piece, sent: Piece, tolerance_ms: int) -> Senders:
    """Who sent the markers of a partition.

    ``markers``: ``producer_id``, ``producer_epoch``, ``type``, ``coordinator_epoch`` and ``timestamp_ms``;
    ``sent``: SENT. An operator's request surely wrote a marker if no other marker has its content while
    the request was handled. No coordinator has a negative epoch.
    """
    result = Senders(*(np.full(len(markers["type"]), UNKNOWN) for _ in Senders._fields))
    lines, contents = _numbered(sent, markers)
    ms = markers["timestamp_ms"]
    begins = sent["requested_ms"] - tolerance_ms
    order = np.lexsort((ms, contents))
    of_coordinators = np.flatnonzero(sent["by_operator"] == 0)
    for at in (of_coordinators, np.flatnonzero(sent["by_operator"] == 1)):
        first = first_at_or_after(contents[order], ms[order], lines[at], begins[at])
        last = first_at_or_after(contents[order], ms[order], lines[at], sent["responded_ms"][at] + 1)
        if at is of_coordinators:
            within = np.zeros(len(order) + 1, dtype=np.int64)
            np.add.at(within, first, 1)
            np.add.at(within, np.maximum(last, first), -1)
            result.by_operator[order[np.cumsum(within[:-1]) > 0]] = 0
            continue
        for line, begin, end in zip(at.tolist(), first.tolist(), last.tolist(), strict=True):
            is_only = end - begin == 1
            result.by_operator[order[begin:end]] = 1 if is_only else UNKNOWN
            result.row[order[begin:end]] = sent["row"][line] if is_only else UNKNOWN
    coordinator_epoch = markers["coordinator_epoch"]
    result.by_operator[(coordinator_epoch < 0) & (coordinator_epoch != UNKNOWN)] = 1
    return result


def _numbered(sent: Piece, markers: Piece) -> tuple[Longs, Longs]:
    """A number for the content of each line and of each marker: the same for equal ones."""
    columns = [
        np.concatenate([sent[name], markers[name]]) for name in ("producer_id", "producer_epoch", "type")
    ]
    _, numbers = np.unique(np.stack(columns), axis=1, return_inverse=True)
    lines, contents = np.split(numbers.ravel(), [len(sent["type"])])
    return lines, contents
