"""Lines in the envelopes of collectors: they are read as their program wrote them, also those in parts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.capture.plan import REQUEST_LOG, Source
from fencepost.capture.text import Piece, text_rows
from fencepost.formats.client_log import parse_client_lines
from fencepost.formats.clock import LogClock
from fencepost.formats.envelopes import end_of_lines, lines, plain, plain_line, written_by
from fencepost.formats.lines import Parsed
from fencepost.formats.log_entries import begins_entry, entries, last_entry
from fencepost.formats.request_log import every_line, parse_lines

NANOS = "2026-11-20T22:02:41.123456789Z"
BODY = (
    '{"isForwarded":false,"requestHeader":{"requestApiKey":8,"requestApiVersion":9,"correlationId":%d,'
    '"clientId":"c","requestApiKeyName":"OFFSET_COMMIT"},"request":{"groupId":"é%s"},'
    '"response":{},"connection":"a:1-b:2-0","totalTimeMs":1.5}'
)
KAFKAS = "[2026-11-20 22:02:40,024] DEBUG Completed request:%s (kafka.request.logger)"
ENTRIES = (
    "[2026-11-20 22:02:40,024] INFO said (a.B)",
    "[2026-11-20 22:02:40,025] WARN Updating assignment with",
    "\tAssigned: [t-0]",
    " (a.C)",
    "[2026-11-20 22:02:40,026] INFO [Producer clientId=p] ProducerId set to 5 with epoch 2 (a.D)",
)


def in_docker(line: str, **others: object) -> str:
    return json.dumps(
        {"log": line + "\n", "stream": "stdout", "time": NANOS, **others}, separators=(",", ":")
    )


ENVELOPES: dict[str, Callable[[str], str]] = {
    "none": lambda line: line,
    "of Windows": lambda line: line + "\r",
    "Docker": in_docker,
    "Fluentd": lambda line: in_docker(line, kubernetes={"pod_name": "kafka-0"}),
    "Fluent Bit": lambda line: json.dumps({"date": 1795212161.5, "log": line}),
    "containerd": lambda line: f"{NANOS} stdout F {line}",
    "CRI-O": lambda line: f"2026-11-20T23:02:41.123456789+01:00 stderr F {line}",
    "journalctl": lambda line: f"Nov 20 22:02:41 broker-1 kafka-server-start.sh[17]: {line}",
    "journalctl -o short-precise": lambda line: f"Nov 20 22:02:41.123456 broker-1 kafka[17]: {line}",
    "journalctl -o short-iso": lambda line: f"2026-11-20T22:02:41+0000 broker-1 kafka[17]: {line}",
    "journalctl -o short-full": lambda line: f"Fri 2026-11-20 22:02:41 UTC broker-1 kafka[17]: {line}",
    "journalctl -o short-unix": lambda line: f"1795212161.123456 broker-1 kafka[17]: {line}",
    "journalctl -o with-unit": lambda line: f"Fri 2026-11-20 22:02:41 UTC b kafka.service/java[17]: {line}",
    "rsyslog's tabs": lambda line: f"Nov 20 22:02:41 b kafka[17]: {line}".replace("\t", "#011"),
    "one of an array": lambda line: json.dumps({"_source": {"message": line}}) + ",",
    "syslog": lambda line: f"<30>Nov 20 22:02:41 broker-1 kafka[17]: {line}",
    "RFC 5424": lambda line: f'<30>1 {NANOS} broker-1 kafka 17 - [a b="c"] {line}',
    "kubectl logs --prefix": lambda line: f"[pod/kafka-0/kafka] {line}",
    "kubectl logs --timestamps": lambda line: f"{NANOS} {line}",
    "kubectl logs --prefix --timestamps": lambda line: f"[pod/kafka-0/kafka] {NANOS} {line}",
    "docker compose logs": lambda line: f"kafka-1  | {line}",
    "docker service logs": lambda line: f"kafka.1.x7s@node-1    | {line}",
    "Filebeat": lambda line: json.dumps({"@timestamp": NANOS, "log": {"offset": 1}, "message": line}),
    "Elasticsearch's documents": lambda line: json.dumps(
        {"_id": "1", "_source": {"log": line, "time": NANOS}}
    ),
    "Fluentd's out_file": lambda line: f"2026-11-20T22:02:41+00:00\tkafka.0\t{json.dumps({'log': line})}",
    "journalctl -o json": lambda line: json.dumps({"_HOSTNAME": "b", "_PID": "17", "MESSAGE": line}),
    "journalctl -o json, not plain text": lambda line: json.dumps({"MESSAGE": list(line.encode())}),
    "journalctl --no-hostname": lambda line: f"Nov 20 22:02:41 kafka[17]: {line}",
    "journalctl -o short-monotonic": lambda line: f"[ 1234.123456] broker-1 kafka[17]: {line}",
    "RFC 5424 with more data": lambda line: f'<30>1 {NANOS} broker-1 kafka 17 - [a b="\\]"][c d="e"] {line}',
    "stern": lambda line: f"kafka-0 kafka {line}",
    "stern --all-namespaces --timestamps": lambda line: f"prod kafka-0 kafka {NANOS} {line}",
    "stern -o json": lambda line: json.dumps({"message": line, "podName": "kafka-0", "namespace": "prod"}),
    "kail": lambda line: f"prod/kafka-0[kafka]: {line}",
    "logcli": lambda line: f'2026-11-20T22:02:41Z {{app="kafka", pod="kafka-0"}}  {line}',
    "logcli -o jsonl": lambda line: json.dumps({"labels": {"app": "k"}, "line": line, "timestamp": NANOS}),
    "Google's sinks": lambda line: json.dumps({"textPayload": line, "severity": "INFO", "timestamp": NANOS}),
    "CloudWatch's exports": lambda line: f"2026-11-20T22:02:41.123Z {line}",
    "Azure's containers": lambda line: json.dumps(
        {"TimeGenerated": NANOS, "PodName": "kafka-0", "LogMessage": line, "LogSource": "stdout"}
    ),
    "Splunk": lambda line: json.dumps({"preview": False, "result": {"_raw": line, "_time": NANOS}}),
}
OF_TIMES: dict[str, Callable[[str], str]] = {
    "syslog without an id": lambda line: f"Nov 20 22:02:41 broker-1 kafka: {line}",
    "rsyslog": lambda line: f"2026-11-20T22:02:41.123456+00:00 broker-1 kafka: {line}",
    "aws logs tail": lambda line: f"2026-11-20T22:02:41.123000+00:00 kafka/broker-1/abc {line}",
    "aws logs tail --format short": lambda line: f"2026-11-20T22:02:41 {line}",
    "CloudWatch's exports to S3": lambda line: f"2026-11-20T22:02:41.123Z {line}",
    "s6-log": lambda line: f"2026-11-20 22:02:41.123456789  {line}",
    "Grafana": lambda line: f"2026-11-20 22:02:41.123\t{line}",
    "ts": lambda line: f"Nov 20 22:02:41 {line}",
}
"""Envelopes with a time, which are taken off where a time of the program follows."""


def requests(text: str | bytes, position: int = 0) -> Parsed:
    data = text.encode() if isinstance(text, str) else text
    return parse_lines(data, {"OFFSET_COMMIT": [every_line]}, position)


@pytest.mark.parametrize("envelope", [*ENVELOPES.values(), *OF_TIMES.values()], ids=[*ENVELOPES, *OF_TIMES])
def test_lines_in_envelopes_are_read_as_their_program_wrote_them(envelope: Callable[[str], str]) -> None:
    written = [envelope(KAFKAS % (BODY % (number, ""))) for number in range(3)]
    expected = requests("".join(KAFKAS % (BODY % (number, "")) + "\n" for number in range(3))).rows
    read = requests("".join(line + "\n" for line in written), 100)
    assert (read.faults, read.skipped) == ((), 0)
    assert read.rows.drop_columns(["position"]).equals(expected.drop_columns(["position"]))
    starts = [100 + sum(len(line.encode()) + 1 for line in written[:n]) for n in range(4)]
    assert read.rows["position"].to_pylist() == starts[:-1]
    assert read.consumed_to == starts[-1]


@pytest.mark.parametrize("envelope", ENVELOPES.values(), ids=ENVELOPES)
def test_entries_of_several_lines_are_found_in_envelopes(envelope: Callable[[str], str]) -> None:
    written = [envelope(line) + "\n" for line in ENTRIES]
    text = "".join(written).encode()
    found = list(entries(text, 7, LogClock("UTC")))
    starts = [7 + sum(len(line.encode()) for line in written[:n]) for n in (0, 1, 4)]
    assert [(each.position, each.message.rstrip(), each.logged_at_ms) for each in found] == [
        (starts[0], "said", 1795212160024),
        (starts[1], "Updating assignment with\n\tAssigned: [t-0]", 1795212160025),
        (starts[2], "[Producer clientId=p] ProducerId set to 5 with epoch 2", 1795212160026),
    ]
    assert last_entry(text) == starts[2] - 7
    assert last_entry("".join(written[:4]).encode()) == starts[1] - 7
    (row,) = parse_client_lines(text).rows.to_pylist()
    assert (row["client_id"], row["producer_id"], row["logged_at_ms"]) == ("p", 5, 1795212160026)


@pytest.mark.parametrize("envelope", OF_TIMES.values(), ids=OF_TIMES)
def test_a_time_of_a_collector_is_no_time_of_a_program(envelope: Callable[[str], str]) -> None:
    """It was taken for the program's, which is some seconds or an hour older."""
    line = "2026-11-20 22:02:40.026 [p] INFO  a.D -- [Producer clientId=p] ProducerId set to 5 with epoch 2"
    (row,) = parse_client_lines(f"{envelope(line)}\n".encode()).rows.to_pylist()
    (entry,) = entries(f"{envelope(line)}\n".encode(), 0, LogClock("UTC"))
    assert (row["logged_at_ms"], entry.logged_at_ms) == (1795212160026, 1795212160026)
    assert (entry.logger, entry.message) == ("a.D", line.partition("-- ")[2])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"MESSAGE":null,"_PID":"17"}', "journalctl needs --all"),
        ("Nov 20 22:02:41 broker-1 kafka[17]: [4.1K blob data]", "needs --all"),
        (json.dumps({"time": 1795212160024, "message": json.loads(BODY % (1, ""))}), "without the words"),
        (
            json.dumps({"result": {"_raw": f"{KAFKAS % (BODY % (1, ''))}\n{KAFKAS % (BODY % (2, ''))}"}}),
            "several requests",
        ),
        (
            " ".join(KAFKAS % (BODY % (n, "")).replace("OFFSET_COMMIT", "HEARTBEAT") for n in (1, 2)),
            "several requests",
        ),
        (
            json.dumps({"ts": 1795212160024, "msg": "Completed request:" + BODY % (1, "")}) * 2,
            "follows its JSON",
        ),
        (f'  "message": "{KAFKAS % ""}",', "in several lines"),
        (
            json.dumps({"streams": [{"values": [["1", KAFKAS % "{}"], ["2", KAFKAS % "{}"]]}]}),
            "a line of it in",
        ),
        (f"a: [1795212161.1, {in_docker(KAFKAS % '{}')}]", "in no known layout"),
        (f"kafka-request.log:17:{KAFKAS % '{}'}", "in no known layout"),
        ("\0" * 4096 + KAFKAS % (BODY % (1, "")), "copytruncate"),
        ('"Nov 20, 2026","' + (KAFKAS % (BODY % (1, ""))).replace('"', '""') + '"', "as in CSV"),
        (KAFKAS % (BODY % (1, '","memberId":"****')), "in place of a name"),
        (
            json.dumps(
                {
                    "timeMillis": 1795212160024,
                    "message": "Completed request:" + BODY % (1, '","memberId":"****'),
                }
            ),
            "in place of a name",
        ),
        (KAFKAS % (BODY % (1, '","topics":[{"name":"[Redacted]"}],"a":"')), "in place of a name"),
    ],
)
def test_requests_in_unknown_envelopes_are_set_aside(text: str, told: str) -> None:
    (fault,) = requests(f"{text}\n").faults
    assert told in fault.detail


