"""Lines of producers' logs: what is taken, and that nothing else is."""

from __future__ import annotations

import json
import time
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.formats.client_log import CLIENT_LINE_SCHEMA, EVENTS, parse_client_lines
from fencepost.tables import CLIENT_LINES

PREFIX = "[Producer clientId=c-1, transactionalId=orders] "
LOGGER = " (org.apache.kafka.clients.producer.internals.TransactionManager)"
SET = "ProducerId set to 5 with epoch 2"


def taken(line: str) -> list[tuple[object, ...]]:
    rows = parse_client_lines(f"{line}\n".encode()).rows.to_pylist()
    names = (
        "client_id",
        "transactional_id",
        "event",
        "producer_id",
        "producer_epoch",
        "error",
        "logged_at_ms",
    )
    return [tuple(row[name] for name in names) for row in rows]


@pytest.mark.parametrize(
    "line",
    [
        f"[2026-11-20 22:02:40,024] INFO {PREFIX}{SET}{LOGGER}",
        f"2026-11-20 22:02:40,024 INFO {PREFIX}{SET}",
        f"2026-11-20T22:02:40.024 [main] DEBUG o.a.k.c.p.i.TransactionManager - {PREFIX}{SET}",
        f"[2026-11-20 22:02:40,024] INFO [sink|task-0] {PREFIX}{SET}{LOGGER[:-1]}:612) \r",
        json.dumps({"timestamp": 1795212160024, "message": f"{PREFIX}{SET}\njava.lang.E: e\n\tat a.B"}),
        # Logback's JsonEncoder, as it may be set
        json.dumps({"timestamp": 1795212160024, "arguments": [], "formattedMessage": f"{PREFIX}{SET}"}),
    ],
)
def test_whatever_stands_around_it_a_message_is_taken(line: str) -> None:
    assert taken(line) == [("c-1", "orders", "producer_id_set", 5, 2, None, 1795212160024)]


def test_a_message_that_ends_in_brackets_is_whole() -> None:
    message = (
        "Transiting to abortable error state due to org.apache.kafka.common.errors."
        "TopicAuthorizationException: Not authorized to access topics: [out]"
    )
    for rest in ("", LOGGER, f"{LOGGER} [main]"):
        line = f"[2026-11-20 22:02:40,024] INFO {PREFIX}{message}{rest}\n"
        (row,) = parse_client_lines(line.encode()).rows.to_pylist()
        assert row["message"] == message


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            "Invoking InitProducerId with current producer ID and epoch (producerId=5, epoch=2) "
            "in order to bump the epoch",
            ("epoch_bump_requested", 5, 2, None),
        ),
        (
            "Incremented producer epoch, current producer ID and epoch are now (producerId=5, epoch=3)",
            ("epoch_bumped", 5, 3, None),
        ),
        (
            "Transiting to fatal error state due to org.apache.kafka.common.errors.ProducerFencedException: "
            "There is a newer producer",
            ("fatal_error", None, None, "ProducerFencedException"),
        ),
        (
            "Transiting to abortable error state due to org.apache.kafka.common.errors."
            "InvalidProducerEpochException: Producer with transactionalId 'orders' and (producerId=18, "
            "epoch=14) attempted to produce with an old epoch",
            ("abortable_error", 18, 14, "InvalidProducerEpochException"),
        ),
        (
            "Got error produce response with correlation id 7 on topic-partition t-0, retrying (3 attempts "
            "left). Error: INVALID_PRODUCER_EPOCH. Error Message: old",
            ("produce_error", None, None, "INVALID_PRODUCER_EPOCH"),
        ),
        (
            "The broker returned org.apache.kafka.common.errors.OutOfOrderSequenceException: x for "
            "topic-partition t-0 with producerId 5, epoch 2, and sequence number 9",
            ("produce_error", 5, 2, "OutOfOrderSequenceException"),
        ),
    ],
)
def test_what_a_message_tells(message: str, expected: tuple[object, ...]) -> None:
    for logger in ("", LOGGER):
        ((_, _, event, producer, epoch, error, _),) = taken(
            f"[2026-11-20 22:02:40,024] INFO {PREFIX}{message}{logger}"
        )
        assert (event, producer, epoch, error) == expected


def test_every_message_is_one_of_kafkas(jars: Path) -> None:
    """javac keeps a message as it is written, but where it is made by concatenation."""
    for version in ("4.3.1", "4.2.1"):
        jar = jars / f"kafka-{version}" / f"kafka-clients-{version}.jar"
        with zipfile.ZipFile(jar) as classes:
            for event in EVENTS:
                assert event.message.encode() in classes.read(f"{event.logged_by}.class"), event.message


def test_every_line_of_every_capture_is_taken_or_skipped(captures: Path) -> None:
    told = set()
    for file in sorted(captures.glob("*/clients/*.log")):
        data = file.read_bytes()
        parsed = parse_client_lines(data)
        assert parsed.faults == ()
        assert parsed.rows.num_rows + parsed.skipped == data.count(b"\n")
        for row in parsed.rows.to_pylist():
            logged = data[row["position"] :].partition(b"\n")[0].decode()
            assert row["message"] in logged
            told.add(row["event"])
    assert told >= {"started", "producer_id_set", "abortable_error"}


