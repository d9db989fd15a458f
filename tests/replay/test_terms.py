"""In which terms of a coordinator's log a broker may have decided a request."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import pytest

from fencepost.replay.log_ends import KnownPast
from fencepost.replay.logs import Batches, Log
from fencepost.replay.requests import LATEST_MS
from fencepost.replay.terms import Terms, answered_leaders

# base offset, leader epoch, time
WHOLE = [(0, 0, 100), (1, 0, 200), (2, 1, 300), (3, 1, 400), (4, 2, 500), (5, 2, 600)]
LEADERS = {0: 1, 1: 2, 2: 1}


def terms_of(
    batches: list[tuple[int, int, int]],
    *,
    begun: bool = True,
    ended: bool = True,
    until: Mapping[int, int] = MappingProxyType({}),
) -> Terms:
    offset, epoch, ms = (np.array(column, dtype=np.int64) for column in zip(*batches, strict=True))
    nothing = np.zeros(len(batches), dtype=np.int64)
    log = Log(Batches(offset, offset, epoch, nothing + 1, ms, nothing, nothing, files=("log",)))
    return Terms(log.terms(LEADERS), log.stretches, begun=begun, past=KnownPast(ended, until))


@pytest.mark.parametrize(
    ("broker_id", "start_ms", "end_ms", "expected"),
    [
        (1, 110, 120, [0]),
        (1, 250, 260, [0, 2]),  # between its terms: still in one, or already in the next
        (1, 550, 560, [2]),
        (2, 0, 900, [1]),
        (3, 110, 120, []),
    ],
)
def test_a_request_was_decided_in_a_term_of_the_broker_that_answered(
    broker_id: int, start_ms: int, end_ms: int, expected: list[int]
) -> None:
    terms = terms_of(WHOLE)
    assert [each.leader_epoch for each in terms.of(broker_id, start_ms, end_ms)] == expected
    assert [each.leader_epoch for each in terms.led_by(1)] == [0, 2]


def test_beside_a_hole_nothing_is_concluded() -> None:
    terms = terms_of([each for each in WHOLE if each[0] != 1])
    assert [each.leader_epoch for each in terms.of(1, 550, 560)] == [2]
    assert terms.of(1, 150, 160) == []


def test_behind_the_newest_record_nothing_is_concluded_unless_the_log_had_ended() -> None:
    terms = terms_of(WHOLE, ended=False)
    assert [each.leader_epoch for each in terms.of(1, 550, 590)] == [2]
    assert terms.of(1, 550, 610) == []
    # another broker may lead again behind the newest record, unless that is of much later
    assert terms.of(2, 450, 460) == []
    assert [each.leader_epoch for each in terms.around(2, 450, 460)] == [1]
    later = terms_of([*WHOLE, (6, 2, 461 + LATEST_MS)], ended=False)
    assert [each.leader_epoch for each in later.of(2, 450, 460)] == [1]
    assert later.of(2, 450, 461) == []
    assert terms.only(1, np.array([550, 550]), np.array([590, 610])).tolist() == [2, -1]


def test_behind_the_newest_record_a_broker_that_noted_the_end_had_written_nothing() -> None:
    terms = terms_of(WHOLE, ended=False, until={1: 700, 2: 470})
    assert [each.leader_epoch for each in terms.of(1, 550, 690)] == [2]
    assert terms.of(1, 550, 700) == []
    # even if it does not lead any more
    assert [each.leader_epoch for each in terms.of(2, 450, 460)] == [1]
    assert terms.of(2, 450, 470) == []
    # what is missing inside the log is missing all the same
    torn = terms_of([each for each in WHOLE if each[0] != 1], ended=False, until={1: 700})
    assert torn.of(1, 150, 160) == []


def test_before_the_first_record_nothing_is_concluded_if_the_topic_may_have_been_there_before() -> None:
    assert [each.leader_epoch for each in terms_of(WHOLE).of(1, 50, 60)] == [0]
    assert terms_of(WHOLE, begun=False).of(1, 50, 60) == []
    assert [each.leader_epoch for each in terms_of(WHOLE, begun=False).of(1, 110, 120)] == [0]


def test_who_answered_led_unless_two_did() -> None:
    assert answered_leaders([(0, 1), (1, 2), (1, 3), (0, 1)]) == {0: 1}
