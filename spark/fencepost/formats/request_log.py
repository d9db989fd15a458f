"""Reads the wanted lines of a broker's request log (``kafka.request.logger``) into Arrow."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated

import pyarrow as pa
from msgspec import Meta, Raw, Struct, convert
from msgspec.json import Decoder

from fencepost.formats import json_text
from fencepost.formats.clock import LogClock
from fencepost.formats.json_text import Member
from fencepost.formats.lines import Parsed, Values, parse
from fencepost.formats.request_ids import UNKNOWN_SOFTWARE, RequestIds
from fencepost.formats.request_layouts import (
    LOGGER,
    MARK,
    SEVERAL,
    end_of_request,
    is_one,
    is_whole,
    moment,
    placed,
)
from fencepost.formats.topic_lists import TopicsOfAnswer

Keep = Callable[[bytes], bool]
"""Whether a line is kept. It must depend on the line alone, not on what was read before."""
Wanted = Mapping[str, Sequence[Keep]]
"""By Kafka's name of an API (ApiKeys, requestApiKeyName): a line is kept if any of these
functions keeps it.
"""

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

_LOGGER = b" (%b)" % LOGGER
_STAMP = re.compile(rb"\[(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[,.]\d{3})\] \w+ +")
# The beginning of nearly every line, in Kafka's own layout: the time, then what brokers write first.
_HEAD = re.compile(
    rb"\[(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[,.]\d{3})\] \w+ +" + MARK + rb'(\{"isForwarded":(?:true|false),)'
    rb'"requestHeader":\{"requestApiKey":\d+,"requestApiVersion":\d+,"correlationId":(-?\d{1,10}),'
    rb'"clientId":("[^"\\]*"|null),"requestApiKeyName":"(\w+)"'
)
_BEGIN = re.compile(MARK + rb'\{"isForwarded":\S')
_FORWARDED = b'{"isForwarded":true,'
_END = b"}" + _LOGGER
# Quotes inside a JSON string are escaped, so no client id can pass for this key.
_API = re.compile(rb'"requestApiKeyName":"(\w+)"')
# Collectors that put a line into a string of JSON escape its quotes. So does Kafka with those of names, which
# are of a deeper level then.
_HEADER = re.compile(rb'"requestHeader(\\*)":')
_METADATA = re.compile(rb'"requestApiKeyName(\\*)": ?\1"METADATA\1"')
_CLUSTER = re.compile(rb'"clusterId(\\*)": ?\1"([\w-]{22})\1"')
# The first fields of a Fetch: versions before 15 have no replicaState. Only Raft's have a clusterId in front
# of them; with these a controller that knows no leader asks any of the bootstrap servers, itself, too.
_FOLLOWED = (
    rb'"requestApiKeyName(\\*)": ?\1"FETCH\1"\}, ?\1"request\1": ?\{(?:\1"replicaState\1": ?\{)?'
    rb'\1"replicaId\1": ?%d\b'
)
_REQUEST, _RESPONSE = "request", "response"
_NEEDED = frozenset({"requestHeader", "totalTimeMs", _REQUEST})
# Answers that are long and mostly the same.
_OF_TOPICS = frozenset({"METADATA", "DESCRIBE_TOPIC_PARTITIONS"})
_REFUSED = re.compile(rb'"errorCode":-?[1-9]')
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
# What brokers before 3.0 call otherwise in the answer to a Fetch (FetchResponse.json).
_FETCH = "FETCH"
_RENAMED = {
    '"partitionResponses":': '"partitions":',
    '"partition":': '"partitionIndex":',
}
_LONGEST_MS = 1e12
_MASK = r"\*{3}|[\[<({](?:REDACTED|MASKED|FILTERED|HIDDEN)\b"
# Brokers write none of these but in names: looking for them is much faster than for a mask.
_SIGNS_OF_MASKS = ("*", "<", '"[', '"(', '"{')
_MASKED = re.compile(
    rf'"(?:memberId|groupId|transactionalId|groupInstanceId|topic|name)": ?"[^"]*(?:{_MASK})', re.IGNORECASE
)
_IS_MASKED = (
    "a program that collected it has put something in place of a name, so what it is about is not known: "
    "leave names as the broker wrote them (docs/operating.md, Pseudonyms, says how Fencepost stores others)"
)
_NO_TOPICS = (None, None, None)

_Int32 = Annotated[int, Meta(ge=-(2**31), lt=2**31)]
_Parts = tuple["_Around", str, str | None]
"""The parts of a line; its request and its response are texts as logged."""


def api_name(text: bytes, start: int = 0) -> str | None:
    """Kafka's name of the API of the request whose JSON begins at ``start``."""
    found = _API.search(text, start)
    return found[1].decode() if found else None


