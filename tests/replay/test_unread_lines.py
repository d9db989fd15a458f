"""What could not be read of request logs and of segments, by file and by log."""

from __future__ import annotations

import pyarrow as pa

from fencepost.replay.unread_lines import are_read, of_request_logs, unread_lines
from fencepost.replay.unreadable import unread_by_log
from fencepost.tables import QUARANTINE

ROWS = [
    {"cluster": "a", "kind": "request_log", "file": "request.log", "position": 70},
    {"cluster": "a", "kind": "request_log", "file": "request.log", "position": None},
    {"cluster": "b", "kind": "request_log", "file": "request.log", "position": 5},
    {"cluster": "b", "kind": "segment", "file": "/x/t-1/00000000000000000007.log", "position": 9},
    {"cluster": "b", "kind": "segment", "file": "/x/t-1/index", "position": 9},
]
QUARANTINED = pa.Table.from_pylist(ROWS, schema=QUARANTINE.arrow_schema)


def test_between_two_lines_others_may_not_have_been_read() -> None:
    of_clusters = unread_lines(of_request_logs(QUARANTINED))
    assert of_clusters == {"a": {"request.log": [70, 0]}, "b": {"request.log": [5]}}
    assert are_read(of_clusters["a"], "request.log", 70, 90)
    assert not are_read(of_clusters["a"], "request.log", 60, 90)
    assert not are_read(of_clusters["a"], "request.log", 60)
    assert are_read(of_clusters["a"], "other.log", 0)


def test_pieces_of_segments_are_found_by_their_log() -> None:
    ((log, pieces),) = unread_by_log(QUARANTINED).items()
    assert log == ("b", "t", 1)
    assert [(each.segment_from, each.position) for each in pieces] == [(7, 9)]
