"""Until when a static member is kept that shows no further sign of life: as far as lines and records tell."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fencepost.protocols.offset_commit.member_lines import HeartbeatAnswer, MemberLine
from fencepost.protocols.offset_commit.members import Step
from fencepost.protocols.offset_commit.signs_of_life import SignsOfLife
from fencepost.replay.dynamic_configs import BROKER, GROUP
from fencepost.replay.group_coordinator.requests import HEARTBEAT, LEAVE_GROUP
from fencepost.replay.histories import Point
from fencepost.replay.metadata import ClusterMetadata
from fencepost.replay.metadata_log import Commit, Hole, MetadataLog
from fencepost.replay.metadata_records import CONFIG, MetadataRecord

HOUR = 3_600_000
OF_GROUP, OF_BROKER = "consumer.session.timeout.ms", "group.consumer.session.timeout.ms"
STATIC = Step(0, Point(0, 0), 8, "c", "i", "consumer", "STABLE", 1, 0, (), known=True, based=False)
BEAT = HeartbeatAnswer(7, "x", "consumer", "g", "m", False, False, 1, 1, None, HOUR - 5, HOUR, "f", 0)
LINE = MemberLine(
    7,
    "x",
    1,
    HEARTBEAT,
    "g",
    "m",
    "c",
    "i",
    3,
    "NONE",
    True,
    "consumer",
    None,
    (),
    None,
    HOUR - 5,
    HOUR,
    "f",
    0,
)


def _metadata(*told: tuple[int, int, str, str, str | None], hole: bool = False) -> ClusterMetadata:
    """Configurations by time, kind, resource and name; the log ends at two hours."""
    records = [
        MetadataRecord(
            ms, ms, CONFIG, {"resource_type": kind, "resource_name": resource, "name": name, "value": value}
        )
        for ms, kind, resource, name, value in (*told, (2 * HOUR, 2, "t", "retention.ms", "1"))
    ]
    commits = [Commit(at, each.timestamp_ms or 0, (each,)) for at, each in enumerate(records)]
    pieces = (Hole(0, 0), *commits) if hole else tuple(commits)
    return ClusterMetadata.of(MetadataLog(pieces, (), len(records), 2 * HOUR, not hole))


GROUPS = (0, GROUP, "g", OF_GROUP, "6000")
BROKERS = (0, BROKER, "", OF_BROKER, "30000")


@pytest.mark.parametrize(
    ("metadata", "timeout_ms"),
    [
        # server.properties decide, which no log has
        (_metadata(), None),
        (_metadata(GROUPS), 6_000),
        (_metadata(BROKERS), 30_000),
        (_metadata(BROKERS, GROUPS), 6_000),
        (_metadata((0, GROUP, "other", OF_GROUP, "6000"), BROKERS), 30_000),
        (_metadata(GROUPS, (HOUR // 2, GROUP, "g", OF_GROUP, None), BROKERS), 30_000),
        # the heartbeat met one of both
        (_metadata(GROUPS, (HOUR, GROUP, "g", OF_GROUP, "9000")), 6_000),
        (_metadata(GROUPS, (HOUR + HOUR // 2, GROUP, "g", OF_GROUP, "9000")), 6_000),
        # the group may have a value of its own that nobody saw
        (_metadata(BROKERS, hole=True), None),
        (_metadata(GROUPS, hole=True), 6_000),
        (ClusterMetadata(), None),
    ],
)
def test_the_session_timeout_of_a_consumer_is_that_of_its_group(
    metadata: ClusterMetadata, timeout_ms: int | None
) -> None:
    assert SignsOfLife([BEAT], [], metadata).of_static("m", STATIC) == (HOUR, timeout_ms)


def test_only_what_the_coordinator_answered_is_a_sign_of_life() -> None:
    later = replace(BEAT, responded_ms=HOUR + 9)
    refused, away = replace(later, member_epoch=None), replace(later, member_epoch=None, leaves=True)
    beats = [replace(BEAT, responded_ms=HOUR - 9), BEAT, refused, away, replace(later, member_id="n")]
    signs = SignsOfLife(beats, [], _metadata(GROUPS))
    assert signs.of_static("m", STATIC) == (HOUR, 6_000)
    # of others nobody asks
    assert signs.of_static("m", STATIC._replace(instance_id=None)) == (None, None)
    assert SignsOfLife([], [], _metadata(GROUPS)).of_static("m", STATIC) == (None, None)


def test_the_record_of_a_classic_member_has_its_session_timeout() -> None:
    classic = STATIC._replace(protocol="classic", session_timeout_ms=12_000)
    left = replace(LINE, api_key=LEAVE_GROUP, responded_ms=HOUR + 9)
    refused = replace(LINE, error="UNKNOWN_MEMBER_ID", responded_ms=HOUR + 9)
    signs = SignsOfLife([], [LINE, left, refused], _metadata(GROUPS, BROKERS))
    assert signs.of_static("m", classic) == (HOUR, 12_000)
    assert signs.of_static("m", classic._replace(session_timeout_ms=None)) == (HOUR, None)
