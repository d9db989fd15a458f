"""Local times of the hour that a clock shows twice: in which pass a log, or what a run reads of it, is."""

from __future__ import annotations

import gzip
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fencepost.capture.plan import REQUEST_LOG, Source
from fencepost.capture.second_pass import newest_before
from fencepost.capture.text import Piece, text_rows
from fencepost.formats.lines import Parsed
from fencepost.formats.request_log import every_line, parse_lines

BERLIN = "Europe/Berlin"
BODY = (
    'Completed request:{"isForwarded":false,"requestHeader":{"requestApiKey":8,"requestApiVersion":9,'
    '"correlationId":1,"clientId":"c","requestApiKeyName":"OFFSET_COMMIT"},"request":{},"response":{},'
    '"connection":"a:1-b:2-0","totalTimeMs":1.5} (kafka.request.logger)'
)
BEFORE = [f"01:{minute:02}" for minute in range(0, 60, 5)]
HOUR = [f"02:{minute:02}" for minute in range(0, 60, 5)]
AFTER = [f"03:{minute:02}" for minute in range(0, 60, 5)]


def text(clock: list[str], layout: str = "[2026-10-25 %s:00,000] DEBUG ") -> list[bytes]:
    return [f"{layout % time}{BODY}\n".encode() for time in clock]


def read(file: Path, start: int, end: int, written: str, zone: str = BERLIN) -> list[str]:
    """The lines' times in UTC, of a file that was written last at a time in UTC."""
    ms = datetime.fromisoformat(f"2026-10-25T{written}:00+00:00").timestamp()
    os.utime(file, (ms, ms))
    times: list[int] = []

    def parse(source: Source, piece: Piece, after_ms: int | None) -> Parsed:
        wanted = {"OFFSET_COMMIT": [every_line]}
        parsed = parse_lines(piece.data, wanted, piece.position, source.timezone, after_ms=after_ms)
        times.extend(parsed.rows["logged_at_ms"].to_pylist())
        return parsed

    source = Source("c", 1, REQUEST_LOG, str(file), start, end, timezone=zone)
    list(text_rows(source, parse, lambda _: iter(()), lambda *_: False))
    return [datetime.fromtimestamp(each / 1000, UTC).strftime("%H:%M") for each in times]


def utc(clock: list[str], hours: int) -> list[str]:
    return [f"{(int(each[:2]) - hours) % 24:02}{each[2:]}" for each in clock]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("clock", "written", "expected"),
    [
        (HOUR, "01:55", utc(HOUR, 1)),
        (HOUR, "00:55", utc(HOUR, 2)),
        # a copy, of which nothing says when its log was written
        (HOUR, "09:00", utc(HOUR, 2)),
        ([*HOUR[6:], *AFTER], "09:00", [*utc(HOUR[6:], 1), *utc(AFTER, 1)]),
        ([*HOUR[6:], *HOUR], "01:55", [*utc(HOUR[6:], 2), *utc(HOUR, 1)]),
        ([*HOUR, *HOUR, *AFTER], "02:55", [*utc(HOUR, 2), *utc(HOUR, 1), *utc(AFTER, 1)]),
        ([*BEFORE, *HOUR], "00:55", [*utc(BEFORE, 2), *utc(HOUR, 2)]),
        (AFTER, "02:55", utc(AFTER, 1)),
    ],
)
def test_a_file_that_begins_in_the_hour(
    clock: list[str], written: str, expected: list[str], *, packed: bool, tmp_path: Path
) -> None:
    """Logging libraries that name files by the hour replace the first pass's file by the second's."""
    file, data = tmp_path / "kafka-request.log.2026-10-25-02", b"".join(text(clock))
    file.write_bytes(gzip.compress(data) if packed else data)
    assert read(file, 0, file.stat().st_size, written) == expected


@pytest.mark.parametrize("layout", ["[2026-10-25 %s:00,000] DEBUG ", "2026-10-25T%s:00.000 DEBUG [t] a.B - "])
@pytest.mark.parametrize("begin", [[*BEFORE, *HOUR], HOUR, HOUR[6:]])
def test_a_run_that_reads_on_within_the_hour(begin: list[str], layout: str, tmp_path: Path) -> None:
    """A collector looks once a minute: only what it has read before tells the second pass."""
    file, file_lines = tmp_path / "kafka-request.log", text([*begin, *HOUR, *AFTER], layout)
    expected = [*utc(begin, 2), *utc(HOUR, 1), *utc(AFTER, 1)]
    for number, moment in enumerate(expected):
        file.write_bytes(b"".join(file_lines[: number + 1]))
        start, end = (len(b"".join(file_lines[:upto])) for upto in (number, number + 1))
        assert read(file, start, end, moment) == [moment]


def test_a_log_of_the_second_pass_is_read_on(tmp_path: Path) -> None:
    file, file_lines = tmp_path / "kafka-request.log", text([*HOUR, *AFTER])
    for number, moment in enumerate([*utc(HOUR, 1), *utc(AFTER, 1)]):
        file.write_bytes(b"".join(file_lines[: number + 1]))
        start, end = (len(b"".join(file_lines[:upto])) for upto in (number, number + 1))
        assert read(file, start, end, moment) == [moment]


@pytest.mark.parametrize("zone", ["UTC", "+01:00", "Asia/Kolkata"])
def test_a_zone_without_summer_time_asks_for_nothing(zone: str, tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_bytes(b"".join(text(HOUR)))

    def written() -> float:
        raise AssertionError

    with file.open("rb") as opened:
        source = Source("c", 1, REQUEST_LOG, str(file), 0, file.stat().st_size, timezone=zone)
        assert newest_before(opened, source, written, compressed=False) is None


def test_times_with_a_zone_have_one_meaning(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_bytes(b"".join(text(HOUR, "[2026-10-25T%s:00.000+02:00] DEBUG ")))
    assert read(file, 0, file.stat().st_size, "01:55") == utc(HOUR, 2)
