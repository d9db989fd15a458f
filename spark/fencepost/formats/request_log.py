"""The broker's request log (``kafka.request.logger``) to Arrow: the lines that are wanted, and no other."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import orjson
import pyarrow as pa

from fencepost.formats import json_text
from fencepost.formats.clock import LogClock
from fencepost.formats.json_text import Member
from fencepost.formats.lines import Parsed, parse
from fencepost.formats.request_ids import RequestIds
from fencepost.formats.request_layouts import MARK, end_of_request, is_whole, moment, placed
from fencepost.formats.topic_lists import TopicsOfAnswer

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

_LOGGER = b" (kafka.request.logger)"
_STAMP = re.compile(rb"\[(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[,.]\d{3})\] \w+ +")
# Quotes inside a JSON string are escaped, so no client id can pass for this key.
_API = re.compile(rb'"requestApiKeyName": ?"(\w+)"')
_REQUEST, _RESPONSE = "request", "response"
_TEXTS = frozenset({_REQUEST, _RESPONSE})
_NEEDED = frozenset({"requestHeader", "totalTimeMs"})
_TO_REQUEST, _TO_RESPONSE, _BEHIND = b',"request":', b',"response":', b',"connection":'
# Answers that are long and mostly the same.
_OF_TOPICS = frozenset({"METADATA", "DESCRIBE_TOPIC_PARTITIONS"})
_REFUSED = re.compile(rb'"errorCode":-?[1-9]')
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
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
    ids: RequestIds | None = None,
) -> Parsed:
    """Parse the whole lines of ``chunk``, which begins at file position ``base_position``, at a line's start.

    Rows are of REQUEST_SCHEMA, of the lines that are ``wanted``. An answer that tells of topics (Metadata,
    DescribeTopicPartitions) has ``topics_digest`` in their place; ``topics`` is what it says of each, JSON as
    logged, and ``topic_digests`` what names these texts wherever they are said. ``timezone`` is the broker's
    IANA zone, ``after_ms`` the ``last_ms`` of the chunk before. A last line without newline is not consumed,
    unless ``final`` says that the file is closed. ``ids`` notes the correlation ids of all lines.
    """
    clock = LogClock(timezone, after_ms)
    take = partial(_take, wanted, ids)
    return parse(chunk, base_position, clock, REQUEST_SCHEMA, take, "request log line", final=final)


def _take(wanted: Wanted, ids: RequestIds | None, line: bytes, clock: LogClock) -> dict[str, Any] | None:
    """The row of a request that is wanted, or of a line that is damaged so that it may be one."""
    # nearly every line has Kafka's own layout
    stamp = _STAMP.match(line)
    if stamp is not None and line.startswith(MARK, stamp.end()):
        text, start, logged_at = line, stamp.end() + len(MARK), partial(clock.read, stamp[1].decode())
    else:
        found = placed(line)
        if found is None:
            return None
        text, start, logged_at = found.text, found.start, partial(moment, found.time, clock)
    named = _API.search(text, start)
    api = named[1].decode() if named else None
    if api is not None and not any(keep(text) for keep in wanted.get(api, ())):
        if ids is not None and (text.endswith(_LOGGER) or is_whole(text, start)):
            ids.note(text, start, logged_at())
        return None
    row = _parse(text, start, of_topics=api in _OF_TOPICS)
    # Only a line that is whole moves the clock.
    logged_at_ms = logged_at()
    if ids is not None:
        ids.note(text, start, logged_at_ms)
    return {"logged_at_ms": logged_at_ms, **row, "line_digest": hashlib.sha256(line).hexdigest()}


def _parse(line: bytes, start: int, *, of_topics: bool) -> dict[str, Any]:
    end = end_of_request(line, start)
    answer = TopicsOfAnswer() if of_topics else None
    said = None if of_topics else _in_order(line, start, end)
    if said is None:
        said = _in_any_order(line[start:end].decode("utf-8"), answer)
    values = said.values
    header, software = values["requestHeader"], values.get("clientInformation", {})
    told = answer.topics if answer else None
    return {
        "total_time_ms": _duration(values["totalTimeMs"]),
        "api_key": _integer(header["requestApiKey"]),
        "api_name": _text(header["requestApiKeyName"]),
        "api_version": _integer(header["requestApiVersion"]),
        "correlation_id": _integer(header["correlationId"]),
        "client_id": _text(header.get("clientId")),
        "connection": _text(values.get("connection")),
        "principal": _text(values.get("principal")),
        "listener": _text(values.get("listener")),
        "software_name": _text(software.get("softwareName")),
        "software_version": _text(software.get("softwareVersion")),
        "request": said.request,
        "response": said.response,
        "topics": told.topics if told else None,
        "topic_digests": told.digests if told else None,
        "topics_digest": told.digest if told else None,
    }


class _Said(NamedTuple):
    """What a line says: ``request`` and ``response`` as logged, and the values of all other members."""

    values: Mapping[str, Any]
    request: str
    response: str | None


def _in_order(line: bytes, start: int, end: int) -> _Said | None:
    """The members of a request that stand as brokers write them; None where they may not.

    Quotes inside a JSON string are escaped. So where what is before the request, the request, the response
    and what is behind it are JSON each, the line is cut at its own members.
    """
    sent = line.find(_TO_REQUEST, start, end)
    answered = line.find(_TO_RESPONSE, sent, end)
    behind = line.rfind(_BEHIND, answered, end)
    if not start < sent < answered < behind:
        return None
    request = line[sent + len(_TO_REQUEST) : answered]
    response = line[answered + len(_TO_RESPONSE) : behind]
    if not all(text.startswith(b"{") and text.endswith(b"}") for text in (request, response)):
        return None
    try:
        before = orjson.loads(line[start:sent] + b"}")
        after = orjson.loads(b"{" + line[behind + 1 : end])
        orjson.loads(request)
        orjson.loads(response)
    except ValueError:
        return None
    if not before.keys().isdisjoint(after) or not _TEXTS.isdisjoint({*before, *after}):
        return None
    values = {**before, **after}
    return _Said(values, request.decode(), response.decode()) if values.keys() >= _NEEDED else None


def _in_any_order(text: str, answer: TopicsOfAnswer | None) -> _Said:
    """The members of a request, whatever their order. Raises what ``lines.Take`` may."""
    found, end = json_text.members(text, 0, {_RESPONSE: answer.end} if answer else {})
    if text[end:].strip():
        raise ValueError("something follows the request's JSON")
    missing = {*_NEEDED, _REQUEST} - found.keys()
    if missing:
        raise ValueError(f"{', '.join(sorted(missing))} is missing")
    if _SURROGATE.search(text):
        # JSON may escape half of a pair, which is no text: this raises a ValueError then
        json.dumps(json.loads(text), ensure_ascii=False).encode("utf-8")
    request, response = found[_REQUEST], found.get(_RESPONSE)
    return _Said(
        {name: member.value for name, member in found.items()},
        text[request.start : request.end],
        None if response is None else _response(text, response, answer),
    )


def _response(text: str, member: Member, answer: TopicsOfAnswer | None) -> str:
    if answer is None:
        return text[member.start : member.end]
    return answer.with_digest(text, member.start, member.end)


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
