"""Parses entries of application and broker logs, which have one or more lines each, in many layouts.

An entry begins at a line that begins with a time (or a level and a time, or a JSON object), and ends where
the next one begins. The layouts are data: ``log_layouts.json``. A reader of a log names the messages that it
needs, as the class that logs them spells them (:class:`Message`); all others are skipped and never a fault.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import pairwise
from typing import Any

import pyarrow as pa

from fencepost.formats import envelopes
from fencepost.formats.clock import LogClock
from fencepost.formats.faults import Fault
from fencepost.formats.lines import Parsed

_DATE = rb"\d{4}[-/]\d\d[-/]\d\d[ T]\d\d:\d\d:\d\d"
_LEVELS = envelopes.LEVELS
_COLOUR = re.compile(rb"\x1b\[[\d;]*m")
_BEGINS = re.compile(
    rb"^(?:\x1b\[[\d;]*m)*(?:\[?%b|(?:%b) +\[?%b|\{ *\"|\[?\d\d:\d\d:\d\d[,.]\d{3}|\[?\d{13}[ \]])"
    % (_DATE, _LEVELS.encode(), _DATE),
    re.MULTILINE,
)
LONGEST = 1 << 20
"""Of a longer entry only so many bytes are read."""
_BEFORE_CONTEXT = re.compile(r"\A(?![A-Z]\w* \w+=)[^\]\n]*\](?::| -)? \[(?=[A-Z]\w* \w+=)")
"""What a layout has in brackets before a LogContext: a thread, or what Connect says of a connector."""
UNKNOWN_AROUND = (
    "what stands before or behind the message is in no known layout, or lines of it are missing; have the "
    "program's logging write [%d] %p %m (%c)%n, and what collects it whole lines (docs/operating.md, Layouts)"
)
_TWO_TIMES = "what stands before the message is in no known layout: it has two times"
_TIME = re.compile(
    r"(\d{4})[-/](\d\d)[-/](\d\d)[ T](\d\d:\d\d:\d\d)(?:[,.:](\d{1,9}))?"
    r"(?: ?(?:UTC|GMT)?([+-]\d\d(?::?\d\d)?)| ?([A-Z]{1,5}))?"
)
_WITHOUT_DATE = re.compile(r"\d\d:\d\d:\d\d[,.]\d+")
_NUMBER = re.compile(r"\d{1,19}(?:\.\d{1,9})?")
_MOST_SECONDS = 1e11
"""A greater number is of milliseconds (these are of the year 5138), and so on."""
_UTC = frozenset({"Z", "UTC", "GMT"})
_CLOCK_TIME = re.compile(r"\d\d:\d\d:\d\d")
_PARTS = {
    "time": (
        r"(?P<time>[\d/-]+[ T][\d:]+(?:[,.]\d+)?(?: ?(?:(?:UTC|GMT)?[+-][\d:]{2,5}|Z|UTC|GMT)"
        # CET, or PM; no level
        rf"| (?!(?:{_LEVELS})\b)(?:[A-Z]{{1,3}}T|[A-Z]{{2,5}}(?=\]| +\[| +(?:{_LEVELS})\b)))?"
        r"|\d\d:\d\d:\d\d[,.]\d+|(?<!\d)\d{13}(?!\d))"
    ),
    "level": rf"(?P<level>{_LEVELS})",
    # a time in brackets behind another one is the program's, and that before it a collector's
    "thread": r"(?P<thread>(?!\d{4}-\d\d-\d\d[ T]\d\d:\d\d:)[^\]\n]*?)",
    # with a line number, as %c:%L writes it
    "logger": r"(?P<logger>[\w.$-]+?)(?::\d+)?",
    "message": r"(?P<message>.*?)",
    "_": r"[^\s\]]*",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a log; ``position`` and ``length`` are its place in the file, in bytes.

    ``logged_at_ms``: in UTC; None where the log writes no date. ``level``, ``thread`` and ``logger`` are None
    where the layout has none. ``message`` may have several lines, with those of a stack trace at its end.
    """

    position: int
    length: int
    logged_at_ms: int | None
    level: str | None
    thread: str | None
    logger: str | None
    message: str


