"""What the report says of evidence that is missing or could not be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fencepost.report.unread import unread_lines
from fencepost.settings import Lake, Settings

SETTINGS = Settings(Path("fencepost.toml").absolute(), Lake("warehouse", "sqlite:///catalog.db"), ())


def _row(**values: Any) -> dict[str, Any]:
    row = {
        "cluster": "c",
        "broker_id": 1,
        "kind": "segment",
        "reason": "bad_crc",
        "file": "/logs/00000000000000000000.log",
        "entries": 1,
        "first_position": 61,
        "detail": "the checksum is wrong",
    }
    return {**row, **values}


def _text(*unread: dict[str, Any]) -> str:
    return " ".join(line.strip() for line in unread_lines(unread, SETTINGS))


def test_without_any_the_report_has_no_line() -> None:
    assert unread_lines([], SETTINGS) == []


def test_what_is_missing_comes_first_with_what_to_do() -> None:
    missing = _row(
        broker_id=3,
        kind="request_log",
        reason="missing",
        file="/logs/kafka-request.log*",
        first_position=0,
        detail="no file matches: correct request_logs",
    )
    words = _text(_row(), missing)
    assert (
        "broker 3, request log /logs/kafka-request.log*: missing: no file matches: correct request_logs"
        in words
    )
    assert (
        "broker 1, segment /logs/00000000000000000000.log: bad crc at byte 61: the checksum is wrong" in words
    )
    assert words.index("broker 3") < words.index("broker 1")


def test_a_file_of_a_client_with_several_places() -> None:
    words = _text(_row(broker_id=None, kind="client_log", reason="cut_line", entries=4, first_position=7))
    assert "client log /logs/00000000000000000000.log: cut line 4 times, first at byte 7" in words
    assert "broker" not in words


def test_a_hostile_name_writes_no_line_of_its_own() -> None:
    (*_, last) = unread_lines([_row(file="x\x1b[2J\nCRITICAL  nothing", detail="\r")], SETTINGS)
    assert "\x1b" not in last
    assert not any(
        line.startswith("CRITICAL") for line in unread_lines([_row(file="x\nCRITICAL  nothing")], SETTINGS)
    )


def test_of_many_the_report_has_some_and_says_how_to_see_all() -> None:
    lines = unread_lines([_row(file=f"/logs/{number}.log") for number in range(12)], SETTINGS)
    assert sum("/logs/" in line for line in lines) == 5
    assert "and 7 more: fencepost sql" in " ".join(line.strip() for line in lines)
