"""Clusters of one lake, each read up to a moment of its own or to its end."""

from __future__ import annotations

import pyarrow as pa

from fencepost.replay.time_bounds import Bounds

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
    bounds = Bounds({"cut": 1_000, "whole": None, "unread": 1_000}, {("cut", "t", 0): 5})
    assert bounds.is_inside(ROWS, "place").to_pylist() == [True, False, False, True, True, False]