@dataclass(frozen=True)
class Message:
    """A message as the class ``logged_by`` spells it, and the field in each pair of braces; ``_`` is dropped.

    Many of Kafka's classes put their context in brackets before a message (LogContext): that is the field
    ``context``. ``goes_on``: the text in the last braces may have any number of lines, each behind a tab.
    """

    event: str
    logged_by: str
    text: str
    fields: tuple[str, ...] = ()
    goes_on: bool = False

    @property
    def mark(self) -> bytes:
        """The longest piece of the first line between braces, by which a log is searched first."""
        return max(self._first, key=len).encode()

    def match(self, text: str) -> dict[str, str | None] | None:
        """The texts in the braces, by field; None if ``text`` is another message.

        Names may have any characters: if a field can be cut out of the text in two ways, it is None.
        """
        # a name may have line ends
        for candidate in dict.fromkeys((self.without_rest(text), text)):
            if (cuts := self._cut(candidate)) is not None:
                names = ("context", *self.fields)[-len(cuts) :] if cuts else ()
                cut = {
                    name: least if least == most else None
                    for name, (least, most) in zip(names, cuts, strict=True)
                }
                cut.pop("_", None)
                if context := cut.get("context"):
                    cut["context"] = _BEFORE_CONTEXT.sub("", context)
                return {"context": None, **cut}
        return None

    def is_within(self, text: str) -> bool:
        """Whether a text has all of the message's first line, wherever. If it does not match, it is in no
        known layout, or lines of it are missing.
        """
        return follow(text, self._first)

    def _cut(self, text: str) -> Sequence[tuple[str, str]] | None:
        """What is in each pair of braces, the context first if there is one: as little, and as much, as can
        be.
        """
        opening, *others = self.text.split("{}")
        pieces = [(each,) for each in others]
        found = None
        if text.startswith("["):
            found = cuts(text, [(f"]: {opening}", f"] {opening}"), *pieces], 1)
        if found is None and text.startswith(opening):
            found = cuts(text, pieces, len(opening))
        return found

    def without_rest(self, text: str) -> str:
        """The first lines of a text, as many as the message has: a stack trace may follow."""
        return text if self.goes_on else "\n".join(text.split("\n", self._lines)[: self._lines])

    def may_go_on(self, entry: bytes) -> bool:
        """Whether this entry may be the beginning of the message, so that more lines of it may
        still follow.
        """
        first, *others = entry.removesuffix(b"\n").split(b"\n")
        missing = self._lines > 1 + len(others)
        if self.goes_on:
            missing = not others or others[-1].startswith(b"\t")
        return missing and not first.startswith(b"{") and self.mark in first

    @property
    def _lines(self) -> int:
        return self.text.count("\n") + 1

    @property
    def _first(self) -> list[str]:
        """The pieces of the first line between braces."""
        return self.text.partition("\n")[0].split("{}")


def follow(text: str, pieces: Sequence[str]) -> bool:
    """Whether a text has these pieces one behind the other."""
    at = 0
    for piece in pieces:
        found = text.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return True


def cuts(text: str, pieces: Sequence[tuple[str, ...]], begin: int) -> list[tuple[str, str]] | None:
    """What stands before each piece (one of several texts), from ``begin`` on: as little, and as much, as can
    be. None if the pieces do not follow each other up to the end of the text.

    A pattern would try all ways to cut the text, and names can be written so that there are millions.
    """
    if not pieces:
        return [] if begin == len(text) else None
    closing = next((each for each in pieces[-1] if text.endswith(each)), None)
    if closing is None:
        return None
    end = len(text) - len(closing)
    least, at = [], begin
    for piece in pieces[:-1]:
        first = min(
            ((place, each) for each in piece if (place := text.find(each, at, end)) >= 0), default=None
        )
        if first is None:
            return None
        least.append(text[at : first[0]])
        at = first[0] + len(first[1])
    if at > end:
        return None
    least.append(text[at:end])
    # from the end on, each piece as late as those behind it allow
    places, before = [(end, len(text))], end
    for piece in reversed(pieces[:-1]):
        before, each = max((text.rfind(each, begin, before), each) for each in piece)
        places.append((before, before + len(each)))
    most, at = [], begin
    for starts, ends in reversed(places):
        most.append(text[at:starts])
        at = ends
    return list(zip(least, most, strict=True))


Take = Callable[[Entry], dict[str, Any] | None]
"""A function that returns the row of an entry, without its position, or None to skip the entry. It may raise
ValueError for a damaged one.
"""