def answered_clusters(lines: bytes) -> Iterator[str]:
    """The ids of clusters that brokers name in answers to Metadata, as the cluster they are of. Requests of
    others may name any cluster.
    """
    for found in _CLUSTER.finditer(lines):
        begin = _begin(lines, found)
        answered = None if begin is None else _METADATA.search(lines, begin, found.start())
        if answered is not None and answered[1] == found[1]:
            yield found[2].decode()


def has_follower(lines: bytes, broker_id: int) -> bool:
    """Whether a broker fetches in these lines as a follower (FetchRequest, ``replicaId``). Fetches of Raft do
    not count.
    """
    found = re.finditer(_FOLLOWED % broker_id, lines)
    return any(_begin(lines, each) is not None for each in found)


def _begin(lines: bytes, found: re.Match[bytes]) -> int | None:
    """Where the line begins in which something was found; None if that is within a name."""
    begin = lines.rfind(b"\n", 0, found.start()) + 1
    header = _HEADER.search(lines, begin, found.start())
    return begin if header is not None and header[1] == found[1] else None


def every_line(_: bytes) -> bool:
    """Keeps every line of the API."""
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

    Rows are of REQUEST_SCHEMA, one for each line that is ``wanted``. An answer with a list of topics
    (Metadata, DescribeTopicPartitions) has ``topics_digest`` in place of the list; ``topics`` are the JSON
    texts of its topics as logged, and ``topic_digests`` their digests, by which equal texts are stored once.
    ``timezone`` is the broker's IANA zone, ``after_ms`` the ``last_ms`` of the chunk before. A last line
    without newline is not consumed, unless ``final`` says that the file is closed. ``ids`` notes the
    correlation ids of all lines.
    """
    clock = LogClock(timezone, after_ms)
    take = partial(_take, wanted, ids)
    return parse(chunk, base_position, clock, REQUEST_SCHEMA, take, "request log line", final=final)


def _take(wanted: Wanted, ids: RequestIds | None, line: bytes, clock: LogClock) -> Values | None:
    """The row of a request that is wanted. A damaged line, which may be one, is parsed too, and so raises."""
    if not is_one(line):
        raise ValueError(SEVERAL)
    head = _HEAD.match(line)
    if head is None or not line.endswith(_END):
        return _take_any(wanted, ids, line, clock)
    time, begin, correlation_id, client_id, name = head.groups()
    api = name.decode()
    parsed = None
    if _is_wanted(wanted, api, line):
        parsed = _parse(line[head.start(2) : -len(_LOGGER)], of_topics=api in _OF_TOPICS)
    elif ids is None:
        return None
    # read the time only now: a damaged line must not move the clock
    logged_at_ms = clock.read(time.decode())
    if ids is not None and begin != _FORWARDED:
        ids.note_header(line, head.end(4), correlation_id, client_id, logged_at_ms)
    return _row(line, logged_at_ms, *parsed) if parsed else None


def _take_any(wanted: Wanted, ids: RequestIds | None, line: bytes, clock: LogClock) -> Values | None:
    """As ``_take``, for a line in any layout."""
    stamp = _STAMP.match(line)
    if stamp is not None and _BEGIN.match(line, stamp.end()):
        text, start, logged_at = line, stamp.end() + len(MARK), partial(clock.read, stamp[1].decode())
    else:
        located = placed(line)
        if located is None:
            return None
        text, start, logged_at = located.text, located.start, partial(moment, located.time, clock)
    api = api_name(text, start)
    if api is not None and not _is_wanted(wanted, api, text):
        if ids is not None and (text.endswith(_LOGGER) or is_whole(text, start)):
            ids.note(text, start, logged_at())
        return None
    parsed = _parse(text[start : end_of_request(text, start)], of_topics=api in _OF_TOPICS)
    # read the time only now: a damaged line must not move the clock
    logged_at_ms = logged_at()
    if ids is not None:
        ids.note(text, start, logged_at_ms)
    return _row(line, logged_at_ms, *parsed)


def _is_wanted(wanted: Wanted, api: str, line: bytes) -> bool:
    for keep in wanted.get(api, ()):  # noqa: SIM110 (a generator would take longer than what it asks)
        if keep(line):
            return True
    return False


class _Header(Struct, frozen=True, rename="camel"):
    request_api_key: _Int32
    request_api_version: _Int32
    correlation_id: _Int32
    request_api_key_name: str | None
    client_id: str | None = None


class _Software(Struct, frozen=True, rename="camel"):
    software_name: str | None = None
    software_version: str | None = None


class _Around(Struct, frozen=True, rename="camel"):
    """The members of a line beside the request and the response."""

    request_header: _Header
    total_time_ms: Annotated[float, Meta(ge=0, lt=_LONGEST_MS)]
    connection: str | None = None
    principal: str | None = None
    listener: str | None = None
    client_information: _Software = _Software()


class _Line(_Around, frozen=True, rename="camel", kw_only=True):
    request: Raw
    response: Raw = Raw()


_LINE = Decoder(_Line)


def _parse(request: bytes, *, of_topics: bool) -> tuple[_Parts, TopicsOfAnswer | None]:
    """The parts of a line whose JSON this is, and the topics of its answer if they are kept apart."""
    text = request.decode("utf-8")
    answer = TopicsOfAnswer() if of_topics else None
    return (None if answer else _read(text)) or _read_parts(text, answer), answer


def _row(line: bytes, logged_at_ms: int, parts: _Parts, answer: TopicsOfAnswer | None) -> Values:
    """The values of REQUEST_SCHEMA after the position, in its order. Raises ValueError for masked names."""
    around, request, response = parts
    for each in (request, response or ""):
        if any(sign in each for sign in _SIGNS_OF_MASKS) and _MASKED.search(each):
            raise ValueError(_IS_MASKED)
    header, software = around.request_header, around.client_information
    topics = answer.topics if answer else None
    if header.request_api_key_name == _FETCH and response and '"partitionResponses":' in response:
        # quotes inside a JSON string are escaped: no name of a topic is like these keys
        for old, new in _RENAMED.items():
            response = response.replace(old, new)
    return (
        logged_at_ms,
        around.total_time_ms,
        header.request_api_key,
        header.request_api_key_name,
        header.request_api_version,
        header.correlation_id,
        header.client_id,
        around.connection,
        around.principal,
        around.listener,
        _said(software.software_name),
        _said(software.software_version),
        request,
        response,
        hashlib.sha256(line).hexdigest(),
        *((topics.topics, topics.digests, topics.digest) if topics else _NO_TOPICS),
    )


def _said(software: str | None) -> str | None:
    """What a client says of its software; null where the broker has Kafka's word for a client that says
    nothing (ClientInformation.EMPTY), as before the connection's ApiVersions.
    """
    return None if software == UNKNOWN_SOFTWARE else software


def _read(text: str) -> _Parts | None:
    """The parts of a line; None where it is not as brokers write it, or the fast decoder cannot read it."""
    try:
        line = _LINE.decode(text)
    except (ValueError, RecursionError):
        return None
    response = line.response
    return line, str(line.request, "utf-8"), str(response, "utf-8") if response else None


def _read_parts(text: str, answer: TopicsOfAnswer | None) -> _Parts:
    """As ``_read``, by a slower way that reads every line, and gives ``answer`` the topics of the response.
    Raises what ``lines.Take`` may.
    """
    members, end = json_text.members(text, 0, {_RESPONSE: answer.end} if answer else {})
    if text[end:].strip():
        raise ValueError("something follows the request's JSON")
    missing = _NEEDED - members.keys()
    if missing:
        raise ValueError(f"{', '.join(sorted(missing))} is missing")
    if _SURROGATE.search(text):
        # JSON may escape half of a surrogate pair, which is no text: then this raises a ValueError
        json.dumps(json.loads(text), ensure_ascii=False).encode("utf-8")
    request, response = members[_REQUEST], members.get(_RESPONSE)
    return (
        convert({name: member.value for name, member in members.items()}, _Around),
        text[request.start : request.end],
        None if response is None else _response(text, response, answer),
    )


def _response(text: str, member: Member, answer: TopicsOfAnswer | None) -> str:
    if answer is None:
        return text[member.start : member.end]
    return answer.with_digest(text, member.start, member.end)
