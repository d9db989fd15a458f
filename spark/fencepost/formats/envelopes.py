"""Takes off what collectors of logs put around the lines of a program: a time, a host, JSON, parts of a line.

Docker, containerd, CRI-O, journald, syslog and what reads them (``kubectl logs``, ``docker logs``, Fluentd,
Filebeat) store a line in an envelope. What they put before a line is data: ``log_layouts.json``.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

_MAY_BE = re.compile(rb"[^\[\s]|\[\D")
"""How a line begins that may be in an envelope: a line of most logs begins with a time in brackets."""
LEVELS = "TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL|SEVERE|FINE|FINER|FINEST|CONFIG"
_OWN_TIME = rb"(?:\x1b\[[\d;]*m)*(?:\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d|(?:%b) +\[?\d{4}-)" % LEVELS.encode()
"""How an entry begins in most layouts: {entry} of ``log_layouts.json``."""
_TIME = re.compile(r"\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d")
_GOES_ON = ("\t", " ", "{")
"""How a text begins that is a line of a program, although it has no time: it goes on, or it is in JSON."""
_OF_PROGRAMS = frozenset(
    {"level", "log.level", "severity", "levelname", "logger", "logger_name", "loggerName"}
)
"""Members that a program writes itself, into an entry in JSON."""
_CRI_PART = re.compile(rb"\d{4}-\d\d-\d\dT\S+ (?:stdout|stderr) P ")
_DOCKER = b'{"log":"'
_DOCKERS_BUFFER = 16 << 10
"""Docker divides longer lines: each part but the last one has so many bytes, and no line end."""
_RSYSLOGS_TAB = b"#011"
"""Lines that go on begin with a tab in most logs, and rsyslog escapes it."""
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
    return _opened(line)[0]


def written_by(chunk: bytes) -> set[bytes]:
    """Whose lines a chunk has, by what collectors say: pods, hosts; none where they do not say."""
    if not _anywhere().search(chunk):
        return set()
    found = (_opened(line) for line in chunk.splitlines() if _MAY_BE.match(line))
    # a line of an entry of several may look like one in an envelope
    return {whose for text, whose in found if whose and _begins().match(text)}


def _opened(line: bytes) -> tuple[bytes, bytes]:
    """A line as its program wrote it, and whose it is (empty where no envelope says)."""
    whose = b""
    for _ in range(_ENVELOPES):
        if not _MAY_BE.match(line):
            break
        line = line.removeprefix(BOM_UTF8)
        inner, of = _in_json(line) if line.startswith(b"{") else _behind(line)
        if inner == line:
            break
        line, whose = inner, of or whose
    return line, whose


def _behind(line: bytes) -> tuple[bytes, bytes]:
    """What follows what a collector has put before a line."""
    found = _before().match(line)
    if found is None:
        return line, b""
    rest = line[found.end() :]
    if rest.startswith(_RSYSLOGS_TAB):
        rest = rest.replace(_RSYSLOGS_TAB, b"\t", 1)
    return rest, found[found.lastindex] if found.lastindex else b""


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


def _in_json(line: bytes) -> tuple[bytes, bytes]:
    if not _members().search(line):
        return line, b""
    document, sources = _document(line), table()["collected"]["sources"]
    text = _text(document) or _within(document)
    if text is None:
        return line, b""
    whose = next((each for name in sources if isinstance(each := named(document, name), str)), "")
    return text.rstrip("\r\n").encode("utf-8", "replace"), whose.encode("utf-8", "replace")


def _within(document: dict[str, Any]) -> str | None:
    """A document that another one is around, which has no message itself."""
    if any(isinstance(document.get(name), str) for name in table()["json"]["message"]):
        return None
    found = (document.get(name) for name in table()["collected"]["around"])
    inner = next((each for each in found if isinstance(each, dict)), None)
    return None if inner is None else json.dumps(inner, ensure_ascii=False)


def _text(document: dict[str, Any]) -> str | None:
    """The line of a program that a collector has put into JSON; None if it is not told from a program's
    own JSON.
    """
    by_program = bool(_OF_PROGRAMS & document.keys())
    for name in table()["collected"]["of_collectors"]:
        text = document.get(name)
        if name == "MESSAGE" and isinstance(text, list):  # journald, of bytes that are not plain text
            text = _from_numbers(text)
        if isinstance(text, str) and text and (name != "log" or not by_program or _TIME.match(text)):
            return text
    for name in table()["collected"]["of_any"]:
        text = document.get(name)
        if isinstance(text, str) and (_TIME.match(text) or (text.startswith(_GOES_ON) and not by_program)):
            return text
    return None


def _from_numbers(numbers: list[Any]) -> str | None:
    try:
        return bytes(numbers).decode("utf-8", "replace")
    except (TypeError, ValueError):
        return None


def named(document: Mapping[str, Any], name: str) -> Any:
    """The member of this name; ``a.b`` is a member of that name, or b in member a."""
    if name in document:
        return document[name]
    outer, _, inner = name.partition(".")
    within = document.get(outer)
    # process.thread.name
    while inner and isinstance(within, dict):
        if inner in within:
            return within[inner]
        outer, _, inner = inner.partition(".")
        within = within.get(outer)
    return None


def _document(line: bytes) -> dict[str, Any]:
    try:
        # one of an array has a comma behind it
        found = json.loads(line.rstrip(b", \r\n"))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


@cache
def _members() -> re.Pattern[bytes]:
    """The members of which one is in each line of JSON that a collector wrote."""
    of = table()["collected"]
    names = "|".join(map(re.escape, (*of["of_collectors"], *of["of_any"], *of["around"])))
    return re.compile(rf'"(?:{names})" *: *["\[{{]'.encode())


@cache
def _begins() -> re.Pattern[bytes]:
    return re.compile(rb'%b|\{ *"' % _OWN_TIME)


@cache
def _before() -> re.Pattern[bytes]:
    return re.compile(rb"(?:%b)" % b"|".join(_patterns()))


@cache
def _anywhere() -> re.Pattern[bytes]:
    # most lines are in none, and their first bytes say so
    begin = rb"^(?=%b)(?:\{|%b|%b)"
    return re.compile(begin % (_MAY_BE.pattern, BOM_UTF8, b"|".join(_patterns())), re.MULTILINE)


def _patterns() -> Iterator[bytes]:
    time = _OWN_TIME.decode()
    for each in table()["collectors"]:
        text = each["before"].replace("{entry}", f"(?={time})").replace("{line}", rf'(?=\s|\{{ *"|{time})')
        yield text.replace("{level}", LEVELS).encode()
