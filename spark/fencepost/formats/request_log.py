"""The broker's request log (``kafka.request.logger``) to Arrow: the lines that are wanted, and no other."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa

from fencepost.formats.clock import LogClock
from fencepost.formats.lines import Parsed, parse

Keep = Callable[[bytes], bool]
"""Whether a line is worth keeping: told by the line alone, whatever was read before it."""
Wanted = Mapping[str, Sequence[Keep]]
"""A line is kept if any of these keeps it, by Kafka's name of the API (ApiKeys, requestApiKeyName)."""

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
        # what the response says of each topic, where it has a digest in their place; else null
        ("topics", pa.list_(pa.string())),
        ("topic_digests", pa.list_(pa.string())),
        ("topics_digest", pa.string()),
    ]
)

_MARK = b"Completed request:"
_LOGGER = b" (kafka.request.logger)"
_STAMP = re.compile(rb"\[(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[,.]\d{3})\] \w+ +")
# Quotes inside a JSON string are escaped, so no client id can pass for this key.
_API = re.compile(rb'"requestApiKeyName":"(\w+)"')
_SCANNER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t]*")
# Answers that are long and mostly the same.
_OF_TOPICS = frozenset({"METADATA", "DESCRIBE_TOPIC_PARTITIONS"})
_REFUSED = re.compile(rb'"errorCode":-?[1-9]')
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_LONGEST_MS = 1e12


def every_line(_: bytes) -> bool:
    """Every line of the API is kept."""
    return True


def is_refused(line: bytes) -> bool:
    """Whether any error code of the line is not NONE."""
    return _REFUSED.search(line) is not None


def parse_lines(
    chunk: bytes,
    wanted: Wanted,
    base_position: int = 0,
    timezone: str = "UTC",
    *,
    after_ms: int | None = None,
    final: bool = False,
) -> Parsed:
    """Parse the whole lines of ``chunk``, which begins at file position ``base_position``, at a line's start.

    Rows are of REQUEST_SCHEMA, of the lines that are ``wanted``. An answer that tells of topics (Metadata,
    DescribeTopicPartitions) has ``topics_digest`` in their place; ``topics`` is what it says of each, JSON as
    logged, and ``topic_digests`` what names these texts wherever they are said. ``timezone`` is the broker's
    IANA zone, ``after_ms`` the ``last_ms`` of the chunk before. A last line without newline is not consumed,
    unless ``final`` says that the file is closed.
    """
    clock = LogClock(timezone, after_ms)
    take = partial(_take, wanted)
    return parse(chunk, base_position, clock, REQUEST_SCHEMA, take, "request log line", final=final)


def _take(wanted: Wanted, line: bytes, clock: LogClock) -> dict[str, Any] | None:
    return _parse(line, clock) if _is_wanted(wanted, line) else None


def _is_wanted(wanted: Wanted, line: bytes) -> bool:
    """Whether the line is a request that is wanted, or is damaged so that it may be one."""
    stamp = _STAMP.match(line)
    if stamp is None:
        return line.strip() != b""
    if not line.startswith(_MARK, stamp.end()):
        return False
    api = _API.search(line, stamp.end())
    return api is None or any(keep(line) for keep in wanted.get(api[1].decode(), ()))


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
    told = _Told(members.get("response"))
    if told.response is not None and header["requestApiKeyName"] in _OF_TOPICS:
        told = _without_topics(told.response)
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
        "line_digest": hashlib.sha256(line).hexdigest(),
        **told._asdict(),
    }
    # Only a line that is whole moves the clock.
    return {"logged_at_ms": clock.read(stamp[1].decode()), **row}


def _members(text: str) -> dict[str, str]:
    """Cut a JSON object into its members' own text, so that request and response stay as logged."""
    places, end = _cut(text, 0)
    if text[end:].strip():
        raise ValueError("something follows the request's JSON")
    missing = {"requestHeader", "request", "totalTimeMs"} - places.keys()
    if missing:
        raise ValueError(f"{', '.join(sorted(missing))} is missing")
    return {key: text[start:stop] for key, (start, stop) in places.items()}


class _Told(NamedTuple):
    """The columns of an answer."""

    response: str | None
    topics: Sequence[str] | None = None
    topic_digests: Sequence[str] | None = None
    topics_digest: str | None = None


def _without_topics(response: str) -> _Told:
    """An answer with a digest in place of its topics; as it is, if it tells of none."""
    if not response.startswith("{"):
        return _Told(response)
    start, stop = _cut(response, 0)[0].get("topics", (0, 0))
    if not response.startswith("[", start):
        return _Told(response)
    topics: list[str] = []
    at = _past(response, start, "[")
    while not response.startswith("]", at):
        if topics:
            at = _past(response, at, ",")
        end = _SCANNER.raw_decode(response, at)[1]
        topics.append(response[at:end])
        at = _past(response, end, "")
    digests = [hashlib.sha256(topic.encode()).hexdigest() for topic in topics]
    digest = hashlib.sha256("".join(digests).encode()).hexdigest()
    return _Told(f'{response[:start]}"{digest}"{response[stop:]}', topics, digests, digest)


def _cut(text: str, at: int) -> tuple[dict[str, tuple[int, int]], int]:
    """Where each member of the JSON object at ``at`` lies, and where the object ends."""
    places: dict[str, tuple[int, int]] = {}
    at = _past(text, _past(text, at, ""), "{")
    while not text.startswith("}", at):
        if places:
            at = _past(text, at, ",")
        key, at = _SCANNER.raw_decode(text, at)
        at = _past(text, at, ":")
        end = _SCANNER.raw_decode(text, at)[1]
        places[str(key)] = at, end
        at = _past(text, end, "")
    return places, at + 1


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
