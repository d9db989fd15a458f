"""The broker's request log (``kafka.request.logger``) to Arrow: what carries epochs, or serves producers."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

import pyarrow as pa

from fencepost.formats.clock import LogClock
from fencepost.formats.lines import Parsed, parse

# Kafka's ApiKeys names, as requestApiKeyName spells them.
APIS = frozenset(
    {
        "OFFSET_COMMIT",
        "TXN_OFFSET_COMMIT",
        "OFFSET_FETCH",
        "JOIN_GROUP",
        "SYNC_GROUP",
        "HEARTBEAT",
        "LEAVE_GROUP",
        "CONSUMER_GROUP_HEARTBEAT",
        "STREAMS_GROUP_HEARTBEAT",
        "SHARE_GROUP_HEARTBEAT",
        "PRODUCE",
        "INIT_PRODUCER_ID",
        "ADD_PARTITIONS_TO_TXN",
        "ADD_OFFSETS_TO_TXN",
        "END_TXN",
        "WRITE_TXN_MARKERS",
    }
)
REQUEST_SCHEMA = pa.schema(
    [
        pa.field("position", pa.int64(), nullable=False),
        pa.field("logged_at_ms", pa.int64(), nullable=False),
        ("total_time_ms", pa.float64()),
        ("api_key", pa.int32()),
        ("api_name", pa.string()),
        ("api_version", pa.int32()),
        ("correlation_id", pa.int32()),
        ("client_id", pa.string()),
        ("connection", pa.string()),
        ("principal", pa.string()),
        ("listener", pa.string()),
        ("software_name", pa.string()),
        ("software_version", pa.string()),
        ("request", pa.string()),
        ("response", pa.string()),
        ("line_digest", pa.string()),
    ]
)

_MARK = b"Completed request:"
_LOGGER = b" (kafka.request.logger)"
_STAMP = re.compile(rb"\[(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[,.]\d{3})\] \w+ +")
# Quotes inside a JSON string are escaped, so no client id can pass for this key.
_API = re.compile(rb'"requestApiKeyName":"(\w+)"')
_SCANNER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t]*")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_LONGEST_MS = 1e12


def parse_lines(
    chunk: bytes,
    base_position: int = 0,
    timezone: str = "UTC",
    *,
    after_ms: int | None = None,
    final: bool = False,
) -> Parsed:
    """Parse the whole lines of ``chunk``, which begins at file position ``base_position``, at a line's start.

    Rows are of REQUEST_SCHEMA. ``timezone`` is the broker's IANA zone, ``after_ms`` the ``last_ms`` of the
    chunk before. A last line without newline is not consumed, unless ``final`` says that the file is closed.
    """
    clock = LogClock(timezone, after_ms)
    return parse(chunk, base_position, clock, REQUEST_SCHEMA, _take, "request log line", final=final)


def _take(line: bytes, clock: LogClock) -> dict[str, Any] | None:
    return _parse(line, clock) if _is_wanted(line) else None


def _is_wanted(line: bytes) -> bool:
    """Whether the line is a request of one of APIS, or is damaged so that it may be one."""
    stamp = _STAMP.match(line)
    if stamp is None:
        return line.strip() != b""
    if not line.startswith(_MARK, stamp.end()):
        return False
    api = _API.search(line, stamp.end())
    return api is None or api[1].decode() in APIS


def _parse(line: bytes, clock: LogClock) -> dict[str, Any]:
    stamp = _STAMP.match(line)
    if stamp is None:
        raise ValueError("it does not begin with a timestamp; it is the rest of a line that was cut")
    if not line.endswith(_LOGGER):
        raise ValueError("its end is missing")
    body = line[stamp.end() + len(_MARK) : -len(_LOGGER)].decode("utf-8")
    members = _members(body)
    if _SURROGATE.search(line):
        # JSON may escape half of a pair, which is no text: this raises a ValueError then
        json.dumps(json.loads(body), ensure_ascii=False).encode("utf-8")
    header = json.loads(members["requestHeader"])
    software = json.loads(members.get("clientInformation", "{}"))
    row = {
        "total_time_ms": _duration(json.loads(members["totalTimeMs"])),
        "api_key": _integer(header["requestApiKey"]),
        "api_name": _text(header["requestApiKeyName"]),
        "api_version": _integer(header["requestApiVersion"]),
        "correlation_id": _integer(header["correlationId"]),
        "client_id": _text(header.get("clientId")),
        "connection": _text(json.loads(members.get("connection", "null"))),
        "principal": _text(json.loads(members.get("principal", "null"))),
        "listener": _text(json.loads(members.get("listener", "null"))),
        "software_name": _text(software.get("softwareName")),
        "software_version": _text(software.get("softwareVersion")),
        "request": members["request"],
        "response": members.get("response"),
        "line_digest": hashlib.sha256(line).hexdigest(),
    }
    # Only a line that is whole moves the clock.
    return {"logged_at_ms": clock.read(stamp[1].decode()), **row}


def _members(text: str) -> dict[str, str]:
    """Cut a JSON object into its members' own text, so that request and response stay as logged."""
    members: dict[str, str] = {}
    at = _past(text, _past(text, 0, ""), "{")
    while not text.startswith("}", at):
        if members:
            at = _past(text, at, ",")
        key, at = _SCANNER.raw_decode(text, at)
        at = _past(text, at, ":")
        _, end = _SCANNER.raw_decode(text, at)
        members[str(key)] = text[at:end]
        at = _past(text, end, "")
    if text[at + 1 :].strip():
        raise ValueError("something follows the request's JSON")
    missing = {"requestHeader", "request", "totalTimeMs"} - members.keys()
    if missing:
        raise ValueError(f"{', '.join(sorted(missing))} is missing")
    return members


def _past(text: str, at: int, token: str) -> int:
    """Skip ``token`` and the blanks after it."""
    if not text.startswith(token, at):
        raise ValueError(f"expected {token!r} at character {at}")
    match = _SPACE.match(text, at + len(token))
    return match.end() if match else at


def _duration(value: Any) -> float:
    # NaN is smaller than nothing
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _LONGEST_MS:
        raise ValueError(f"{value!r} is no duration in milliseconds")
    return float(value)


def _integer(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not -(2**31) <= value < 2**31:
        raise ValueError(f"{value!r} is no 32-bit number")
    return int(value)


def _text(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{value!r} is no text")
    return value
