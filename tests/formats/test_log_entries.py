"""Entries of logs in the layouts that applications really use, and the messages that are cut out of them."""

from __future__ import annotations

import contextlib
import re
import time
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.capture.log_messages import LogMessages
from fencepost.capture.plan import CLIENT_LOG, Source
from fencepost.capture.text import Piece, text_rows
from fencepost.formats.clock import LogClock
from fencepost.formats.lines import Parsed
from fencepost.formats.log_entries import Entry, Message, entries, last_entry, parse_entries
from fencepost.protocols.ownership_claim.bronze import BROKER_LINES, CONSUMER_LINES

MS = 1795212160024
PREPARING = Message(
    "preparing",
    "GroupMetadataManager",
    "Preparing to rebalance group {} in state {} with old generation {} (reason: {}).",
    ("group_id", "_", "generation", "reason"),
)


def read(text: str, zone: str = "UTC") -> list[Entry]:
    return list(entries(text.encode(), 0, LogClock(zone)))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("[2026-11-20 22:02:40,024] INFO said (a.b.C)", ("INFO", None, "a.b.C")),
        ("[2026-11-20 22:02:40,024] INFO said (a.b.C:112)", ("INFO", None, "a.b.C")),
        ("2026-11-20T22:02:40,024 INFO said (a.b.C) [main]", ("INFO", "main", "a.b.C")),
        ("2026-11-20 22:02:40,024 [main] DEBUG a.b.C - said", ("DEBUG", "main", "a.b.C")),
        ("2026-11-20 22:02:40.024 DEBUG [main] a.b.C - said", ("DEBUG", "main", "a.b.C")),
        ("2026-11-20T22:02:40.024Z  WARN 7 --- [app] [ main] a.b.C   : said", ("WARN", "main", "a.b.C")),
        ("2026-11-20T23:02:40.024+01:00  WARN 7 --- [t-1] a.b.C : said", ("WARN", "t-1", "a.b.C")),
        ("2026-11-20 22:02:40.024024 ERROR C:33 - said", ("ERROR", None, "C")),
        ("INFO  [2026-11-20 22:02:40,024] a.b.C: said", ("INFO", None, "a.b.C")),
        ("2026-11-20 22:02:40,024 INFO  [a.b.C] (t) said", ("INFO", "t", "a.b.C")),
        ("\x1b[2m2026-11-20T22:02:40.024Z\x1b[m \x1b[32m INFO\x1b[0m 1 --- [t] C : said", ("INFO", "t", "C")),
        ('{"@timestamp":"2026-11-20T22:02:40.024Z","level":"INFO","logger_name":"C","message":"said"}',
         ("INFO", None, "C")),
        ('{"instant":{"epochSecond":1795212160,"nanoOfSecond":24000000},"thread":"t","level":"INFO",'
         '"loggerName":"C","message":"said"}', ("INFO", "t", "C")),
        ('{"ts":"2026-11-20T22:02:40.024Z","log.level":"INFO","process":{"thread":{"name":"t"}},'
         '"message":"said"}', ("INFO", "t", None)),
        ("2026-11-20 22:02:40,024 said", (None, None, None)),
        ("2026-11-20T22:02:40.024+00:00 INFO said (a.b.C)  ", ("INFO", None, "a.b.C")),
        ("[2026-11-20 22:02:40,024] INFO said (a.b.C:112) \r", ("INFO", None, "a.b.C")),
        ('{"time":1795212160.024,"message":"said"}', (None, None, None)),
        ('{"time":1795212160024,"message":"said"},', (None, None, None)),
        ('{"time":1795212160024123,"message":"said"}', (None, None, None)),
        ('{"time":1795212160024123456,"message":"said"}', (None, None, None)),
        ('{"time":"1795212160.024","message":"said"}', (None, None, None)),
        ('{"time":"1795212160024123456","message":"said"}', (None, None, None)),
    ],
)  # fmt: skip
def test_layouts(line: str, told: tuple[str | None, ...]) -> None:
    (entry,) = read(line + "\n")
    assert (entry.level, entry.thread, entry.logger) == told
    assert (entry.message, entry.logged_at_ms) == ("said", MS)


def test_a_time_without_a_zone_is_the_applications() -> None:
    (entry,) = read("2026-11-20 17:02:40.024 [main] INFO C - said\n", "America/New_York")
    assert entry.logged_at_ms == MS


def test_a_time_without_a_date_is_not_known() -> None:
    (entry,) = read("22:02:40.024 [main] INFO C - said\n")
    assert (entry.logged_at_ms, entry.message) == (None, "said")


