"""Whom a new controller fenced: lines and terms written by hand, as real clusters write them."""

from __future__ import annotations

from typing import Any

import pytest

from fencepost.protocols.leader_epoch.apis import CONTROLLER_APIS, QUORUM_APIS
from fencepost.protocols.leader_epoch.capture.lines import REQUESTS
from fencepost.protocols.leader_epoch.clocks import Window
from fencepost.protocols.leader_epoch.cluster import ClusterHistory
from fencepost.protocols.leader_epoch.cluster_replay import replay
from fencepost.protocols.leader_epoch.controller_fencings import (
    Candidate,
    Cause,
    after_controller,
    deposed_controllers,
    followed,
    is_not_controller,
    refused_candidates,
)
from fencepost.replay.metadata_log import ControllerTerm, Hole, MetadataLog
from fencepost.replay.requests import RequestLine

VOTE, BEGIN, END = QUORUM_APIS
TERMS = (
    ControllerTerm(0, 1_000, 1_900, 1, 1),
    ControllerTerm(40, 2_500, 2_900, 3, 2),
    ControllerTerm(60, 4_000, 4_900, 4, 1),
)


def _history(*holes: int) -> ClusterHistory:
    pieces = tuple(Hole(at, None) for at in holes)
    return replay(MetadataLog(pieces, TERMS, 100, 5_000, from_beginning=True))


def _line(api_key: int, sent: dict[str, Any], told: dict[str, Any]) -> RequestLine:
    def of(partition: dict[str, Any]) -> dict[str, Any]:
        topic = {"topicName": "__cluster_metadata", "partitions": [{"partitionIndex": 0, **partition}]}
        return {"topics": [topic]}

    answer = {"errorCode": 0, **of(told)}
    return RequestLine("id", 1, api_key, 1, 1, "raft-client-2", None, 0, 0, of(sent), answer, "file", 0)


@pytest.mark.parametrize(
    ("api_key", "sent"),
    [
        (VOTE, {"candidateEpoch": 2, "candidateId": 7}),
        (VOTE, {"replicaEpoch": 2, "replicaId": 7, "preVote": True}),
        (BEGIN, {"leaderId": 7, "leaderEpoch": 2}),
        (END, {"leaderId": 7, "leaderEpoch": 2, "preferredCandidates": []}),
    ],
)
def test_a_node_of_an_epoch_of_before_is_told(api_key: int, sent: dict[str, Any]) -> None:
    told = {"errorCode": 74, "leaderId": 1, "leaderEpoch": 3}
    assert list(refused_candidates(_line(api_key, sent, told))) == [Candidate("FENCED_LEADER_EPOCH", 7, 2, 3)]


def test_what_no_broker_writes_is_no_refusal() -> None:
    line = _line(VOTE, {"candidateEpoch": "2", "candidateId": 7}, {"errorCode": 74})
    assert list(refused_candidates(line)) == []


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"errorCode": 41, "results": []}, True),
        ({"topics": [{"name": "a", "errorCode": 0}, {"name": "b", "errorCode": 41}]}, True),
        ({"errorCode": 0, "nested": {"errorCode": [41]}}, False),
        ({"errorCode": 7, "throttleTimeMs": 41}, False),
        (None, False),
    ],
)
def test_another_controller_is_told_anywhere_in_an_answer(answer: Any, expected: bool) -> None:
    assert is_not_controller(answer) is expected


def test_lines_of_controllers_are_kept_where_they_refuse() -> None:
    for name in CONTROLLER_APIS.values():
        assert REQUESTS[name](b'"response":{"throttleTimeMs":0,"errorCode":41,"results":[]}')
        assert not REQUESTS[name](b'"response":{"throttleTimeMs":0,"errorCode":410}')
        assert not REQUESTS[name](b'"response":{"throttleTimeMs":0,"errorCode":0}')
    for name in QUORUM_APIS.values():
        assert REQUESTS[name](b'"errorCode":74') and not REQUESTS[name](b'"errorCode":0')


def test_a_controller_that_another_followed_lost_the_metadata_log() -> None:
    rows = deposed_controllers("c", _history()).to_pylist()
    told = [(r["victim"], r["victim_epoch"], r["current_epoch"], r["caused_position"]) for r in rows]
    assert told == [("controller 1", 1, 3, 40), ("controller 2", 3, 4, 60)]
    # the first one is active again later, the second never
    assert [None if r["ended_at"] is None else r["ended_at"].timestamp() for r in rows] == [4.0, None]


@pytest.mark.parametrize(
    ("node", "window", "expected"),
    [
        # elected, but not yet active
        (1, Window(5, 20), None),
        (1, Window(5, 45), Cause("controller_change", 3, 40, 2_500)),
        (1, Window(45, 50), Cause("controller_change", 3, 40, 2_500)),
        # by then it may be the active one again, which it is not when it refuses
        (1, Window(45, 70), Cause("controller_change", 3, 40, 2_500)),
        (2, Window(45, 50), None),
        (2, Window(70, 80), Cause("controller_change", 4, 60, 4_000)),
        # it may not have been elected yet
        (2, Window(30, 70), None),
        (3, Window(70, 80), None),
    ],
)
def test_a_request_that_met_a_controller_of_before(node: int, window: Window, expected: Cause | None) -> None:
    assert after_controller(_history(), window, node) == expected


def test_behind_a_hole_the_current_epoch_is_not_known() -> None:
    assert after_controller(_history(65), Window(70, 80), 2) == Cause("controller_change", None, 60, 4_000)


def test_an_epoch_that_nobody_won_has_no_cause() -> None:
    assert followed(_history(), 1, 3) == Cause("controller_change", 3, 40, 2_500)
    assert followed(_history(), 1, 2) == Cause(None, 2)
    assert followed(_history(), 3, 3) == Cause(None, 3)