def test_whose_lines_a_file_has_is_known() -> None:
    one, other, third = (f"kafka-{n} kafka {ENTRIES[0]}\n".encode() for n in range(3))
    assert written_by(one + one + b"+ kafka-1\n" + other) == {b"kafka-0", b"kafka-1"}
    in_json = [
        json.dumps({"message": ENTRIES[0], "kubernetes": {"pod": {"name": f"p-{n}"}}}) for n in range(2)
    ]
    assert written_by("\n".join([*in_json, third.decode()]).encode()) == {b"p-0", b"p-1", b"kafka-2"}
    assert written_by("\n".join(ENTRIES).encode()) == set()
    assert written_by(f"{ENTRIES[0]}\ntopic | partition\norders  | 0\n".encode()) == set()


def in_parts_of_cri(text: str, size: int) -> Iterator[str]:
    parts = [text[at : at + size] for at in range(0, len(text), size)]
    for number, part in enumerate(parts, 1):
        yield f"{NANOS} stdout {'F' if number == len(parts) else 'P'} {part}\n"


def in_parts_of_docker(text: str, size: int) -> Iterator[str]:
    parts = [text[at : at + size] for at in range(0, len(text), size)]
    for number, part in enumerate(parts, 1):
        yield in_docker(part) + "\n" if number == len(parts) else in_docker(part).replace(r'\n"', '"') + "\n"