def test_an_entry_goes_on_until_the_next_one_begins() -> None:
    found = read(
        "\tat the.end.of(Another.java:1)\n"
        "[2026-11-20 22:02:40,024] INFO Updating assignment with\n\tAssigned: [t-0]\n (a.b.C)\njava.lang.E\n"
        "[2026-11-20 22:02:41,024] INFO next (a.b.C)\n"
    )
    assert [(each.position, each.message) for each in found] == [
        (31, "Updating assignment with\n\tAssigned: [t-0]\n\njava.lang.E"),
        (125, "next"),
    ]


@pytest.mark.parametrize("text", ["", "\n", "\tat the.end.of(Another.java:1)\n"])
def test_lines_of_no_entry_are_skipped(text: str) -> None:
    assert read(text) == []
    schema = pa.schema([("position", pa.int64())])
    parsed = parse_entries(text.encode(), 7, LogClock("UTC"), schema, [b"at"], lambda _: {})
    assert (parsed.rows.num_rows, parsed.faults, parsed.consumed_to) == (0, (), 7 + len(text))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Preparing to rebalance group g in state Stable with old generation 3 (reason: x (y)).",
         {"context": None, "group_id": "g", "generation": "3", "reason": "x (y)"}),
        ("[GroupCoordinator id=1] Preparing to rebalance group a\nb in state Empty with old generation 0 "
         "(reason: r).", {"context": "GroupCoordinator id=1", "group_id": "a\nb", "generation": "0",
                          "reason": "r"}),
        ("Preparing to rebalance group g in state Stable with old generation 3 (reason: x).\njava.E\n\tat a",
         {"context": None, "group_id": "g", "generation": "3", "reason": "x"}),
        ("Stabilized group g generation 4 with 2 members.", None),
        *(
            (f"[{before} [GroupCoordinator id=1 x=] [y] Preparing to rebalance group g in state S with old "
             "generation 0 (reason: r).", {"context": "GroupCoordinator id=1 x=] [y", "group_id": "g",
                                           "generation": "0", "reason": "r"})
            for before in ("main]", "main]:", "main:a.B@7] -")
        ),
    ],
)  # fmt: skip
def test_what_stands_in_the_braces_of_a_message(text: str, told: dict[str, str | None] | None) -> None:
    assert PREPARING.match(text) == told


@pytest.mark.parametrize(
    "around", ["{} - by main", "{} {{trace=1}}", "<main> {}", "info {}", "{}(a.b.C)", "main:a.b.C@7 - {}"]
)
def test_a_message_with_something_unknown_around_it_is_not_lost_in_silence(around: str) -> None:
    said = "Preparing to rebalance group g in state S with old generation 0 (reason: r)."
    entry = f"[2026-11-20 22:02:40,024] {around.format(said)}\n".encode()
    messages = LogMessages(BROKER_LINES, (PREPARING,), lambda _, fields: fields)
    schema = pa.schema([("position", pa.int64())])
    marks = [each.mark for each in messages.messages]
    parsed = parse_entries(entry, 0, LogClock("UTC"), schema, marks, messages.take)
    assert (parsed.rows.num_rows, [each.reason for each in parsed.faults]) == (0, ["bad_line"])


def test_a_message_without_its_other_lines_is_not_lost_in_silence() -> None:
    """As where a collector has put a time before each line of an entry."""
    message = Message("assigned", "C", "Updating assignment with\n\tAssigned: {}", ("partitions",))
    messages = LogMessages(CONSUMER_LINES, (message,), lambda _, fields: fields)
    entry = b"".join(
        b"[2026-11-20 22:02:40,024] INFO %b (a.b.C)\n" % each.encode() for each in message.text.split("\n")
    )
    schema = pa.schema([("position", pa.int64())])
    parsed = parse_entries(entry, 0, LogClock("UTC"), schema, [message.mark], messages.take)
    assert (parsed.rows.num_rows, [each.position for each in parsed.faults]) == (0, [0])


def test_only_one_document_of_json_is_in_a_line() -> None:
    line = '{"time":1795212160024,"message":"said"}'
    with pytest.raises(ValueError, match="something follows its JSON"):
        read(line + line)


def test_a_name_that_can_be_cut_in_two_ways_is_not_known() -> None:
    victim = "g in state S with old generation 9 (reason: q). in state S"
    text = f"Preparing to rebalance group {victim} with old generation 3 (reason: r)."
    assert PREPARING.match(text) == dict.fromkeys(("context", "group_id", "generation", "reason"))


