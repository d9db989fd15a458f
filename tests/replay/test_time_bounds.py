"""Clusters of one lake, each read up to a moment of its own or to its end."""

from __future__ import annotations

import pyarrow as pa

from fencepost.conditions import Within
from fencepost.replay import time_bounds
from fencepost.replay.time_bounds import Bounds
from fencepost.tables import REQUESTS

ROWS = pa.table(
    {
        "cluster": ["cut", "cut", "cut", "whole", "whole", "unread"],
        "topic": ["t"] * 6,
        "partition": pa.array([0] * 6, pa.int32()),
        "place": pa.array([4, 5, None, 5, None, 0], pa.int64()),
    }
)


def test_what_tells_of_no_place_is_read_where_the_cluster_is_not_cut() -> None:
    """An empty index of aborted transactions has no place: it was lost where another cluster was cut."""
    bounds = Bounds({"cut": 1_000, "whole": None, "unread": 1_000}, {("cut", "t", "id", 0): 5})
    assert bounds.is_inside(ROWS, "place").to_pylist() == [True, False, False, True, True, False]


def test_logs_of_two_incarnations_end_each_at_its_own_offset() -> None:
    """The old log reached offset 9 before the moment; what the new one has there was written later."""
    rows = pa.table(
        {
            "cluster": ["c"] * 4,
            "topic": ["t"] * 4,
            "topic_id": ["old", "new", "new", None],
            "partition": pa.array([0] * 4, pa.int32()),
            "place": pa.array([8, 1, 8, 8], pa.int64()),
        }
    )
    bounds = Bounds({"c": 1_000}, {("c", "t", "old", 0): 9, ("c", "t", "new", 0): 2})
    assert bounds.is_inside(rows, "place").to_pylist() == [True, True, False, True]


def test_a_bound_that_was_asked_for_stays() -> None:
    """The moment of a cluster takes the place of no earlier end, and of no begin."""
    asked = [{"logged_at_ms": Within(least=1, below=5)}, {"logged_at_ms": Within(least=2)}]
    assert time_bounds.with_bounds(REQUESTS, {"c": 9, "all": None}, asked) == [
        {"cluster": "c", "logged_at_ms": Within(least=1, below=5)},
        {"cluster": "all", "logged_at_ms": Within(least=1, below=5)},
        {"cluster": "c", "logged_at_ms": Within(least=2, below=9)},
        {"cluster": "all", "logged_at_ms": Within(least=2)},
    ]