def parse_entries(  # noqa: PLR0917 (as formats.lines.parse)
    chunk: bytes,
    base_position: int,
    clock: LogClock,
    schema: pa.Schema,
    marks: Sequence[bytes],
    take: Take,
) -> Parsed:
    """Parse the entries of ``chunk``, which begins at file position ``base_position``.

    Only entries that contain one of ``marks`` are parsed. Lines before the first entry belong to one that
    began before the chunk; they are skipped. Envelopes of collectors are taken off. Rows are of ``schema``,
    which has the column ``position``.
    """
    rows: list[dict[str, Any]] = []
    faults: list[Fault] = []
    any_mark = re.compile(b"|".join(re.escape(mark) for mark in marks))
    plain = envelopes.plain(chunk)
    begins = _begins(plain.data)
    marked = {bisect_right(begins, found.start()) - 1 for found in any_mark.finditer(plain.data)}
    for number in sorted(marked - {-1}):
        start, end = begins[number], begins[number + 1] if number + 1 < len(begins) else len(plain.data)
        place = plain.place(start)
        try:
            entry = read_entry(plain.data[start:end], base_position + place, clock)
            row = take(entry)
        except ValueError as error:
            length = plain.place(end) - place
            faults.append(Fault(base_position + place, length, "bad_line", f"no entry: {error}"))
            continue
        if row is not None:
            rows.append({"position": entry.position, **row})
    columns = [pa.array([row[field.name] for row in rows], field.type) for field in schema]
    batch = pa.RecordBatch.from_arrays(columns, schema=schema)
    skipped = len(begins) - len(rows) - len(faults)
    consumed_to = base_position + len(chunk)
    return Parsed(batch, tuple(faults), skipped, consumed_to, clock.last_ms, clock.is_in_order)


def entries(chunk: bytes, base_position: int, clock: LogClock) -> Iterator[Entry]:
    """Every entry of ``chunk``; raises ValueError at an entry without a readable time."""
    plain = envelopes.plain(chunk)
    begins = _begins(plain.data)
    for start, end in pairwise([*begins, len(plain.data)]):
        yield read_entry(plain.data[start:end], base_position + plain.place(start), clock)


def _begins(chunk: bytes) -> list[int]:
    """Where each entry begins; it ends where the next one begins."""
    return [match.start() for match in _BEGINS.finditer(chunk)]


def first_line(head: bytes) -> bytes | None:
    """The first line of the first entry in these bytes, as far as they go, in its envelope; None if no entry
    begins in them.
    """
    begin = _BEGINS.search(head)
    if begin is not None:
        return head[begin.start() :].partition(b"\n")[0].rstrip(b"\r")
    return next((line.rstrip(b"\r") for line in head.split(b"\n") if begins_entry(line)), None)


def begins_entry(line: bytes) -> bool:
    """Whether an entry begins with this line."""
    return _BEGINS.match(envelopes.plain_line(line)) is not None


def time_before(beginning: str) -> str | None:
    """The time in the text before a message; None where no layout has such a text before the message."""
    plain = _COLOUR.sub(b"", beginning.encode()).decode()
    for layout in _beginnings():
        if match := layout.fullmatch(plain):
            return match["time"]
    return None


def only_time(beginning: str) -> str:
    """The time in the text before a message, in any layout. Raises ValueError if it is not known which it
    is.
    """
    if time := time_before(beginning):
        return time
    found = re.search(_PARTS["time"], beginning)
    if found is None:
        raise ValueError("what stands before the message is in no known layout: no time was found in it")
    if len(_CLOCK_TIME.findall(beginning)) > 1:
        raise ValueError(_TWO_TIMES)
    return found["time"]


def without_colours(line: bytes) -> bytes:
    """A line without what gives it colours."""
    return _COLOUR.sub(b"", line)


def last_entry(lines: bytes) -> int:
    """Where the last entry in these whole lines begins; 0 if they are one entry, or part of one."""
    begin = 0
    at = len(lines)
    # search backwards: there may be megabytes before the last entry
    while at > 0 and not begin:
        end, at = at, lines.rfind(b"\n", 0, at - 1) + 1
        begin = at if begins_entry(lines[at:end]) else 0
    return begin


def read_entry(data: bytes, position: int, clock: LogClock) -> Entry:
    """Parse the lines of one entry; raises ValueError if it has no readable time."""
    text = _COLOUR.sub(b"", data[:LONGEST]).decode("utf-8", "replace").replace("\r\n", "\n").rstrip("\n")
    parts = of_json(text) if text.startswith("{") else _of_text(text)
    return Entry(
        position,
        len(data),
        moment(parts["time"], clock),
        parts.get("level"),
        (parts.get("thread") or "").strip() or None,
        parts.get("logger"),
        parts.get("message") or "",
    )