def test_pieces_of_a_file_begin_where_entries_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fencepost.capture.text.CHUNK", 50)
    text = "".join(f"[2026-11-20 22:02:4{n},000] INFO a\n  {n}\n  z (C)\n" for n in range(9)) + "[2026-11"
    file = tmp_path / "log"
    file.write_text(text, encoding="utf-8")
    pieces: list[bytes] = []

    def parse(_: Source, piece: Piece, after_ms: int | None) -> Parsed:
        pieces.append(piece.data)
        return Parsed(pa.record_batch({"n": []}), (), 0, piece.position + len(piece.data), after_ms)

    source = Source("c", None, CLIENT_LOG, str(file), end=len(text))
    list(text_rows(source, parse, lambda _: iter(()), lambda *_: False, last_entry))
    assert b"".join(pieces).decode() == text
    assert len(pieces) > 5
    assert all(piece.startswith(b"[2026") for piece in pieces)


def test_what_goes_on_without_a_time_is_not_collected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each byte is read once, however long a program prints lines that begin no entry."""
    monkeypatch.setattr("fencepost.capture.text.CHUNK", 100)
    monkeypatch.setattr("fencepost.capture.text.LONGEST", 40)
    text = (
        "[2026-11-20 22:02:40,000] INFO a (C)\n"
        + "printed\n" * 200
        + "[2026-11-20 22:02:41,000] INFO b (C)\n"
    )
    file = tmp_path / "log"
    file.write_text(text, encoding="utf-8")
    searched, pieces = list[int](), list[Piece]()

    def last(lines: bytes) -> int:
        searched.append(len(lines))
        return last_entry(lines)

    def parse(_: Source, piece: Piece, after_ms: int | None) -> Parsed:
        pieces.append(piece)
        return Parsed(pa.record_batch({"n": []}), (), 0, piece.position + len(piece.data), after_ms)

    source = Source("c", None, CLIENT_LOG, str(file), end=len(text))
    list(text_rows(source, parse, lambda _: iter(()), lambda *_: False, last))
    assert b"".join(piece.data for piece in pieces).decode() == text
    assert max(searched) <= 40
    assert max(len(piece.data) for piece in pieces) < 200
    assert all(piece.data.endswith(b"\n") for piece in pieces)
    found = [entry for each in pieces for entry in entries(each.data, each.position, LogClock("UTC"))]
    assert [(each.position, each.message.partition("\n")[0]) for each in found] == [
        (0, "a"),
        (text.rindex("["), "b"),
    ]


@given(st.binary(max_size=200))
def test_nothing_that_is_written_ends_a_run(data: bytes) -> None:
    with contextlib.suppress(ValueError):
        list(entries(b"[2026-11-20 22:02:40,024] INFO " + data, 0, LogClock("UTC")))


@pytest.mark.parametrize(
    "written",
    [
        "1e999",
        "-1e300",
        "9" * 25,
        '"' + "9" * 25 + '"',
        '{"epochSecond": 1e999}',
        '{"epochSecond": [1]}',
        "NaN",
    ],
)
def test_a_time_that_is_none_is_a_fault_of_its_line(written: str) -> None:
    with pytest.raises(ValueError):
        read(f'{{"@timestamp": {written}, "level": "INFO", "message": "said"}}')


@pytest.mark.parametrize("end", ["", ")"])
def test_a_name_that_can_be_cut_in_many_ways_is_no_work(end: str) -> None:
    """A client chooses its names, and an audit reads what a broker logs of them."""
    name = "x in state y with old generation 1 (reason: " * 3_000
    began = time.monotonic()
    found = PREPARING.match(
        f"Preparing to rebalance group {name} in state S with old generation 2 (reason: r{end}."
    )
    assert time.monotonic() - began < 1
    assert (found is None) == (end == "")
    assert found is None or found["group_id"] is None


@given(
    st.sampled_from(["a{}b{}a", "{}: {}", "a", "a{}", "ab{}{}b", "] {}b{}a{}", "a{}\nb{}"]),
    st.lists(st.sampled_from(["a", "b", "]", " ", ": ", "[", "] ", "]: ", "\n", "ab"]), max_size=9),
)
def test_a_message_is_cut_as_patterns_cut_it(text: str, said: list[str]) -> None:
    """As little as possible in each pair of braces, and as much: a field is known if both are the same."""
    fields = ("x", "y", "z")[: text.count("{}")]
    message, line = Message("e", "C", text, fields), "".join(said)
    opening, *parts = map(re.escape, text.split("{}"))
    cut: list[re.Match[str] | None] = []
    for inside in (".*?", ".*"):
        rest = "".join(f"(?P<{name}>{inside}){part}" for name, part in zip(fields, parts, strict=True))
        pattern = re.compile(rf"(?:\[(?P<context>{inside})\]:? )?{opening}{rest}", re.DOTALL)
        shorter = "\n".join(line.split("\n")[: text.count("\n") + 1])
        cut.append(pattern.fullmatch(shorter) or pattern.fullmatch(line))
    least, most = cut
    expected = (
        least and most and {name: it if most[name] == it else None for name, it in least.groupdict().items()}
    )
    assert message.match(line) == expected
