"""A client's log that is read while it is written: wherever one run stopped, the next one goes on."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from fencepost.capture.plan import Source
from fencepost.capture.rows import OUTCOME
from fencepost.protocols.lag_report.logs import STREAMS_MESSAGES

LOG = Path(__file__).parents[1] / "captures/lags-3.9.2/clients/both-b.log"


@pytest.fixture(scope="module")
def excerpt() -> bytes:
    """A configuration, an assignment and what was logged around them; an exception of a task's directory."""
    lines = LOG.read_bytes().splitlines(keepends=True)
    config = [each for each in lines[:60] if each.startswith((b"[", b"\tapp", b"\tstate"))]
    deletion = (
        b"[2026-11-22 13:07:33,539] ERROR stream-thread [both-b-CleanupThread] Swallowed the following "
        b"exception during deletion of obsolete state directory 0_1 for task 0_1: "
        b"(org.apache.kafka.streams.processor.internals.StateDirectory)\n"
        b"java.nio.file.NoSuchFileException: /tmp/0_1\n\tat java.base/sun.nio.fs.X(Y.java:1)\n"
    )
    return b"".join([lines[0], *config[1:8], *lines[112:120], deletion, lines[118]])


def rows(file: Path, start: int) -> tuple[list[dict[str, Any]], int]:
    """What a run that begins at a position makes of the file, and where the next one begins."""
    source = Source("c", None, "client_log", str(file), start, file.stat().st_size, client="both-b")
    found: list[dict[str, Any]] = []
    upto = start
    for table, batch in STREAMS_MESSAGES.rows(source):
        if table is OUTCOME:
            upto = max(each["consumed_to"] for each in batch.to_pylist())
        else:
            found += batch.drop_columns(["file_begins"]).to_pylist()
    return found, upto


def test_wherever_a_log_was_cut_its_entries_are_read_once_and_whole(tmp_path: Path, excerpt: bytes) -> None:
    file = tmp_path / "both-b.log"
    file.write_bytes(excerpt)
    whole, _ = rows(file, 0)
    assert {"configured", "assignment", "deletion_failed"} <= {each["event"] for each in whole}
    ends = {at + 1 for at, each in enumerate(excerpt) if each == ord("\n")}
    for cut in sorted({*ends, *range(1, len(excerpt), 13)}):
        file.write_bytes(excerpt[:cut])
        before, upto = rows(file, 0)
        file.write_bytes(excerpt)
        after, _ = rows(file, upto)
        assert before + after == whole, f"cut at {cut}"


def test_a_configuration_at_the_end_of_a_log_is_read_when_its_last_line_is_there(tmp_path: Path) -> None:
    file = tmp_path / "both-b.log"
    text = LOG.read_bytes()
    last = text.index(b"\n", text.index(b"\n (org.apache.kafka.streams.StreamsConfig)") + 1) + 1
    file.write_bytes(text[:last])
    found, upto = rows(file, 0)
    assert [each["event"] for each in found] == ["configured"]
    assert upto == last
    file.write_bytes(text[: text.rindex(b"\n", 0, last - 1) + 1])
    assert rows(file, 0) == ([], 0)


def test_an_assignment_at_the_end_of_a_log_is_read(tmp_path: Path, excerpt: bytes) -> None:
    file = tmp_path / "both-b.log"
    end = excerpt.index(b"Existing standby tasks")
    file.write_bytes(excerpt[: excerpt.index(b"\n", end) + 1])
    found, upto = rows(file, 0)
    assert found[-1]["event"] == "assignment"
    assert upto == file.stat().st_size


def test_what_a_layout_has_in_brackets_before_messages_changes_none(tmp_path: Path) -> None:
    """As Connect's does, and layouts with the thread there."""
    file, told = tmp_path / "both-b.log", []
    for before in (b"", b"[app|task-0] "):
        file.write_bytes(re.sub(rb"^(\[2026-[^]]*\] [A-Z]+ )", rb"\1" + before, LOG.read_bytes(), flags=re.M))
        found, _ = rows(file, 0)
        told.append([{**each, "position": 0, "line_digest": ""} for each in found])
    assert len(told[0]) > 20
    assert told[0] == told[1]