@pytest.mark.parametrize("parts", [in_parts_of_cri, in_parts_of_docker])
def test_a_request_in_parts_is_one(parts: Callable[[str, int], Iterator[str]], tmp_path: Path) -> None:
    long = KAFKAS % (BODY % (7, "x" * 300_000))
    short = KAFKAS % (BODY % (8, ""))
    written = [*parts(long, 16 << 10), *parts(short, 16 << 10)]
    text = "".join(written).encode()
    expected = requests(f"{long}\n{short}\n").rows.drop_columns(["position"])
    read = requests(text)
    assert (read.faults, read.consumed_to) == ((), len(text))
    assert read.rows.drop_columns(["position"]).equals(expected)
    # what is not there yet is read when it is, and a file that ends so has lost it
    torn = "".join(written[:5]).encode()
    waits = requests(torn)
    assert (waits.rows.num_rows, waits.faults, end_of_lines(torn)) == (0, (), 0)
    (fault,) = parse_lines(torn, {"OFFSET_COMMIT": [every_line]}, final=True).faults
    assert fault.position == 0
    # pieces of a file end between lines, not between parts
    file, pieces = tmp_path / "kafka-request.log", []

    def parse(_: Source, piece: Piece, after_ms: int | None) -> Parsed:
        pieces.append(piece)
        return requests(piece.data, piece.position)

    file.write_bytes(text * 2 + torn)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fencepost.capture.text.CHUNK", 50_000)
        source = Source("c", 1, REQUEST_LOG, str(file), end=len(text) * 2 + len(torn))
        rows = list(text_rows(source, parse, lambda read: iter(((None, read),)), lambda *_: True))  # type: ignore[arg-type]
    assert sum(read.num_rows for table, read in rows[:-1] if table is None) == 4
    assert [each.cut for each in pieces][-1]
    assert (pieces[-1].position, pieces[-1].data) == (len(text) * 2, torn)


