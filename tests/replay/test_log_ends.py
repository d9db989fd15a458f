"""Where logs ended for good: only what every replica, and the metadata log, agree on."""

from __future__ import annotations

from typing import Any

import pytest

from fencepost.replay.log_ends import final_ends
from fencepost.replay.metadata import ClusterMetadata
from fencepost.tables import LOG_ENDS

TOPIC = "__transaction_state"
METADATA = {
    "c": ClusterMetadata(replicas={TOPIC: {0: (1, 2), 1: (2,)}}, broker_epochs={1: 10, 2: 20}),
}


def _ends(*rows: tuple[Any, ...]) -> dict[tuple[str, int], int]:
    return dict(final_ends(LOG_ENDS.rows([("c", *row, "f", "run", None) for row in rows]), METADATA, TOPIC))


def test_the_longest_replica_counts() -> None:
    assert _ends(
        (1, 10, TOPIC, 0, 7), (2, 20, TOPIC, 0, 9), (2, 20, TOPIC, 1, 4), (1, 10, "other", 0, 5)
    ) == {
        ("c", 0): 9,
        ("c", 1): 4,
    }


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([(1, 10, TOPIC, 0, 7)], id="a replica that was not captured"),
        pytest.param([(1, 10, TOPIC, 0, 7), (2, 19, TOPIC, 0, 9)], id="a broker that was started again"),
        pytest.param([(1, 10, TOPIC, 2, 7)], id="a partition that the metadata log does not have"),
    ],
)
def test_a_log_that_may_go_on_has_no_end(rows: list[tuple[Any, ...]]) -> None:
    assert _ends(*rows) == {}


def test_without_a_metadata_log_nothing_ends() -> None:
    rows = LOG_ENDS.rows([("c", 1, 10, TOPIC, 0, 7, "f", "run", None)])
    assert dict(final_ends(rows, {}, TOPIC)) == {}
