"""Takes off what collectors of logs put around the lines of a program: a time, a host, JSON, parts of a line.

Docker, containerd, CRI-O, journald, syslog and what reads them (``kubectl logs``, ``docker logs``, Fluentd,
Filebeat) store a line in an envelope. What they put before a line is data: ``log_layouts.json``.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from codecs import BOM_UTF8
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

_MAY_BE = re.compile(rb"[^\[\s]|\[\D")
"""How a line begins that may be in an envelope: a line of most logs begins with a time in brackets."""
_JSON = re.compile(rb'"log" *: *"|"message" *: *"(?:\[?\d{4}-\d\d-\d\d[ T]|\\t| )')
_TIME = re.compile(r"\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d")
_OF_PROGRAMS = frozenset(
    {"level", "log.level", "severity", "levelname", "logger", "logger_name", "loggerName"}
)
"""Members that a program writes itself, into an entry in JSON."""
_CRI_PART = re.compile(rb"\d{4}-\d\d-\d\dT\S+ (?:stdout|stderr) P ")
_DOCKER = b'{"log":"'
_DOCKERS_BUFFER = 16 << 10
"""Docker divides longer lines: each part but the last one has so many bytes, and no line end."""
_ENVELOPES = 4


class Line(NamedTuple):
    """A line of a program without its envelope, where it begins and ends, and where the next one begins."""

    text: bytes
    begin: int
    end: int
    following: int


class Plain(NamedTuple):
    """The lines of a chunk without envelopes. ``begins``: where each line begins in ``data``; ``places``: in
    the chunk.
    """

    data: bytes
    begins: list[int]
    places: list[int]

    def place(self, at: int) -> int:
        """Where in the chunk the line is that has this byte of ``data``."""
        return self.places[bisect_right(self.begins, at) - 1] if self.places else at


@cache
def table() -> dict[str, Any]:
    """What ``log_layouts.json`` says."""
    text = files("fencepost.formats").joinpath("log_layouts.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def plain_line(line: bytes) -> bytes:
    """A line as its program wrote it; one that is in no envelope stays as it is."""
    for _ in range(_ENVELOPES):
        if not _MAY_BE.match(line):
            break
        line = line.removeprefix(BOM_UTF8)
        inner = _in_json(line) if line.startswith(b"{") else _before().sub(b"", line, count=1)
        if inner == line:
            break
        line = inner
    return line


def plain(chunk: bytes) -> Plain:
    """The whole lines of a chunk, which begins where a line does."""
    if not _anywhere().search(chunk):
        return Plain(chunk, [], [])
    data, begins, places, at = [], [], [], 0
    for line in lines(chunk, final=True):
        begins.append(at)
        places.append(line.begin)
        data.append(line.text + b"\n")
        at += len(data[-1])
    return Plain(b"".join(data), [*begins, at], [*places, len(chunk)])


def lines(chunk: bytes, *, final: bool = False) -> Iterator[Line]:
    """The lines of a chunk, which begins where a line does. What was divided is one line.

    A last line without a line end, or without its last part, is left out unless ``final``.
    """
    parts: list[Line] = []
    begin = 0
    while begin < len(chunk):
        newline = chunk.find(b"\n", begin)
        if newline < 0 and not final:
            break
        end = len(chunk) if newline < 0 else newline
        raw = chunk[begin:end].removesuffix(b"\r")
        may_be = _MAY_BE.match(raw) is not None
        line = Line(plain_line(raw) if may_be else raw, begin, begin + len(raw), min(end + 1, len(chunk)))
        begin = end + 1
        if may_be and is_part(raw):
            parts.append(line)
        else:
            yield _joined([*parts, line]) if parts else line
            parts = []
    if final and parts:
        yield _joined(parts)


def end_of_lines(chunk: bytes) -> int:
    """Where the last whole line of a chunk ends, none of whose parts is missing; 0 if there is none."""
    end = chunk.rfind(b"\n") + 1
    while end and is_part(chunk[(begin := chunk.rfind(b"\n", 0, end - 1) + 1) : end - 1]):
        end = begin
    return end


def is_part(line: bytes) -> bool:
    """Whether the rest of a line follows in later lines."""
    if not line.startswith(_DOCKER):
        return _CRI_PART.match(line) is not None
    if len(line) < _DOCKERS_BUFFER:
        return False
    text = _document(line).get("log", "\n")
    return (
        isinstance(text, str)
        and not text.endswith("\n")
        and len(text.encode("utf-8", "replace")) >= _DOCKERS_BUFFER
    )


def _joined(parts: list[Line]) -> Line:
    text = b"".join(each.text for each in parts)
    return parts[-1]._replace(text=text, begin=parts[0].begin)


def _in_json(line: bytes) -> bytes:
    if not _JSON.search(line):
        return line
    document = _document(line)
    text = next((each for name in ("log", "message") if isinstance(each := document.get(name), str)), "")
    if not text or (_OF_PROGRAMS & document.keys() and not _TIME.match(text)):
        return line
    return text.rstrip("\r\n").encode("utf-8", "replace")


def _document(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


@cache
def _before() -> re.Pattern[bytes]:
    return re.compile(rb"\A(?:%b)" % b"|".join(each["before"].encode() for each in table()["collectors"]))


@cache
def _anywhere() -> re.Pattern[bytes]:
    before = b"|".join(each["before"].encode() for each in table()["collectors"])
    return re.compile(rb"^(?:\{|%b)" % before, re.MULTILINE)
