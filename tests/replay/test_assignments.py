"""Assignments of classic groups as they are read, whatever version they say."""

from __future__ import annotations

import zlib
from base64 import b64decode

import orjson
import pytest

from fencepost.pseudonyms.names import Pseudonyms
from fencepost.pseudonyms.values import assignment
from fencepost.replay.group_coordinator import faust
from fencepost.replay.group_coordinator.assignments import assigned_topics
from fencepost.replay.group_coordinator.faust import tasks
from fencepost.replay.group_coordinator.message_reader import Reader

FAUST = (
    "AAQAAAABAAZvcmRlcnMAAAAEAAAAAAAAAAEAAAACAAAAAwAAAIt4nIWOQQrDIBRE7/LXQmwLLrxKCcGoGMGo6Dc0iHev0lVK"
    "obuBN2+YCiJna/yuPQKvICTaQ+cRQ1I69fSk5Ebu5DE3AhmFV+t55XPrpCQHHDbEyKfp2DmjjAEBuQlvtAtmUTZjsmtBG/zQ"
    "v6q8jhX9Qp28cAuGaOV/58fJvvKRTQolXp7S1t56oVHE"
)
"""What faust-streaming 0.15.3 wrote for four partitions of a topic: version 4, and user data of its own."""

FAUST_WITH_TABLE = (
    "AAQAAAADACZmYXVzdC1leGFjdGx5X29uY2UtX19hc3NpZ25vci1fX2xlYWRlcgAAAAAAI2ZhdXN0LWV4YWN0bHlfb25jZS1jb3Vu"
    "dHMtY2hhbmdlbG9nAAAAAgAAAAAAAAABAANxaW4AAAABAAAAAAAAAL94nJ2QQQqDMBBF7zJrpbpxkasUCWmc2kCc2GRSFPHujbVI"
    "KRba7j7Dy7zJn0CFYFrqkBjEBEqzuWFY4lnFwDkOaWRH6UhjLuVKO5+iRdWgB3Gssz1Wu0gccn1R1KJ1bQKLRF4NPdKcQWBFzWn8"
    "TVZ8bSs3W1nPSRe9BQEX5l4cDrdOVEVVQQbbE9mYwN6cIhtHy01v6P6Vu+JFhwOjJ2Ulu97o/5Z/ruD1Y6ug9S72P3VZfNlk+dSV"
    "83wHhpbI+g=="
)
"""What faust-streaming 0.15.3 wrote for the second of two members: it owns partition 0 of topic and
changelog, and copies the other one's table from partition 1 of the changelog."""

PYKAFKA = "AAEAAAABAAZvcmRlcnMAAAAEAAAAAgAAAAMAAAAAAAAAAQ=="
"""What pykafka 2.8 wrote for four partitions: version 1, without the user data that all versions have."""


def test_a_newer_version_is_read_as_the_newest_that_is_known() -> None:
    message = b64decode(FAUST)
    assert message[:2] == b"\x00\x04"
    assert assigned_topics([message]) == [[("orders", [0, 1, 2, 3])]]


def test_what_a_member_of_faust_copies_it_does_not_own() -> None:
    (topics,) = assigned_topics([b64decode(FAUST_WITH_TABLE)])
    owned = {topic: partitions for topic, partitions in topics or () if partitions}
    assert owned == {"qin": [0], "faust-exactly_once-counts-changelog": [0]}


def test_pseudonyms_keep_which_partitions_a_member_of_faust_copies() -> None:
    message = b64decode(FAUST_WITH_TABLE)
    kept = assignment(Pseudonyms("a key of thirty-two bytes or more"), message)
    assert assigned_topics([kept]) == assigned_topics([message])
    assert tasks(user_data_of(kept)) == tasks(user_data_of(message))
    assert set(orjson.loads(zlib.decompress(user_data_of(kept)))) == {"assignment"}


def user_data_of(message: bytes) -> bytes:
    reader = Reader(message, 2)
    reader.partitions()
    return reader.data() or b""


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[]", b'{"assignment": {"actives": {}, "standbys": {"orders": 1}}}']
)
def test_user_data_of_others_hides_no_partition(text: bytes) -> None:
    topics = [("orders", [0, 1])]
    assert faust.without_copies(topics, zlib.compress(text)) == topics
    assert faust.without_copies(topics, text) == topics


def test_missing_user_data_hides_no_partition() -> None:
    assert assigned_topics([b64decode(PYKAFKA)]) == [[("orders", [2, 3, 0, 1])]]


def test_what_is_no_assignment_is_not_read() -> None:
    assert assigned_topics([b64decode(FAUST)[:20], b64decode(PYKAFKA)[:-1], b"\x00"]) == [None] * 3
