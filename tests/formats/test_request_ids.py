"""Correlation ids of request lines: which are noted, of which connection, and how they are stored."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.formats.request_ids import RequestIds, ranges_of, read_ranges, text_of
from fencepost.formats.request_log import parse_lines

CONNECTION = "127.0.0.1:9092-127.0.0.1:41-0-1"


def line(correlation_id: int, api: str = "HEARTBEAT", **changed: Any) -> bytes:
    body = {
        "isForwarded": False,
        "requestHeader": {
            "requestApiKey": 12, "requestApiVersion": 4, "correlationId": correlation_id,
            "clientId": changed.pop("client", "c"), "requestApiKeyName": api,
        },
        "request": changed.pop("request", {}),
        "response": {},
        "connection": CONNECTION,
        "totalTimeMs": 1.25,
        "clientInformation": {"softwareName": "apache-kafka-java", "softwareVersion": "4.3.1"},
        **changed,
    }  # fmt: skip
    text = json.dumps(body, separators=(",", ":"))
    return f"[2026-11-20 22:02:40,{correlation_id:03}] DEBUG Completed request:{text}".encode() + (
        b" (kafka.request.logger)\n"
    )


def noted(*lines: bytes, **wanted: Any) -> list[dict[str, Any]]:
    ids = RequestIds()
    parse_lines(b"".join(lines), wanted, ids=ids)
    rows = list(ids.take())
    assert list(ids.take()) == []
    return rows


def test_ids_are_noted_of_every_line_whether_it_is_kept_or_not() -> None:
    rows = noted(line(0, "METADATA"), line(1), line(2), line(4), METADATA=(lambda _: True,))
    assert [(row["client_id"], row["connection"], row["correlation_ids"]) for row in rows] == [
        ("c", CONNECTION, "0..2 4")
    ]
    assert rows[0]["software_name"] == "apache-kafka-java"
    assert rows[0]["last_logged_at_ms"] - rows[0]["first_logged_at_ms"] == 4


@pytest.mark.parametrize("wanted", [{}, {"HEARTBEAT": (lambda _: True,)}])
@pytest.mark.parametrize(
    "lost",
    [
        line(7)[:-30] + b"\n",  # its end is missing
        line(7)[40:],  # its beginning is
        line(7, isForwarded=True),  # it was the line of another broker
        line(7, "FETCH", request={"replicaState": {"replicaId": 2, "replicaEpoch": 1}}),
        line(7, connection=None),
        line(7).replace(b'"c"', b'"\\ud800"'),  # half of a character
        line(7).replace(b'"c"', b'"\xff"'),
    ],
)
def test_what_cannot_be_read_or_is_of_no_client_is_not_noted(lost: bytes, wanted: Any) -> None:
    (row,) = noted(line(6), lost, line(8), **wanted)
    assert row["correlation_ids"] == "6 8"


def test_names_cannot_pass_for_what_a_broker_wrote() -> None:
    hostile = '","correlationId":99,"clientId":"x","requestApiKeyName","connection":"1:1-1:1-0-1"'
    (row,) = noted(line(3, client=hostile, request={"topic": hostile}, principal=hostile))
    assert (row["client_id"], row["connection"], row["correlation_ids"]) == (hostile, CONNECTION, "3")


def test_a_connection_is_named_once_it_has_introduced_itself() -> None:
    first = line(0, clientInformation={"softwareName": "unknown", "softwareVersion": "unknown"})
    assert noted(first)[0]["software_name"] is None
    assert noted(first, line(1))[0]["software_name"] == "apache-kafka-java"
    body = {"clientSoftwareName": "apache-kafka-java", "clientSoftwareVersion": "4.3.1"}
    unknown = {"softwareName": "unknown", "softwareVersion": "unknown"}
    assert noted(line(0, "API_VERSIONS", request=body, clientInformation=unknown))[0]["software_name"] == (
        "apache-kafka-java"
    )


def test_the_same_lines_are_the_same_row() -> None:
    assert noted(line(1), line(2)) == noted(line(2), line(1))
    assert noted(line(1))[0]["ids_digest"] != noted(line(2))[0]["ids_digest"]


def test_lines_after_a_time_without_any_are_a_row_of_their_own() -> None:
    late = line(9).replace(b"22:02:40", b"22:02:50")
    assert [row["correlation_ids"] for row in noted(line(8), late)] == ["8", "9"]
    between = line(7, "FETCH", request={"replicaState": {"replicaId": 2}}).replace(b"22:02:40", b"22:02:45")
    assert [row["correlation_ids"] for row in noted(line(8), between, late)] == ["8..9"]


@given(st.lists(st.integers(-(2**31), 2**31 - 1) | st.integers(-5, 40)))
def test_what_is_stored_is_what_was_noted(ids: list[int]) -> None:
    ranges = read_ranges(text_of(ids))
    assert ranges == ranges_of(ids)
    assert sum(last - first + 1 for first, last in ranges) == len(set(ids))
    assert all(any(first <= each <= last for first, last in ranges) for each in ids)