@pytest.mark.parametrize(
    "line",
    [
        f"[2026-11-20 22:02:40,024] INFO {SET}",
        "[2026-11-20 22:02:40,024] INFO [Consumer clientId=c-1, groupId=g] Resetting generation",
        '{"timestamp":1,"name":"producer_send_success"}',
    ],
)
def test_other_peoples_lines_are_skipped(line: str) -> None:
    parsed = parse_client_lines(f"{line}\n".encode())
    assert (parsed.rows.num_rows, parsed.skipped, parsed.faults) == (0, 1, ())


@pytest.mark.parametrize("said", [f"{SET} or so", "ProducerId set to five with epoch 2"])
def test_a_message_that_cannot_be_read_is_not_lost_in_silence(said: str) -> None:
    parsed = parse_client_lines(f"[2026-11-20 22:02:40,024] INFO {PREFIX}{said}\n".encode())
    assert (parsed.rows.num_rows, [each.reason for each in parsed.faults]) == (0, ["bad_line"])


@pytest.mark.parametrize(
    ("before", "told"),
    [
        ("INFO", "no time was found"),
        ("[2026-13-40 22:02:40,024] INFO", "2026-13-40"),
        ("20.11.2026 22:02:40,024 INFO", "in no known form"),
        ("11/20/2026 22:02:40,024 INFO", "in no known form"),
        ("22:02:40,024 INFO", "no date"),
        ("2026-11-20 10:02:40,024 PM INFO", "PM is none of the time zone UTC"),
        ("2026-11-20 22:02:40,024 CET INFO", "CET is none of the time zone UTC"),
        ("2026-11-20T22:02:41.5Z of the pod kafka-0 [2026-11-20 22:02:40,024] INFO", "two times"),
    ],
)
def test_a_producers_line_whose_time_is_not_known_is_set_aside(before: str, told: str) -> None:
    """It was skipped without a word, or had a time that is not its own."""
    parsed = parse_client_lines(f"{before} {PREFIX}{SET}\n".encode())
    (fault,) = parsed.faults
    assert (parsed.rows.num_rows, told in fault.detail) == (0, True), fault.detail


def test_numbers_that_no_epoch_can_be_are_unknown() -> None:
    line = f"[2026-11-20 22:02:40,024] INFO {PREFIX}ProducerId set to {'9' * 5000} with epoch 40000"
    assert taken(line) == [("c-1", "orders", "producer_id_set", None, None, None, 1795212160024)]


def test_a_line_that_is_cut_waits() -> None:
    line = f"[2026-11-20 22:02:40,024] INFO {PREFIX}ProducerId set to 5 with epoch 1".encode()
    parsed = parse_client_lines(line, 10)
    assert (parsed.rows.num_rows, parsed.consumed_to) == (0, 10)
    assert parse_client_lines(line + b"2\n", 10).rows["producer_epoch"].to_pylist() == [12]


HOSTILE = (
    "[Producer clientId=, transactionalId=",
    "] The broker returned X for topic-partition ",
    " for topic-partition  with producerId 1, epoch 1, and sequence number ",
    " with producerId 1",
    "] Got error produce response with correlation id  on topic-partition ",
    ", retrying ( attempts left). Error: ",
    "] ProducerId of partition  set to 1",
    "] Transiting to fatal error state due to  (a",
    "(producerId=1, epoch=",
    "] ",
    ", transactionalId=",
    " (",
    "1",
    ".",
)


@pytest.mark.parametrize("begin", ["", *dict.fromkeys(event.message.split("{}")[0] for event in EVENTS)])
def test_the_time_of_a_line_grows_with_its_length_and_no_faster(begin: str) -> None:
    """For a line sixteen times as long a search that turns back takes 256 times as long, or more."""

    def seconds(repeated: str, size: int) -> float:
        line = (
            f"[2026-11-20 22:02:40,024] INFO {PREFIX}{begin}{repeated * (size // len(repeated))} \n".encode()
        )
        times = []
        for _ in range(3):
            before = time.process_time()
            parse_client_lines(line)
            times.append(time.process_time() - before)
        return min(times)

    for repeated in HOSTILE:
        assert seconds(repeated, 1 << 13) < 80 * seconds(repeated, 1 << 9), repeated


@given(st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"])))
def test_hostile_names_survive(name: str) -> None:
    line = f"[2026-11-20 22:02:40,024] INFO [Producer clientId={name}, transactionalId=t] {SET}"
    if ", transactionalId=" not in name and "] " not in name:
        assert taken(line)[0][:3] == (name, "t", "producer_id_set")


@given(st.binary(max_size=200))
def test_no_bytes_crash_the_parser(noise: bytes) -> None:
    parsed = parse_client_lines(
        noise + b"\n" + b"[2026-11-20 22:02:40,024] " + PREFIX.encode() + noise + b"\n"
    )
    assert parsed.rows.num_rows + parsed.skipped == noise.count(b"\n") * 2 + 2


def test_the_columns_are_the_lakes() -> None:
    of_file = {"cluster", "client", "file", "file_begins"}
    assert set(CLIENT_LINE_SCHEMA.names) == CLIENT_LINES.columns.keys() - of_file