@pytest.mark.parametrize(
    "line",
    [
        KAFKAS % (BODY % (1, "")),
        "2026-11-20T22:02:40.024123456Z INFO 7 --- [main] a.B : said",
        "2026-11-20T22:02:40.024Z  WARN 7 --- [main] a.B : said",
        "2026-11-20T22:02:40.024+01:00 host a.B: said",
        "INFO  [2026-11-20 22:02:40,024] a.B: said",
        "2026-11-20T22:02:40.024Z INFO main[17]: said",
        '{"ts":"2026-11-20T22:02:40.024Z","level":"INFO","log":"said"}',
        '{"@timestamp":"2026-11-20T22:02:40.024Z","level":"INFO","message":"2026 was said"}',
        '{"timestamp":"2026-11-20T22:02:40.024Z","level":"INFO","msg":"said","attributes":{"message":"[x"}}',
        '{"log":',
        "\tat a.B(C.java:1)",
        "",
    ],
)
def test_a_line_in_no_envelope_stays_as_it_is(line: str) -> None:
    assert plain_line(line.encode()) == line.encode()
    assert [each.text for each in lines(f"{line}\n".encode())] == [line.encode()]
    assert plain(f"{line}\n".encode()).data == f"{line}\n".encode()


def test_envelopes_lie_in_each_other() -> None:
    entry = '{"timeMillis":1795212160024,"level":"INFO","loggerName":"a.B","message":"said"}'
    assert plain_line(f"{NANOS} stdout F {entry}".encode()) == entry.encode()
    assert plain_line(in_docker(in_docker(ENTRIES[0])).encode()) == ENTRIES[0].encode()
    assert begins_entry(f"kafka-1 | {ENTRIES[0]}".encode())
    assert not begins_entry(f"{NANOS} stdout F {ENTRIES[2]}".encode())


@pytest.mark.parametrize(
    "entry",
    [
        {"timestamp": 1795212160.024, "level": 7, "_logger": "kafka.request.logger", "short_message": "%s"},
        {"timestamp": 1795212160.0, "level": 7, "short_message": "%s"},
    ],
)
def test_requests_in_gelf_are_read(entry: dict[str, object]) -> None:
    message = f"Completed request:{BODY % (1, '')}"
    read = requests(json.dumps({**entry, "short_message": message}) + "\n")
    assert (read.rows.num_rows, read.faults) == (1, ())


@pytest.mark.parametrize(
    "own",
    [{"timeMillis": 1795212160024}, {"instant": {"epochSecond": 1795212160, "nanoOfSecond": 24_500_000}}],
)
def test_the_time_of_the_program_goes_before_that_of_a_collector(own: dict[str, object]) -> None:
    """Filebeat puts the members of a program's JSON beside its own time, which is seconds later."""
    message = f"Completed request:{BODY % (1, '')}"
    read = requests(json.dumps({"@timestamp": "2026-11-20T22:02:44.000Z", **own, "message": message}) + "\n")
    assert read.rows["logged_at_ms"].to_pylist() == [1795212160024]


