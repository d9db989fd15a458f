"""Where logs ended for good: only what every replica, and the metadata log, agree on. And until when logs of
live brokers had not gone on.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from fencepost.replay.log_ends import FOREVER, NEVER, LogEnd, Noted, final_ends, high_watermarks
from fencepost.replay.logs import Batches, Log
from fencepost.replay.metadata import ClusterMetadata
from fencepost.replay.requests import LATEST_MS
from fencepost.tables import HIGH_WATERMARKS, LOG_ENDS

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


def test_what_a_broker_noted_is_sure_until_a_while_before() -> None:
    """A file that was copied without its time says more than it may. What a follower does not have yet is
    not below the high watermark.
    """
    at = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
    rows = [
        ("c", broker_id, TOPIC, None, partition, broker_id, each, at, "f", "run", at)
        for broker_id, partition, each in (
            (1, 0, at),
            (2, 1, at),
            (2, 1, at.replace(minute=1)),
            (2, 1, at.replace(hour=11)),
        )
    ]
    found = high_watermarks(HIGH_WATERMARKS.rows(rows), METADATA, TOPIC)
    ms = int(at.timestamp() * 1000)
    assert found == {
        ("c", 0): {1: Noted(1, 1, ms - 6_000 - LATEST_MS, ms, ms - 6_000)},
        ("c", 1): {2: Noted(2, 2, ms + 54_000, ms, ms + 54_000)},
    }


AT_END = (Noted(1, 10, 9_000, 5_100, 12_000),)


@pytest.mark.parametrize(
    ("end", "of_broker"),
    [
        (LogEnd(), NEVER),
        (LogEnd(final=10), FOREVER),
        (LogEnd(final=11), NEVER),
        (LogEnd(noted=(Noted(1, 10, 9_000, 5_100, 12_000),)), 9_000),
        (LogEnd(noted=(Noted(2, 10, 9_000, 5_100, 12_000),)), NEVER),  # another broker's clock and replica
        (LogEnd(noted=(Noted(1, 11, 9_000, 5_100, 12_000),)), NEVER),  # the log went on
        (
            LogEnd(noted=(Noted(1, 9, 9_000, 5_100, 12_000),)),
            NEVER,
        ),  # noted before the newest record was there
        (LogEnd(noted=(Noted(1, 10, 9_000, 8_900, 12_000),)), NEVER),  # files have the times of a copy
        (LogEnd(noted=(Noted(1, 10, 9_000, 1_000, 12_000),)), NEVER),  # another clock
    ],
)
def test_a_log_is_known_past_its_newest_record(end: LogEnd, of_broker: int) -> None:
    assert end.known_past(_log()).ms(1) == of_broker


@pytest.mark.parametrize(
    ("end", "noted_ms"),
    [
        (LogEnd(final=10), NEVER),
        (LogEnd(noted=AT_END), 9_000),  # a follower may not have a later record yet
        (LogEnd(final=10, noted=AT_END), 12_000),  # there is none
    ],
)
def test_a_broker_lived_when_it_noted_the_end(end: LogEnd, noted_ms: int) -> None:
    assert end.known_past(_log()).noted_ms == noted_ms


def _log() -> Log:
    offset, none = np.array([8, 9]), np.zeros(2, dtype=np.int64)
    return Log(Batches(offset, offset, none, none + 1, np.array([4_000, 5_000]), none, none, files=("log",)))


def test_nothing_is_known_past_a_log_without_records() -> None:
    none = np.zeros(0, dtype=np.int64)
    log = Log(Batches(none, none, none, none, none, none, none, files=()))
    assert LogEnd(final=0).known_past(log).ms(1) == NEVER
