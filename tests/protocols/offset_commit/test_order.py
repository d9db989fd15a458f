"""The same evidence gives the same rows, in whatever order it was found and wherever a replay stopped."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from fencepost.protocols.offset_commit import pending_requests, request_columns
from fencepost.protocols.offset_commit import replay as shard_replay
from fencepost.protocols.offset_commit.groups import Group, TakenOver
from fencepost.protocols.offset_commit.histories import Histories
from fencepost.protocols.offset_commit.replay import replay
from fencepost.protocols.offset_commit.signs_of_life import SignsOfLife
from fencepost.replay.group_coordinator.conversions import Endings, batches_of
from fencepost.replay.group_coordinator.evidence import placed, without_compacted
from fencepost.replay.histories import Point

TOLERANCE_MS = 5
_ORDERS = 10


def test_the_order_of_evidence_changes_nothing(
    cases: dict[str, dict[str, Any]], decode: Callable[..., Any]
) -> None:
    """Records, batches and lines are found replica by replica, late segments last."""
    for name, case in cases.items():
        expected = replay(*decode(name, case), TOLERANCE_MS)
        for seed in range(_ORDERS):
            found = replay(*decode(name, case, random.Random(seed)), TOLERANCE_MS)
            assert found == expected, f"{name}, order {seed}"


def test_how_many_requests_are_objects_at_a_time_changes_nothing(
    cases: dict[str, dict[str, Any]], decode: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A group of millions of commits is gone through in pieces; cases have fewer than one piece."""
    expected = {name: replay(*decode(name, case), TOLERANCE_MS) for name, case in cases.items()}
    for module, name in (
        (request_columns, "_AT_ONCE"),
        (pending_requests, "_AT_ONCE"),
        (shard_replay, "_ROWS_AT_ONCE"),
        (shard_replay, "_BATCHES_AT_ONCE"),
    ):
        assert getattr(module, name) > 1
        monkeypatch.setattr(module, name, 1)
    for name, case in cases.items():
        assert replay(*decode(name, case), TOLERANCE_MS) == expected[name], name


def test_a_group_can_be_stored_and_taken_up_again(
    cases: dict[str, dict[str, Any]], decode: Callable[..., Any]
) -> None:
    """After every batch the state is all that is needed to go on."""
    stored = 0
    for name, case in cases.items():
        groups = {
            record["group"] for batch in case["batches"] for record in batch["records"] if "type" in record
        }
        for group_id in sorted(groups):
            expected = _histories(name, case, decode, group_id, interrupted=False)
            assert _histories(name, case, decode, group_id, interrupted=True) == expected, (name, group_id)
            stored += sum(table.num_rows for table in expected)
    assert stored > 100


def _nothing_tells(_: object) -> None:
    """What epochs a group has before any is written."""


def _histories(
    name: str, case: dict[str, Any], decode: Callable[..., Any], group_id: str, *, interrupted: bool
) -> list[pa.Table]:
    evidence, metadata = decode(name, case)
    stretches = {stretch.number: stretch for stretch in evidence.log.stretches}
    group = Group(
        group_id, metadata.topics, stretches, _nothing_tells, births={}, signs=SignsOfLife((), (), metadata)
    )
    state = (group, Endings(), Histories(name, 0, metadata.topics))
    records = without_compacted(placed(evidence.group_records, evidence.log), evidence.log)
    for batch in batches_of([record for record in records if record.group_id == group_id]):
        group, endings, out = pickle.loads(pickle.dumps(state)) if interrupted else state
        for record, ends in zip(batch, endings.of(batch), strict=True):
            group.replay(record, ends=ends, taken_over=TakenOver.by(batch), out=out)
        group.settle(Point(batch[-1].last_offset, batch[-1].timestamp_ms), out)
        state = (group, endings, out)
    group, _, out = state
    group.finish(out)
    return [columns.to_arrow() for columns in (out.groups, out.members, out.owned, out.revoked, out.covered)]