def test_a_request_in_an_unknown_member_is_set_aside() -> None:
    """It is a line that nobody could read, and no line of another logger."""
    line = json.dumps({"@timestamp": NANOS, "event": f"Completed request:{BODY % (1, '')}"})
    (fault,) = requests(line + "\n").faults
    assert "in no known member" in fault.detail


@pytest.mark.parametrize(
    ("zone", "ms"),
    [("+01", 0), ("+0100", 0), ("+01:00", 0), (" +0100", 0), (" UTC", 3_600_000), ("Z", 3_600_000)],
)
def test_a_time_may_name_its_zone(zone: str, ms: int) -> None:
    line = KAFKAS.replace("22:02:40,024", f"22:02:40,024{zone}") % (BODY % (1, ""))
    assert requests(line + "\n").rows["logged_at_ms"].to_pylist() == [1795212160024 - 3_600_000 + ms]


@pytest.mark.parametrize(
    ("written", "hour"),
    [
        ("02:30:00,000 CEST", 0),
        ("02:30:00,000 CET", 1),
        ("01:30:00,000 GMT+01:00", 0),
        ("00:30:00:000 GMT", 0),
    ],
)
def test_a_time_may_name_its_zone_by_letters(written: str, hour: int) -> None:
    """So it has one meaning in the hour that clocks show twice."""
    line = KAFKAS.replace("2026-11-20 22:02:40,024", f"2026-10-25 {written}") % (BODY % (1, ""))
    data = f"{line}\n".encode()
    read = parse_lines(data, {"OFFSET_COMMIT": [every_line]}, 0, "Europe/Berlin")
    assert read.rows["logged_at_ms"].to_pylist() == [1792888200000 + hour * 3_600_000]
    if "GMT" not in written:
        (fault,) = parse_lines(data, {"OFFSET_COMMIT": [every_line]}, 0, "America/New_York").faults
        assert "correct timezone" in fault.detail


@pytest.mark.parametrize(
    "layout",
    [
        "2026-11-20T22:02:40.024Z  INFO 7 --- [app] [main] o.a.k.TransactionManager : %s",
        "2026-11-20T23:02:40.024+01:00  INFO 7 --- [main] o.a.k.TransactionManager : %s",
        "INFO  [2026-11-20 22:02:40,024] o.a.k.TransactionManager: %s",
        "2026-11-20 22:02:40,024 INFO %s (o.a.k.TransactionManager) [kafka-producer-network-thread | p]",
        '{"@timestamp":"2026-11-20T22:02:40.024Z","level":"INFO","logger_name":"T","message":"%s"}',
    ],
)
def test_what_a_producer_says_is_read_in_all_layouts(layout: str) -> None:
    said = "[Producer clientId=p, transactionalId=x] ProducerId set to 5 with epoch 2"
    (row,) = parse_client_lines(f"{layout % said}\n".encode()).rows.to_pylist()
    names = ("client_id", "transactional_id", "producer_epoch", "message", "logged_at_ms")
    assert [row[name] for name in names] == ["p", "x", 2, said.partition("] ")[2], 1795212160024]


def _in_order(times: Sequence[int]) -> bool:
    clock = LogClock("UTC")
    for ms in times:
        clock.note(ms)
    return clock.is_in_order


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 900)), max_size=60),
    st.integers(0, 60),
    st.integers(0, 7_200_000),
)
def test_late_lines_and_clocks_that_are_set_are_in_order(
    steps: list[tuple[int, int]], at: int, back: int
) -> None:
    """Many threads write within one millisecond, some lines are late, and the clock is set once."""
    times, now = [], 1795212160000
    for number, (step, late) in enumerate(steps):
        now += step * 1000 - (back if number == at else 0)
        times.append(now - late * (number % 7 == 0))
    assert _in_order([each for ms in times for each in (ms, ms + 1, ms, ms + 1)])


def test_what_is_sorted_otherwise_is_in_no_order() -> None:
    times = [1795212160000 + 700 * number for number in range(40)]
    assert _in_order(times)
    assert not _in_order(times[::-1])
    assert not _in_order([each for pair in zip(times[20:], times[:20], strict=True) for each in pair])
    # files that were put together in another order: replays take this for a clock that was set back
    assert _in_order([*times[20:], *times[:20]])
