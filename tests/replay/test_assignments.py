"""Assignments of classic groups as they are read, whatever version they say."""

from __future__ import annotations

from base64 import b64decode

from fencepost.replay.group_coordinator.assignments import assigned_topics

FAUST = (
    "AAQAAAABAAZvcmRlcnMAAAAEAAAAAAAAAAEAAAACAAAAAwAAAIt4nIWOQQrDIBRE7/LXQmwLLrxKCcGoGMGo6Dc0iHev0lVK"
    "obuBN2+YCiJna/yuPQKvICTaQ+cRQ1I69fSk5Ebu5DE3AhmFV+t55XPrpCQHHDbEyKfp2DmjjAEBuQlvtAtmUTZjsmtBG/zQ"
    "v6q8jhX9Qp28cAuGaOV/58fJvvKRTQolXp7S1t56oVHE"
)
"""What faust-streaming 0.15.3 wrote for four partitions of a topic: version 4, and user data of its own."""

PYKAFKA = "AAEAAAABAAZvcmRlcnMAAAAEAAAAAgAAAAMAAAAAAAAAAQ=="
"""What pykafka 2.8 wrote for four partitions: version 1, without the user data that all versions have."""


def test_a_newer_version_is_read_as_the_newest_that_is_known() -> None:
    message = b64decode(FAUST)
    assert message[:2] == b"\x00\x04"
    assert assigned_topics([message]) == [[("orders", [0, 1, 2, 3])]]


def test_missing_user_data_hides_no_partition() -> None:
    assert assigned_topics([b64decode(PYKAFKA)]) == [[("orders", [2, 3, 0, 1])]]


def test_what_is_no_assignment_is_not_read() -> None:
    assert assigned_topics([b64decode(FAUST)[:20], b64decode(PYKAFKA)[:-1], b"\x00"]) == [None] * 3
