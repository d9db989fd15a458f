"""Markers that a coordinator had written a second time, and that ended nothing.

A broker that stops may have written a marker, but answers NOT_LEADER_OR_FOLLOWER: the coordinator sends it to
the next leader, too. The same happens after a timeout, and when another coordinator goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Prepared(NamedTuple):
    """A transaction that a coordinator prepared, and how it ends."""

    prepared_ms: int
    completed_ms: int
    type: int


class Marker(NamedTuple):
    """A marker in a partition; ``by_coordinator``: certainly no operator sent it; ``ended_nothing``: no batch
    of its producer was open.
    """

    ms: int
    type: int
    by_coordinator: bool
    ended_nothing: bool


def repeats(
    transactions: Sequence[Prepared], markers: Sequence[Marker], before: int, tolerance_ms: int
) -> dict[int, int]:
    """The numbers of the markers that certainly repeat that of a transaction, and the transaction's number.

    Both are of one epoch in one partition, in order. The first ``before`` markers are of earlier
    transactions. Without these there must be a marker for each transaction, or none is given.
    """
    found: dict[int, int] = {}
    at, last = -before - 1, None
    for number, marker in enumerate(markers):
        if last and at >= 0 and _is_repeat(marker, last, transactions[at : at + 2], tolerance_ms):
            found[number] = at
        else:
            at, last = at + 1, marker
    return found if at == len(transactions) - 1 else {}


def _is_repeat(marker: Marker, last: Marker, transactions: Sequence[Prepared], tolerance_ms: int) -> bool:
    """Whether a marker certainly repeats ``last``, that of the first of two transactions: it was written
    before the second was prepared, or before the only one was completed.
    """
    if not transactions or not marker.ended_nothing:
        return False
    ended, *later = transactions
    is_alike = marker.type == last.type == ended.type and last.by_coordinator and marker.by_coordinator
    is_before = (
        marker.ms + tolerance_ms < later[0].prepared_ms
        if later
        else marker.ms <= ended.completed_ms + tolerance_ms
    )
    return is_alike and is_before and last.ms >= ended.prepared_ms
