"""Finds the request, and the time at which it was logged, in lines of the request log in any layout."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from fencepost.formats import log_entries
from fencepost.formats.clock import LogClock

MARK = b"Completed request:"
"""The beginning of the request logger's message (RequestChannel), before the JSON."""

LOGGER = b"kafka.request.logger"

_JSON = re.compile(rb'"\s*[:,\]}]|[{\[,:]\s*"|[^ -~\t\x80-\xff]')
"""What JSON has around its names and texts. Bytes that no log has may be of a line that was damaged."""
_TAIL = re.compile(rb" *(?:\([\w.$:-]+\))? *(?:\[[^\]\"{}]*\])? *")
_FRACTION = re.compile(r"[,.]\d{3}|\d\d:\d\d:\d\d:\d{3}|\d{13}")
_NOT_ALL = re.compile(rb'"MESSAGE" *: *null')
_ANOTHER = MARK + b'{"isForwarded"'
# Quotes inside a JSON string are escaped, so no name can pass for these.
_ELSEWHERE = re.compile(rb'"requestApiKeyName"|\\"requestApiKeyName\\"')
_BLOB = re.compile(rb"\[[\d.]+[BKMG] blob data\]")
_PRETTY = re.compile(rb'\s*"\w+": *"')
_SPACED = re.compile(rb'\s|\{\s|\{"\w*"(?:\s|:\s)')
_NOT_READ = "in a form that is not read (docs/operating.md, Layouts)"
_TRUNCATED = (
    "it begins with zeros: the file was emptied while the broker wrote it (copytruncate of logrotate), and "
    "what was written meanwhile is lost; have Log4j roll the file, or logrotate rename it"
)
SEVERAL = "it has several requests: what collects lines has put them into one (docs/operating.md, Layouts)"
_IN_SEVERAL_LINES = "one document of JSON is in several lines"
_REMEDY = (
    "have the broker's logging write [%d] %p %m (%c)%n, and its collector a line of it in each line "
    "(docs/operating.md, Layouts)"
)


def is_one(line: bytes) -> bool:
    """Whether a line has one request at most. A program that collects lines may put several into one."""
    return line.count(_ANOTHER) < 2


class LocatedRequest(NamedTuple):
    """A request in a line: its JSON begins at ``start`` in ``text``, without blanks between its parts;
    ``time`` is the line's time as written.
    """

    text: bytes
    start: int
    time: object


def placed(line: bytes) -> LocatedRequest | None:
    """Locate the request in a line; None for a line without one.

    Raises ValueError for the rest of a line that was cut, and for a line in no known layout.
    """
    line = log_entries.without_colours(line)
    at = line.find(MARK)
    if at < 0:
        if line.startswith(b"{") and _NOT_ALL.search(line):
            raise ValueError("journald has left out what is longer than 4,096 bytes: journalctl needs --all")
        if _BLOB.fullmatch(line):
            raise ValueError("journalctl shows no text of this line: it needs --all")
        if _ELSEWHERE.search(line):
            raise ValueError(f"it has a request without the words {MARK.decode()!r}; {_REMEDY}")
        if not log_entries.begins_entry(line) and _may_be_a_rest(line):
            raise ValueError(
                f"it does not begin with a timestamp; it is the rest of a line that was cut, or {_NOT_READ}"
            )
        return None
    if line.startswith(b"\0"):
        raise ValueError(_TRUNCATED)
    if line.startswith(b'{""', at + len(MARK)):
        raise ValueError(f"its quotes are doubled, as in CSV, which is {_NOT_READ}")
    if line.startswith(b"{"):
        return _of_json(line)
    time = log_entries.time_before(line[:at].decode("utf-8", "replace"))
    if time is None:
        what = "what stands before the request is in no known layout"
        raise ValueError(f"{_IN_SEVERAL_LINES if _PRETTY.match(line) else what}; {_REMEDY}")
    return _located(line, at + len(MARK), time)


def _located(text: bytes, start: int, time: object) -> LocatedRequest:
    """The request as brokers write it, without blanks between the parts of its JSON: who has read it and
    wrote it again may have put some there. Raises ValueError.
    """
    if text.startswith(b"RequestHeader(", start):
        raise ValueError("brokers before 2.8 log requests as text, not as JSON (KIP-673): it is not read")
    if _SPACED.match(text, start) and is_whole(text, start):
        end = end_of_request(text, start)
        written = json.dumps(json.loads(text[start:end]), ensure_ascii=False, separators=(",", ":"))
        text = text[:start] + written.encode() + text[end:]
    return LocatedRequest(text, start, time)


def _may_be_a_rest(line: bytes) -> bool:
    """Whether a line without a time may be a part of a request that was cut. Entries of other loggers in the
    same file may have several lines (the log cleaner's, stack traces): these have no JSON.
    """
    words = line.strip()
    return bool(words) and (
        _JSON.search(words) is not None or is_whole(line, 0) or (b" (%b)" % LOGGER).endswith(words)
    )


def moment(time: object, clock: LogClock) -> int:
    """A time as milliseconds since the epoch. Raises ValueError if it has no date or no milliseconds."""
    ms = log_entries.moment(time, clock) if _has_fraction(time) else None
    if ms is None:
        raise ValueError(
            f"the time {time!r} has no date or no milliseconds; have the broker's logging write both"
        )
    return ms


def _has_fraction(time: object) -> bool:
    """Whether a time is more exact than a second."""
    if isinstance(time, dict):  # Log4j's instant
        return isinstance(time.get("nanoOfSecond"), int)
    if isinstance(time, float):  # GELF's seconds
        return True
    return _FRACTION.search(json.dumps(time)) is not None


def end_of_request(line: bytes, start: int) -> int:
    """Where the JSON that begins at ``start`` ends. A layout may have only the logger and the thread behind
    it.

    Raises ValueError if anything else follows, since then the line was cut.
    """
    if not is_whole(line, start):
        raise ValueError("its end is missing")
    return line.rfind(b"}") + 1


def is_whole(line: bytes, start: int) -> bool:
    """Whether a line does not seem to be cut, as far as its last bytes tell."""
    end = line.rfind(b"}", start) + 1
    return end > 0 and _TAIL.fullmatch(line, end) is not None


def _of_json(line: bytes) -> LocatedRequest:
    try:
        entry = log_entries.of_json(line.decode("utf-8"))
    except ValueError as error:
        raise ValueError(f"{error}; {_REMEDY}") from error
    text = (entry.get("message") or "").encode("utf-8")
    if not text.startswith(MARK):
        raise ValueError(f"its JSON has the request in no known member; {_REMEDY}")
    return _located(text, len(MARK), entry["time"])
