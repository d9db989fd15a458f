"""Which incarnation of a coordinators' topic decided a request, as far as times tell."""

from __future__ import annotations

import pytest

from fencepost.replay.coordinator_logs import UNDECIDED, CoordinatorLogs, CoordinatorTerm, Incarnation
from fencepost.replay.metadata import Moment

TOLERANCE_MS = 25
OLD, NEW = 0, 1


def _logs(controller: int | None, led_by: int | None = 1, partition: int = 0) -> CoordinatorLogs:
    """A log with records until 1000 is deleted at 1500; the next is created at 2000, its first record is of
    3000.
    """
    terms = [
        CoordinatorTerm(partition, 0, led_by, first_ms, last_ms, 9)
        for first_ms, last_ms in ((100, 1_000), (3_000, 4_000))
    ]
    old = Incarnation("old", 0, 1, Moment(50, controller), Moment(1_500, controller), is_gone=True)
    new = Incarnation("new", 1, 1, Moment(2_000, controller))
    incarnations = [
        Incarnation(each.topic_id, each.number, 1, each.created, each.removed, terms=(term,))
        for each, term in zip((old, new), terms, strict=True)
    ]
    return CoordinatorLogs(tuple(incarnations), TOLERANCE_MS)


@pytest.mark.parametrize(
    ("controller", "request_ms", "decided_by"),
    [
        (1, (900, 950), OLD),
        (1, (1_400, 1_450), OLD),
        (1, (1_900, 1_990), OLD),
        (1, (1_900, 2_010), UNDECIDED),
        (1, (2_040, 2_045), UNDECIDED),
        (1, (2_060, 2_070), NEW),
        (1, (3_500, 3_510), NEW),
        # the controller is another node: only what the broker itself dated counts
        (2, (900, 950), OLD),
        (2, (1_400, 1_450), UNDECIDED),
        (2, (2_500, 2_510), UNDECIDED),
        (2, (3_100, 3_110), NEW),
        (None, (1_400, 1_450), UNDECIDED),
    ],
)
def test_a_request_is_decided_by_the_log_that_existed(
    controller: int | None, request_ms: tuple[int, int], decided_by: int
) -> None:
    assert _logs(controller).deciding((0, 0), 1, *request_ms) == decided_by


def test_what_another_broker_dated_says_nothing() -> None:
    logs = _logs(2, led_by=3)
    assert logs.deciding((0, 0), 1, 900, 950) == UNDECIDED
    assert logs.deciding((0, 0), 1, 3_500, 3_510) == UNDECIDED


def test_a_term_without_a_leader_counts_only_for_its_own_partition() -> None:
    assert _logs(2, led_by=None).deciding((0, 0), 1, 900, 950) == OLD
    assert _logs(2, led_by=None, partition=1).deciding((0, 0), 1, 900, 950) == UNDECIDED


def test_times_that_contradict_each_other_say_nothing() -> None:
    """The broker's clock was set back: it wrote later records of the old log at later times than the first of
    the new one.
    """
    old, new = _logs(2).incarnations
    late = CoordinatorTerm(0, 0, 1, 100, 3_500, 9)
    logs = CoordinatorLogs((Incarnation("old", 0, 1, terms=(late,)), new), TOLERANCE_MS)
    assert old.removed is not None
    assert logs.deciding((0, 0), 1, 3_200, 3_210) == UNDECIDED
    assert logs.deciding((0, 0), 1, 2_800, 2_810) == OLD
