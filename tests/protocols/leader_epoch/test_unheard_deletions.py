"""Commits that cross the deletion of their topic: whether their coordinator had heard of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from fencepost.protocols.leader_epoch.clocks import AppliedPosition, Clocks, Moments
from fencepost.protocols.leader_epoch.cluster_replay import replay
from fencepost.protocols.leader_epoch.commits import STORED
from fencepost.protocols.leader_epoch.unheard_deletions import MOST_BEHIND_MS, UnheardDeletions
from fencepost.replay.metadata_log import ControllerTerm, MetadataLog
from fencepost.replay.metadata_records import PARTITION, REMOVE_TOPIC, TOPIC, MetadataRecord

CONTROLLER, COORDINATOR = 1, 2
A, B = 10, 20
"""``A`` and ``B``: at these offsets, and as many seconds, the topics of these ids are deleted."""
_STATE = {
    "partition_id": 0,
    "leader": 1,
    "leader_epoch": 0,
    "isr": [1],
    "replicas": [1],
    "partition_epoch": 0,
}
LOG = MetadataLog.of_records(
    MetadataRecord(at, at * 1000, kind, fields)
    for at, kind, fields in (
        (0, TOPIC, {"name": "t", "topic_id": "A"}),
        (1, PARTITION, {"topic_id": "A", **_STATE}),
        (A, REMOVE_TOPIC, {"topic_id": "A"}),
        (12, TOPIC, {"name": "t", "topic_id": "B"}),
        (13, PARTITION, {"topic_id": "B", **_STATE}),
        (B, REMOVE_TOPIC, {"topic_id": "B"}),
        # a topic may be called as the id of another one
        (25, TOPIC, {"name": "A", "topic_id": "C"}),
    )
)
HISTORY = replay(replace(LOG, terms=(ControllerTerm(0, 0, 25_000, 1, CONTROLLER),)))
HEARD = AppliedPosition(COORDINATOR, COORDINATOR, 10_100, A)
KEPT = {"removed": None, "removed_ms": None, "current": True}


def stored(**of: Any) -> dict[str, Any]:
    """A commit for the topic A a few milliseconds after it was deleted, that was removed soon afterwards."""
    row = dict.fromkeys(STORED.columns)
    row |= {
        "cluster": "c", "commit_partition": 0, "record_offset": 5, "ms": 10_030, "group_id": "g",
        "topic": "t", "partition": 0, "topic_id": "A", "removed": 6, "removed_ms": 10_040,
        "current": False, "term_end_ms": 10_040,
    }  # fmt: skip
    return {**row, **of}


def windows(
    *rows: dict[str, Any], highest: int = A, applied: tuple[AppliedPosition, ...] = (), by: str = "other"
) -> list[tuple[int, int]]:
    """The windows of rows that certainly were written at ``highest``, once they were narrowed."""
    clocks = Clocks({(CONTROLLER, COORDINATOR): 5, (COORDINATOR, CONTROLLER): 5})
    unheard = UnheardDeletions(HISTORY, Moments(HISTORY, clocks, 25, applied), {by})
    bounds = [np.full(len(rows), highest, dtype=np.int64) for _ in range(2)]
    leaders = np.full(len(rows), COORDINATOR, dtype=np.int64)
    unheard.narrow(pa.Table.from_pylist(list(rows), schema=STORED.arrow_schema), leaders, *bounds)
    return list(zip(*(each.tolist() for each in bounds), strict=True))


BEFORE, BEHIND, NOT_KNOWN = (A - 1, A - 1), (A, A), (A - 1, A)


@pytest.mark.parametrize(
    ("row", "facts", "expected"),
    [
        ({}, {}, BEFORE),
        # the coordinator said so before
        ({"ms": 10_200, "removed_ms": 10_210}, {"applied": (HEARD,)}, BEHIND),
        # no other request came between, so it may be behind
        (KEPT, {}, NOT_KNOWN),
        ({**KEPT, "term_end_ms": 10_100}, {"applied": (HEARD,)}, NOT_KNOWN),
        # it heard of the deletion, and did not remove the offset
        ({**KEPT, "term_end_ms": 10_200}, {"applied": (HEARD,)}, BEHIND),
        ({**KEPT, "term_end_ms": 11_000 + MOST_BEHIND_MS}, {}, BEHIND),
        # in a log that was deleted, or whose end is missing, it may have been removed later
        ({**KEPT, "current": None, "term_end_ms": 10_200}, {"applied": (HEARD,)}, NOT_KNOWN),
        ({"removed_ms": None}, {}, NOT_KNOWN),
        # it may have expired, or somebody removed it
        ({"removed_ms": 10_030 + 60_000}, {}, NOT_KNOWN),
        ({}, {"by": "g"}, NOT_KNOWN),
        # no broker is behind for so long
        ({"ms": 11_000 + MOST_BEHIND_MS, "removed_ms": 11_010 + MOST_BEHIND_MS}, {}, BEHIND),
        # by name it may be of the next topic, and removed with that
        ({"topic_id": None}, {}, BEFORE),
        ({"topic_id": None, "removed_ms": 20_030}, {}, NOT_KNOWN),
        ({"topic_id": None, "ms": 20_030, "removed_ms": 20_040}, {"highest": B}, (B - 1, B - 1)),
        # another topic, whose deletion nobody has written
        ({"topic": "A", "topic_id": None}, {}, BEHIND),
        ({"topic_id": "C"}, {}, BEHIND),
        # it was certainly written before the deletion
        ({}, {"highest": A - 1}, BEFORE),
    ],
)
def test_what_the_coordinator_knew(
    row: dict[str, Any], facts: dict[str, Any], expected: tuple[int, int]
) -> None:
    assert windows(stored(**row), **facts) == [expected]


def test_the_last_commit_of_a_key_tells_of_those_before_it() -> None:
    """Others of the group do not, nor one that follows a record which nobody knows."""
    first = stored(record_offset=1, removed=None, removed_ms=None)
    others = (
        stored(record_offset=2, removed=None, removed_ms=None, partition=1),
        stored(record_offset=3, removed=None, removed_ms=None, topic_id="B"),
    )
    last = stored(follows=1)
    assert windows(first, *others, last) == [BEFORE, NOT_KNOWN, BEHIND, BEFORE]
    assert windows(first, stored(follows=None)) == [NOT_KNOWN, BEFORE]
