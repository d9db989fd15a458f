"""What brokers' heartbeats tell, read without a look at each."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from fencepost.protocols.leader_epoch.lines import BROKER_HEARTBEAT, FETCH
from fencepost.protocols.leader_epoch.orders import heartbeats_of
from fencepost.tables import REQUESTS


def heartbeat(request: str, logged_at_ms: int = 1_000, **columns: Any) -> dict[str, Any]:
    """A row of bronze.requests, by the controller of node 9."""
    return {
        "cluster": "c", "broker_id": 9, "api_key": BROKER_HEARTBEAT, "logged_at_ms": logged_at_ms,
        "total_time_ms": 1.5, "request": request, **columns,
    }  # fmt: skip


def told(*rows: dict[str, Any]) -> list[tuple[Any, ...]]:
    """What heartbeats_of gives, as tuples."""
    found = heartbeats_of(pa.Table.from_pylist(list(rows), schema=REQUESTS.arrow_schema))
    return [tuple(row.values()) for row in found.to_pylist()]


def test_what_is_told_again_counts_when_it_was_told_first() -> None:
    rows = [heartbeat(f'{{"brokerId":1,"currentMetadataOffset":{at}}}', ms) for at, ms in
            ((7, 3_000), (7, 2_000), (8, 4_000))]  # fmt: skip
    assert told(*rows) == [("c", 1, 9, 1_998, 7), ("c", 1, 9, 3_998, 8)]


@pytest.mark.parametrize(
    "request_",
    [
        '{"brokerId":1}',
        '{"brokerId":1,"currentMetadataOffset":null}',
        '{"brokerId":1,"currentMetadataOffset":-1}',
        '{"brokerId":1,"currentMetadataOffset":7.5}',
        '{"brokerId":99999999999,"currentMetadataOffset":7}',
        '{"brokerId":1,"offlineLogDirs":["\\"currentMetadataOffset\\":7,"]}',
    ],
)
def test_what_is_no_offset_is_not_told(request_: str) -> None:
    assert told(heartbeat(request_)) == []


def test_other_requests_and_blanks() -> None:
    said = '{ "brokerId": 1, "currentMetadataOffset": 7 }'.replace(" }", "}")
    assert told(heartbeat(said), heartbeat(said, api_key=FETCH)) == [("c", 1, 9, 998, 7)]
