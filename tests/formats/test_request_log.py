"""Request log lines: what is taken, what is skipped, what is set aside."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.formats import request_log
from fencepost.formats.errors import error_name, error_names
from fencepost.formats.lines import Parsed
from fencepost.formats.request_ids import RequestIds
from fencepost.formats.request_log import REQUEST_SCHEMA
from fencepost.protocols import requests
from fencepost.tables import REQUESTS, TOPIC_LISTS

TAIL = b" (kafka.request.logger)"


def parse_lines(chunk: bytes, *position: int, **options: Any) -> Parsed:
    """What any protocol wants of these lines."""
    return request_log.parse_lines(chunk, requests(), *position, **options)


def line(
    api: str = "OFFSET_COMMIT",
    stamp: str = "2026-11-20 22:02:40,024",
    client: str = "c",
    separators: tuple[str, str] = (",", ":"),
    **changed: Any,
) -> bytes:
    body = {
        "isForwarded": False,
        "requestHeader": {
            "requestApiKey": 8,
            "requestApiVersion": 10,
            "correlationId": 7,
            "clientId": client,
            "requestApiKeyName": api,
        },
        "request": {"groupId": "g", "generationIdOrMemberEpoch": 2},
        "response": {"topics": []},
        "connection": "127.0.0.1:9092-127.0.0.1:41-0-1",
        "totalTimeMs": 1.25,
        "principal": "User:ANONYMOUS",
        "listener": "PLAINTEXT",
        "clientInformation": {"softwareName": "apache-kafka-java", "softwareVersion": "4.3.1"},
        **changed,
    }
    text = json.dumps(body, separators=separators, ensure_ascii=False)
    return f"[{stamp}] DEBUG Completed request:{text}".encode() + TAIL


def test_a_line_becomes_a_row_with_request_and_response_as_logged() -> None:
    raw = line()
    parsed = parse_lines(raw + b"\n", 100)
    assert (parsed.faults, parsed.skipped, parsed.consumed_to) == ((), 0, 100 + len(raw) + 1)
    row = parsed.rows.to_pylist()[0]
    assert row == {
        "position": 100,
        "logged_at_ms": 1795212160024,
        "total_time_ms": 1.25,
        "api_key": 8,
        "api_name": "OFFSET_COMMIT",
        "api_version": 10,
        "correlation_id": 7,
        "client_id": "c",
        "connection": "127.0.0.1:9092-127.0.0.1:41-0-1",
        "principal": "User:ANONYMOUS",
        "listener": "PLAINTEXT",
        "software_name": "apache-kafka-java",
        "software_version": "4.3.1",
        "request": '{"groupId":"g","generationIdOrMemberEpoch":2}',
        "response": '{"topics":[]}',
        "line_digest": hashlib.sha256(raw).hexdigest(),
        "topics": None,
        "topic_digests": None,
        "topics_digest": None,
    }


def test_a_client_that_does_not_name_its_software_has_none() -> None:
    old = line(clientInformation={"softwareName": "unknown", "softwareVersion": "unknown"})
    (row,) = parse_lines(old + b"\n").rows.to_pylist()
    assert (row["software_name"], row["software_version"]) == (None, None)


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"client": '","request":{"a":{}},"response":{},"connection":"x'},
        {"request": {"a": {"b": 1, "request": {}, "response": {"c": "}"}, "connection": "y"}}},
        {"response": {"a": [{"b": 1, "response": {}, "connection": "y"}]}},
        {"response": None},
        {"tail": {"a": 1, "response": {}}},
        {"tail": {"connection": "z", "request": {}}},
        {"request": {"a": "\u00e9\\ud83d\\ude00"}},
    ],
)
def test_members_are_told_whatever_their_order(changed: dict[str, Any]) -> None:
    as_written = line(**changed)
    start = as_written.index(b"{")
    body = json.loads(as_written[start : as_written.rindex(b"}") + 1])
    turned = json.dumps(dict(reversed(body.items())), separators=(",", ":"), ensure_ascii=False)
    ordered, reverse = (
        parse_lines(each + b"\n") for each in (as_written, as_written[:start] + turned.encode() + TAIL)
    )
    (one,), (other,) = ordered.rows.to_pylist(), reverse.rows.to_pylist()
    assert {**one, "line_digest": ""} == {**other, "line_digest": ""}
    assert json.loads(one["request"]) == body["request"]
    assert one["connection"] == body["connection"]


def told(response: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
    """A response as a row of it has it: topics are told apart, if it is one that tells of them."""
    if row["topics"] is None:
        assert row["api_name"] not in ("METADATA", "DESCRIBE_TOPIC_PARTITIONS")
        return response
    assert [json.loads(topic) for topic in row["topics"]] == response["topics"]
    digests = [hashlib.sha256(topic.encode()).hexdigest() for topic in row["topics"]]
    assert row["topic_digests"] == digests
    return {**response, "topics": hashlib.sha256("".join(digests).encode()).hexdigest()}


def test_the_columns_are_the_lakes() -> None:
    told = {"topics", *TOPIC_LISTS.columns} - {"cluster", "broker_id", "file", "position"}
    of_file = {"cluster", "broker_id", "file", "file_begins"}
    assert set(REQUEST_SCHEMA.names) - told == REQUESTS.columns.keys() - of_file


def test_every_line_of_every_capture_is_taken_or_skipped(captures: Path) -> None:
    files = sorted(captures.glob("*/*/kafka-request.log"))
    assert files
    for file in files:
        data = file.read_bytes()
        parsed = parse_lines(data)
        assert parsed.faults == ()
        assert parsed.consumed_to == len(data)
        assert parsed.rows.num_rows + parsed.skipped == data.count(b"\n")
        for row in parsed.rows.to_pylist():
            logged = data[row["position"] :].partition(b"\n")[0]
            body = json.loads(logged.partition(b"Completed request:")[2].removesuffix(TAIL))
            assert json.loads(row["request"]) == body["request"]
            assert json.loads(row["response"]) == told(body["response"], row)
            assert row["request"].encode() in logged
            assert row["correlation_id"] == body["requestHeader"]["correlationId"]


@pytest.mark.parametrize(
    "skipped",
    [
        line("FETCH"),
        line("CONTROLLER_REGISTRATION"),
        b"[2026-11-20 22:02:40,024] INFO starting (kafka.server.KafkaServer)",
        b"[2026-11-20 22:02:40,024] TRACE Processor 1 received request: x (kafka.network.RequestChannel$)",
        b"",
        # what other loggers of the file write in several lines
        b"\tLog cleaner thread 0 cleaned log __consumer_offsets-0 (dirty section = [0, 10359])",
        b"\t0.5 MB of log processed in 0.2 seconds (3.1 MB/sec).",
        b" (org.apache.kafka.storage.internals.log.LogCleaner$CleanerThread)",
        b"java.io.IOException: Connection to 2 was disconnected before the response was read",
        b"\tat org.apache.kafka.clients.NetworkClientUtils.sendAndReceive(NetworkClientUtils.java:99)",
        b"\t... 3 more",
        b"\tssl.protocol = TLSv1.3",
    ],
)
def test_what_carries_no_epoch_is_counted_and_skipped(skipped: bytes) -> None:
    parsed = parse_lines(skipped + b"\n" + line() + b"\r\n")
    assert (parsed.skipped, parsed.rows.num_rows, parsed.faults) == (1, 1, ())


@pytest.mark.parametrize(
    "damaged",
    [
        line()[:60],
        line()[:-60],
        line()[80:],
        line()[-60:],
        line()[-8:],
        line()[80:-60],
        b"\0" * 40,
        line().replace(b'"correlationId":7', b'"correlationId":"seven"'),
        line().replace(b'"correlationId":7', b'"correlationId":99999999999'),
        line().replace(b'"totalTimeMs":1.25', b'"totalTimeMs":null'),
        line().replace(b'"request":', b'"requested":'),
        line().replace(b"[2026-11-20", b"[2026-13-40"),
        line(client="\u00ff").replace("\u00ff".encode(), b"\xff"),
        line()
        .replace(b'"requestHeader":{', b'"requestHeader":[{')
        .replace(b'"},"request"', b'"}],"request"'),
        line().replace(TAIL, b" {}" + TAIL),
        line(request="x").replace(b'"x"', b"[" * 100_000),
        # half of a surrogate pair is no text: no broker writes it, and no table takes it
        line(client="HALF").replace(b"HALF", rb"\ud800x"),
        line(request={"groupId": "HALF"}).replace(b"HALF", rb"x\uDFFF"),
        line(api="HALF").replace(b'"HALF"', rb'"PRODUCE","requestApiKeyName":"\udc00"'),
        line(totalTimeMs=float("nan")),
        line(totalTimeMs=float("inf")),
        line(totalTimeMs=1e300),
        line(totalTimeMs=-1),
    ],
)
def test_a_damaged_line_is_set_aside_and_the_rest_is_read(damaged: bytes) -> None:
    parsed = parse_lines(damaged + b"\n" + line() + b"\n", 1000)
    assert parsed.rows["position"].to_pylist() == [1000 + len(damaged) + 1]
    assert [(f.position, f.length, f.reason) for f in parsed.faults] == [(1000, len(damaged), "bad_line")]
    assert parsed.faults[0].detail


def test_text_of_a_broker_before_2_8_is_called_so() -> None:
    text = b"RequestHeader(apiKey=OFFSET_COMMIT, apiVersion=8, clientId=c, correlationId=7) -- {group_id=g}"
    before_2_8 = b"[2020-05-01 10:00:00,123] DEBUG Completed request:" + text + TAIL
    (fault,) = parse_lines(before_2_8 + b"\n").faults
    assert "before 2.8" in fault.detail


@pytest.mark.parametrize(
    ("response", "kept"),
    [
        ({"topics": []}, 0),
        ({"brokers": [{"host": '"topics":[1]'}], "topics": [{"name": "a"}, {"name": 'b","topics":['}]}, 2),
        ({"topics": [[{"topics": [3]}], 1, None, "x"], "errorCode": 0}, 4),
        ({"topics": None}, None),
        ({"topics": {"name": "a"}}, None),
        ({"errorCode": 35}, None),
        (["topics"], None),
        (None, None),
    ],
)
def test_topics_are_told_apart_wherever_they_stand(response: Any, kept: Any) -> None:
    for raw in (
        line("METADATA", response=response),
        line("METADATA", response=response, separators=(", ", ": ")),
    ):
        parsed = parse_lines(raw + b"\n")
        assert parsed.faults == ()
        row = parsed.rows.to_pylist()[0]
        if kept is None:
            assert (json.loads(row["response"]), row["topics"]) == (response, None)
        else:
            assert json.loads(row["response"]) == told(response, row)
            assert len(row["topics"]) == kept


REFUSED = {"responses": [{"partitions": [{"errorCode": 74}]}]}
NOT_REFUSED = {"responses": [{"partitions": [{"errorCode": 0}]}]}
NOTHING_NEW: dict[str, Any] = {"responses": []}
DIVERGING = {
    "responses": [{"partitions": [{"errorCode": 0, "divergingEpoch": {"epoch": 1, "endOffset": 9}}]}]
}
LISTED = {"topics": [{"topic": "t", "partitions": [{"fetchOffset": 7}]}]}
OF_BROKER = {"replicaState": {"replicaId": 2}, **LISTED}
OF_OLD_BROKER = {"replicaId": 2, **LISTED}


@pytest.mark.parametrize(
    ("api", "request_", "response", "kept"),
    [
        ("FETCH", LISTED, NOT_REFUSED, True),
        ("FETCH", {"replicaId": -1, **LISTED}, NOT_REFUSED, True),
        ("FETCH", {"topics": []}, NOTHING_NEW, False),
        # a session's answer has the high watermarks of what its first request listed
        ("FETCH", {"topics": []}, NOT_REFUSED, True),
        ("FETCH", {"topics": []}, REFUSED, True),
        ("FETCH", {"topics": []}, {"errorCode": -1}, True),
        ("FETCH", OF_BROKER, NOT_REFUSED, False),
        ("FETCH", OF_OLD_BROKER, NOT_REFUSED, False),
        ("FETCH", OF_BROKER, REFUSED, True),
        ("FETCH", OF_BROKER, DIVERGING, True),
        # a name is no member: quotes inside of it are escaped
        ("FETCH", {"topics": [{"topic": '"replicaId":2'}]}, NOT_REFUSED, True),
        ("FETCH", {"rackId": '"topics":[{', "topics": []}, NOTHING_NEW, False),
        ("CONTROLLED_SHUTDOWN", {"brokerId": 1}, {"errorCode": 0}, False),
        ("CONTROLLED_SHUTDOWN", {"brokerId": 1}, {"errorCode": 77}, True),
        ("CONTROLLED_SHUTDOWN", {"name": '"errorCode":77'}, {"errorCode": 0}, False),
        ("DELETE_TOPICS", {}, {"errorCode": 0}, True),
        ("FIND_COORDINATOR", {}, {"errorCode": 15}, False),
    ],
)
def test_a_line_is_kept_for_what_it_says_itself(api: str, request_: Any, response: Any, kept: bool) -> None:
    # a collector may write blanks between the parts of the JSON
    for separators in ((",", ":"), (", ", ": ")):
        ids = RequestIds()
        raw = line(api, request=request_, response=response, separators=separators)
        parsed = parse_lines(raw + b"\n", ids=ids)
        assert (parsed.rows.num_rows, parsed.skipped) == ((1, 0) if kept else (0, 1))
        noted = [] if request_ in (OF_BROKER, OF_OLD_BROKER) else ["7"]
        assert [row["correlation_ids"] for row in ids.take()] == noted


def test_partitions_of_a_fetch_by_a_broker_before_3_0_have_todays_names() -> None:
    # as Kafka 2.8.2 writes it; a topic is called like the keys
    refused = {"partition": 0, "errorCode": 74, "highWatermark": -1, "preferredReadReplica": -1}
    answer = {"responses": [{"topic": '"partitionResponses":', "partitionResponses": [refused]}]}
    (row,) = parse_lines(line("FETCH", request=LISTED, response=answer) + b"\n").rows.to_pylist()
    refused["partitionIndex"] = refused.pop("partition")
    assert json.loads(row["response"]) == {
        "responses": [{"topic": '"partitionResponses":', "partitions": [refused]}]
    }


def test_a_last_line_without_newline_waits() -> None:
    first, second = line(client="a"), line(client="b")
    parsed = parse_lines(first + b"\n" + second, 10)
    assert (parsed.rows.num_rows, parsed.consumed_to) == (1, 10 + len(first) + 1)
    assert parse_lines(second, parsed.consumed_to, final=True).rows["client_id"].to_pylist() == ["b"]


MESSAGE = line().split(b"] DEBUG ")[1].removesuffix(TAIL)
LAYOUTS = {
    "Strimzi": b"2026-11-20T22:02:40,024 DEBUG %s (kafka.request.logger) [data-plane-handler-1]",
    "Strimzi, log4j 1": b"2026-11-20 22:02:40,024 DEBUG %s (kafka.request.logger) [handler-1]",
    "Kafka's with a thread": b"[2026-11-20 22:02:40,024] DEBUG %s (kafka.request.logger) [handler-1]",
    "Kafka's with a line number": b"[2026-11-20 22:02:40,024] DEBUG %s (kafka.request.logger:62)",
    "without logger": b"[2026-11-20 22:02:40,024] DEBUG %s",
    "thread and logger first": b"[2026-11-20 22:02:40,024] DEBUG [handler-1] kafka.request.logger: %s",
    "Log4j's manual": b"2026-11-20 22:02:40.024 [handler-1] DEBUG kafka.request.logger - %s",
    "with a zone": b"2026-11-20T23:02:40.024+0100 DEBUG kafka.request.logger - %s",
    "finer than milliseconds": b"2026-11-20 22:02:40,024999 DEBUG %s (kafka.request.logger)",
    "in a container": b"2026-11-20T22:02:41.5Z stdout F [2026-11-20 22:02:40,024] DEBUG %s",
    "in the journal": b"Nov 20 22:02:41 broker-1 kafka[17]: [2026-11-20 22:02:40,024] DEBUG %s",
    "in syslog": b"2026-11-20T22:02:41+00:00 broker-1 kafka[17]: [2026-11-20 22:02:40,024] DEBUG %s",
    "in colours": b"\x1b[36m[2026-11-20 22:02:40,024] \x1b[1mDEBUG\x1b[0m %s (kafka.request.logger)\x1b[0m",
    "with offset, without brackets": b"2026-11-20T23:02:40.024+01:00 DEBUG %s (kafka.request.logger)",
    "without brackets, with a thread": b"2026-11-20 22:02:40,024 DEBUG [handler-1] %s (kafka.request.logger)",
    "Cloudera": b"2026-11-20 22:02:40,024 DEBUG kafka.request.logger: [handler-1]: %s",
    "behind a byte order mark": b"\xef\xbb\xbf[2026-11-20 22:02:40,024] DEBUG %s (kafka.request.logger)",
}


def test_layouts_say_the_same() -> None:
    (expected,) = parse_lines(line() + b"\n").rows.drop_columns(["line_digest"]).to_pylist()
    in_json = [
        {"@timestamp": "2026-11-20T22:02:40.024Z", "level": "DEBUG", "message": MESSAGE.decode()},
        {"timeMillis": 1795212160024, "loggerName": "kafka.request.logger", "message": MESSAGE.decode()},
        # Log4j's JsonLayout
        {"instant": {"epochSecond": 1795212160, "nanoOfSecond": 24000000}, "message": MESSAGE.decode()},
        {"log": f"[2026-11-20 22:02:40,024] DEBUG {MESSAGE.decode()}\n", "time": "2026-11-20T22:02:41.5Z"},
    ]
    written = [layout % MESSAGE for layout in LAYOUTS.values()]
    for each in [*written, *(json.dumps(entry).encode() for entry in in_json)]:
        ids = RequestIds()
        parsed = parse_lines(each + b"\n", ids=ids)
        assert parsed.faults == (), each
        assert parsed.rows.drop_columns(["line_digest"]).to_pylist() == [expected], each
        assert [row["correlation_ids"] for row in ids.take()] == ["7"], each
        skipped = parse_lines(each.replace(b"OFFSET_COMMIT", b"FIND_COORDINATOR") + b"\n", ids=ids)
        assert (skipped.skipped, skipped.rows.num_rows, skipped.faults) == (1, 0, ()), each
        assert [row["correlation_ids"] for row in ids.take()] == ["7"], each
        cut = parse_lines(each[: len(each) // 2] + b"\n" + each + b"\n")
        assert (cut.rows.num_rows, len(cut.faults)) == (1, 1), each


@pytest.mark.parametrize(
    "unusable",
    [
        b"2026-11-20 22:02:40 DEBUG %s (kafka.request.logger)",
        b"22:02:40.024 [handler-1] DEBUG kafka.request.logger - %s",
        b"2026-11-20T22:02:40.024Z stdout F DEBUG %s",
        b"Nov 20 22:02:40 broker-1 kafka[17]: DEBUG %s",
        b'2026-11-20 22:02:40,024 INFO client "%s" joined (kafka.coordinator.group.GroupCoordinator)',
        b'{"level":"DEBUG","message":"%s"}',
    ],
)
def test_what_tells_no_time_or_may_be_anothers_words_is_set_aside(unusable: bytes) -> None:
    parsed = parse_lines(unusable % MESSAGE + b"\n" + LAYOUTS["Strimzi"] % MESSAGE + b"\n")
    assert parsed.rows.num_rows == 1
    assert [fault.reason for fault in parsed.faults] == ["bad_line"]


@given(st.text())
def test_hostile_client_names_survive(name: str) -> None:
    hostile = name.encode("utf-8", "replace").decode() + '","requestApiKeyName":"FETCH"'
    parsed = parse_lines(line(client=hostile) + b"\n")
    assert parsed.rows["client_id"].to_pylist() == [hostile]


@given(st.binary(max_size=200))
def test_no_bytes_crash_the_parser(noise: bytes) -> None:
    parsed = parse_lines(b"\n" + noise + b"\n" + line() + b"\n")
    assert parsed.rows.num_rows >= 1
    taken = parsed.rows.num_rows + parsed.skipped + len(parsed.faults)
    assert taken == noise.count(b"\n") + 3


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=[])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=[])), inner),
)
_MEMBERS = ("requestHeader", "request", "response", "connection", "totalTimeMs", "clientInformation")


@given(st.sampled_from(_MEMBERS), _VALUES, st.sampled_from(["1971", "0001", "9999"]), st.booleans())
def test_no_line_ends_a_capture(member: str, value: Any, year: str, early: bool) -> None:
    """Whatever JSON stands where, and at whatever time: a row that the lake takes, or a fault."""
    body = json.loads(line().partition(b"Completed request:")[2].removesuffix(TAIL))
    header = body["requestHeader"]
    for changed in (
        {**body, member: value},
        *({**body, "requestHeader": {**header, k: value}} for k in header),
    ):
        day = "01-01 00:00:00,000" if early else "12-31 23:59:59,999"
        odd = f"[{year}-{day}] DEBUG Completed request:{json.dumps(changed)}".encode() + TAIL
        for zone in ("Asia/Kolkata", "America/New_York"):
            parsed = parse_lines(odd + b"\n" + line() + b"\n", timezone=zone)
            assert parsed.rows.num_rows + len(parsed.faults) + parsed.skipped == 2
            assert parsed.rows.num_rows > 0
            for row in parsed.rows.to_pylist():
                assert 0 <= row["total_time_ms"] < float("inf")


@pytest.mark.parametrize("zone", ["Asia/Kolkata", "America/New_York"])
def test_times_beyond_all_calendars_are_set_aside(zone: str) -> None:
    first, last = (line(stamp=f"{stamp},000") for stamp in ("0001-01-01 00:00:00", "9999-12-31 23:59:59"))
    parsed = parse_lines(first + b"\n" + last + b"\n" + line() + b"\n", timezone=zone)
    assert len(parsed.faults) == 1
    assert parsed.rows.num_rows == 2


def at(*stamps: str, zone: str = "Europe/Berlin", after_ms: int | None = None) -> list[str]:
    lines = b"".join(line(stamp=stamp) + b"\n" for stamp in stamps)
    moments = parse_lines(lines, timezone=zone, after_ms=after_ms).rows["logged_at_ms"].to_pylist()
    return [datetime.utcfromtimestamp(ms / 1000).strftime("%H:%M") for ms in moments]


def test_local_time_becomes_utc() -> None:
    assert at("2026-07-01 12:00:00,000", "2026-12-01 12:00:00.000") == ["10:00", "11:00"]
    assert at("2026-12-01 12:00:00,000", zone="Asia/Kolkata") == ["06:30"]


def test_the_hour_that_comes_twice_goes_forward() -> None:
    stamps = [
        f"2026-10-25 {clock}:00,000"
        for clock in ("01:59", "02:10", "02:50", "02:49", "02:10", "02:50", "03:10")
    ]
    assert at(*stamps) == ["23:59", "00:10", "00:50", "00:49", "01:10", "01:50", "02:10"]


def test_the_second_pass_needs_a_line_before_it() -> None:
    """Alone it reads as the first pass; the chunk before it settles it."""
    stamp = "2026-10-25 02:10:00,000"
    assert at(stamp) == ["00:10"]
    before = parse_lines(line(stamp="2026-10-25 02:55:00,000") + b"\n", timezone="Europe/Berlin")
    assert at(stamp, after_ms=before.last_ms) == ["01:10"]


def test_the_hour_that_never_came_counts_on_from_before_it() -> None:
    assert at("2026-03-29 02:30:00,000") == ["01:30"]


def test_error_codes_have_kafkas_names() -> None:
    assert [error_name(code) for code in (-1, 0, 22, 25, 82, 90, 110, 113)] == [
        "UNKNOWN_SERVER_ERROR",
        "NONE",
        "ILLEGAL_GENERATION",
        "UNKNOWN_MEMBER_ID",
        "FENCED_INSTANCE_ID",
        "PRODUCER_FENCED",
        "FENCED_MEMBER_EPOCH",
        "STALE_MEMBER_EPOCH",
    ]
    assert error_name(9999) == "UNKNOWN_ERROR_9999"
    assert sorted(error_names()) == list(range(-1, 137))


@pytest.mark.parametrize(
    ("request_of", "broker"),
    [
        ((1, 12, "FETCH", '"replicaId":3,"maxWaitMs":500'), 3),
        ((1, 17, "FETCH", '"replicaState":{"replicaId":31,"replicaEpoch":-1},"maxWaitMs":500'), 31),
        ((1, 12, "FETCH", '"replicaId":-1,"maxWaitMs":500'), None),
        ((1, 17, "FETCH", '"maxWaitMs":500'), None),
        # Raft's: a controller that knows no leader asks itself, too
        ((1, 17, "FETCH", '"clusterId":"x","replicaState":{"replicaId":3,"replicaEpoch":-1}'), None),
        ((52, 2, "VOTE", '"clusterId":"x","voterId":3,"topics":[{"partitions":[{"replicaId":3}]}]'), None),
    ],
)
def test_a_follower_says_its_id(request_of: tuple[int, int, str, str], broker: int | None) -> None:
    key, version, name, fields = request_of
    line = (
        '[2026-11-25 22:16:26,424] DEBUG Completed request:{"isForwarded":false,"requestHeader":{'
        f'"requestApiKey":{key},"requestApiVersion":{version},"correlationId":13,"clientId":"c","requestApiKeyName":"{name}"}},'
        f'"request":{{{fields}}},"response":{{"replicaId":3}}}} (kafka.request.logger)'
    )
    found = {each for each in (3, 31, 1) if request_log.has_follower(line.encode(), each)}
    assert found == ({broker} - {None})
