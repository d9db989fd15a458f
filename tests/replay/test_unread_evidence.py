"""Which protocols' verdicts rest on a file that is missing or could not be read."""

from __future__ import annotations

import pyarrow as pa
import pytest

from fencepost.protocols import protocols
from fencepost.replay.unread_evidence import READ, unread_evidence

ALL = {protocol.name for protocol in protocols()}
OF_APPLICATIONS = {"leader_epoch", "producer_epoch"}
FILES = [
    ("request_log", "/logs/kafka-request.log*", "missing", ALL),
    ("request_log", "broker-3/kafka-request.log", "missing", ALL),
    ("segment", "/data/kafka", "missing", ALL),
    ("segment", "broker-3/log_dir", "unreadable", ALL),
    ("segment", "/data/kafka-2", "unreadable", ALL),
    ("segment", "/data/__consumer_offsets-12/00000000000000000000.log", "bad_crc", ALL),
    ("segment", "/data/orders-eu-3/00000000000000000000.log", "bad_crc", OF_APPLICATIONS),
    ("segment", "/data/__transaction_state-3/00000000000000000000.log", "truncated", OF_APPLICATIONS),
    ("producer_snapshot", "/data/orders-3/00000000000000000007.snapshot", "unreadable", OF_APPLICATIONS),
    ("leader_epoch_checkpoint", "/data/orders-3/leader-epoch-checkpoint", "unreadable", {"leader_epoch"}),
    ("client_log", "/logs/client.log", "bad_line", OF_APPLICATIONS),
    ("streams_log", "/logs/streams.log", "bad_line", {"lag_report"}),
    ("server_log", "/logs/server.log", "missing", {"ownership_claim"}),
    ("segment", "/data/__consumer_offsets-12/00000000000000000000.log", "torn_tail", set()),
]


def _rows(*files: tuple[str, str, str]) -> pa.Table:
    return pa.table(dict(zip(READ, zip(*files, strict=True), strict=True)))


@pytest.mark.parametrize(("kind", "file", "reason", "protocols_that_read"), FILES)
def test_the_protocols_that_rest_on_it(
    kind: str, file: str, reason: str, protocols_that_read: set[str]
) -> None:
    rows = unread_evidence(_rows(("c", kind, file, reason), ("c", kind, file, reason))).to_pylist()
    assert {row["protocol"] for row in rows} == protocols_that_read
    assert {row["entries"] for row in rows} <= {2}


def test_each_cluster_has_its_own() -> None:
    kind, file, reason, _ = FILES[0]
    rows = unread_evidence(_rows(("a", kind, file, reason), ("b", kind, file, "torn_tail"))).to_pylist()
    assert {row["cluster"] for row in rows} == {"a"}


def test_without_any_there_is_no_row() -> None:
    nothing = pa.schema([(name, pa.string()) for name in READ]).empty_table()
    assert unread_evidence(nothing).num_rows == 0