def _of_text(text: str) -> Mapping[str, Any]:
    for layout in _layouts():
        if match := layout.match(text):
            parts = match.groupdict()
            # in Kafka's layout the logger follows the message, and then a stack trace
            rest = text[match.end() :].lstrip(" \r")
            return {**parts, "message": (parts["message"] or "") + rest} if rest else parts
    time = re.search(_PARTS["time"], text)
    if time is None:
        raise ValueError("it has no time")
    message = text[time.end() :].lstrip("] ")
    if _TIME.match(message.lstrip("[")):
        raise ValueError(_TWO_TIMES)
    return {"time": time["time"], "message": message}


def of_json(text: str) -> Mapping[str, Any]:
    """Time, level, thread, logger and message of an entry that is a JSON object; raises ValueError."""
    try:
        document, end = json.JSONDecoder().raw_decode(text)
    except RecursionError as error:
        raise ValueError("its JSON is too deep") from error
    if not isinstance(document, dict):
        raise ValueError("its JSON is no object")
    if text[end:].partition("\n")[0].strip(" ,]\r"):
        raise ValueError(
            "something follows its JSON in the line: write each document into a line of its own (jq -c .)"
        )
    by_role = {
        role: next((each for name in names if (each := envelopes.named(document, name)) is not None), None)
        for role, names in envelopes.table()["json"].items()
    }
    if by_role["time"] is None:
        raise ValueError("its JSON has no time")
    return {
        role: value if role == "time" or isinstance(value, str) else None for role, value in by_role.items()
    }


def moment(time: Any, clock: LogClock) -> int | None:
    """A time as milliseconds since the epoch; None for a time without a date. A time without a zone is in
    that of ``clock``. Raises ValueError.
    """
    try:
        ms = _moment(time, clock)
    except (OverflowError, TypeError) as error:
        raise ValueError(f"its time is none: {str(time)[:40]}") from error
    if ms is not None and not -(2**63) <= ms < 2**63:
        raise ValueError(f"its time is none: {str(time)[:40]}")
    return ms


def _moment(time: Any, clock: LogClock) -> int | None:
    if isinstance(time, dict):  # Log4j's instant
        time = int(time.get("epochSecond") or 0) * 1000 + int(time.get("nanoOfSecond") or 0) // 1_000_000
    text = str(time)
    if isinstance(time, str) and _NUMBER.fullmatch(text):
        time = float(text) if "." in text else int(text)
    if isinstance(time, int | float):
        return clock.note(_of_number(time))
    if _WITHOUT_DATE.fullmatch(text):
        return None
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(f"its time is in no known form: {text[:40]}")
    year, month, day, clock_time, fraction, offset, zone = match.groups()
    shown = f"{year}-{month}-{day} {clock_time}.{(fraction or '0')[:3]:0<3}"
    if zone is not None and zone not in _UTC:
        return clock.read_named(shown, zone)
    if offset is None and zone is None:
        return clock.read(shown)
    moment = datetime.fromisoformat(shown + (offset or "+00:00"))
    return clock.note(round(moment.timestamp() * 1000))


def _of_number(time: float) -> int:
    """A number of seconds, milliseconds, microseconds or nanoseconds, whichever is of our days, in
    milliseconds.
    """
    if abs(time) < _MOST_SECONDS:
        return round(time * 1000)
    for _ in range(2):
        if abs(time) >= _MOST_SECONDS * 1000:
            time = time // 1000
    return int(time)


@cache
def _layouts() -> tuple[re.Pattern[str], ...]:
    return tuple(_compiled(layout["entry"]) for layout in envelopes.table()["layouts"])


@cache
def _beginnings() -> tuple[re.Pattern[str], ...]:
    """The part before the message of each layout, as patterns."""
    before = dict.fromkeys(
        layout["entry"].partition("{message}")[0] for layout in envelopes.table()["layouts"]
    )
    return tuple(re.compile(_pattern(each)) for each in before)


def _compiled(layout: str) -> re.Pattern[str]:
    """A layout as a pattern. The message ends at a line's end if the layout has something after it, such as
    the logger, else at the end of the entry.
    """
    end = r"(?=[ \r]*(?:\n|\Z))" if not layout.endswith("{message}") else r"\Z"
    return re.compile(_pattern(layout) + end, re.DOTALL)


def _pattern(layout: str) -> str:
    pieces = re.split(r"\{(\w+)\}", layout)
    pattern = "".join(
        _PARTS[piece] if number % 2 else re.escape(piece).replace(r"\ ", " +")
        for number, piece in enumerate(pieces)
    )
    # "logger : message" is also written without the blank before the colon
    return pattern.replace(" +: +", " *: +")
