"""Reads lines of the brokers' request logs: each request and its answer, and the times of both."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from sys import intern
from typing import Any, TypeVar

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.formats.errors import error_names
from fencepost.replay.arrow_slices import shared_values, slice_rows
from fencepost.replay.keys import digest_of
from fencepost.replay.logs import longs

T = TypeVar("T")

NONE = "NONE"
"""Kafka's name of error code 0."""

LATEST_MS = 60_000
"""No line is written later than this after its request: a broker whose threads are blocked for so long has
lost its session with the controller.
"""

LINE_COLUMNS = [
    "cluster", "broker_id", "line_digest", "logged_at_ms", "total_time_ms", "api_key", "api_version",
    "correlation_id", "client_id", "connection", "request", "response", "file", "position",
]  # fmt: skip
"""The columns of ``bronze.requests`` that are read."""

_REPEATED = frozenset({"cluster", "client_id", "connection", "file"})
_ORDER = ("logged_at_ms", "file", "position", "line_digest")
_LINES_AT_ONCE = 20_000
_DECODER = json.JSONDecoder()
_MOST = {bits: 1 << (bits - 1) for bits in (8, 16, 32, 64)}
_CONNECTION = re.compile(r"(.*):(\d+)-(.*):(\d+)-\d+(-\d+)?$")


@dataclass(slots=True, eq=False)
class RequestLine:
    """One request as its broker logged it.

    ``sent`` and ``answer`` are the parsed JSON of RequestChannel's log, ``answer`` None without one.
    ``requested_ms`` is when it arrived, ``responded_ms`` when it was completed, by the broker's clock. A line
    is written after its request was handled, never before. ``request_id`` is a digest of broker and line.
    """

    request_id: str
    broker_id: int
    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    connection: str | None
    requested_ms: int
    responded_ms: int
    sent: dict[str, Any]
    answer: dict[str, Any] | None
    file: str
    position: int


def read_lines(requests: pa.Table, api_keys: Collection[int]) -> list[RequestLine]:
    """``each_line`` as a list. Parsed JSON takes much memory, so this is for few lines only."""
    return list(each_line(requests, api_keys))


def each_line(requests: pa.Table, api_keys: Collection[int]) -> Iterator[RequestLine]:
    """The lines of these APIs among rows of ``bronze.requests``, sorted by time of the answer, file, position
    and digest.

    A line whose request is not a JSON object is left out.
    """
    for rows in in_order_of_answers(requests, api_keys):
        yield from _lines(rows)


def each_reading(
    requests: pa.Table, api_keys: Collection[int], read: Callable[[RequestLine], Iterable[T]]
) -> Iterator[tuple[str, RequestLine, list[T]]]:
    """Of rows of ``bronze.requests`` of any clusters and brokers: the cluster of each line of these APIs, the
    line, and what ``read`` finds in it. A line that is JSON, but not a broker's, is left out.
    """
    of_apis = requests.filter(pc.is_in(requests["api_key"], pa.array(sorted(api_keys), pa.int32())))
    for cluster in sorted(of_apis["cluster"].unique().to_pylist()):
        for line in each_line(of_apis.filter(pc.equal(of_apis["cluster"], cluster)), api_keys):
            try:
                found = list(read(line))
            except (AttributeError, KeyError, TypeError):
                continue
            yield cluster, line, found


def in_order_of_answers(requests: pa.Table, api_keys: Collection[int]) -> Iterator[pa.Table]:
    """The rows of these APIs (LINE_COLUMNS) in the order of ``each_line``, some at a time."""
    is_of_api = pc.is_in(requests["api_key"], pa.array(sorted(api_keys), pa.int32()))
    order = pc.sort_indices(
        requests.select(_ORDER).filter(is_of_api), [(each, "ascending") for each in _ORDER]
    )
    order = pc.indices_nonzero(is_of_api).take(order).cast(pa.int64())
    # lines are long texts: only so many are copied at a time
    yield from slice_rows(requests.select(LINE_COLUMNS), longs(order), _LINES_AT_ONCE)


def _lines(rows: pa.Table) -> Iterator[RequestLine]:
    columns = [
        shared_values(rows[name]) if name in _REPEATED else rows[name].to_pylist() for name in LINE_COLUMNS
    ]
    for (
        cluster, broker_id, line_digest, logged_at_ms, total_time_ms, api_key, api_version, correlation_id,
        client_id, connection, request, response, file, position,
    ) in zip(*columns, strict=True):  # fmt: skip
        sent = parse_object(request)
        if sent is None:
            continue
        yield RequestLine(
            digest_of(cluster, broker_id, line_digest),
            broker_id,
            api_key,
            api_version,
            correlation_id,
            client_id,
            connection,
            math.floor(logged_at_ms - total_time_ms),
            logged_at_ms,
            sent,
            parse_object(response),
            file,
            position,
        )


def requested_ms(rows: pa.Table) -> pa.ChunkedArray:
    """RequestLine.requested_ms for rows of ``bronze.requests``."""
    took = pc.subtract(rows["logged_at_ms"].cast(pa.float64()), rows["total_time_ms"])
    return pc.floor(took).cast(pa.int64())


@lru_cache(maxsize=1 << 14)
def host_of(connection: str | None) -> str | None:
    """The client's address in Kafka's text of a connection, ``local:port-remote:port-number``."""
    match = _CONNECTION.match(connection or "")
    return match[3] if match else None


def parse_object(text: str | None) -> dict[str, Any] | None:
    """The JSON object in a text; None if there is none."""
    if text is None:
        return None
    try:
        value = orjson.loads(text)
    except ValueError:
        # the standard library also reads NaN and half of a surrogate pair, which a strict reader refuses
        try:
            value, _ = _DECODER.raw_decode(text)
        except (ValueError, RecursionError):
            # an object that the capture could parse may be nested too deeply here
            return None
    return value if isinstance(value, dict) else None


def text(value: Any) -> Any:
    """A field of a line's JSON that is a text or null. Raises TypeError for another, which no broker writes.

    Equal texts of many lines become the same object.
    """
    if value is None:
        return None
    if isinstance(value, str):
        return intern(value)
    raise TypeError(f"{value!r} is no text")


def integer(value: Any, bits: int = 32) -> Any:
    """A field of a line's JSON that is an integer of so many bits or null. Raises TypeError for another."""
    if value is None:
        return None
    most = _MOST[bits]
    if type(value) is int and -most <= value < most:
        return value
    raise TypeError(f"{value!r} is no number of {bits} bits")


def error_name(code: int | None) -> str | None:
    """Kafka's name of an error code (org.apache.kafka.common.protocol.Errors); None for None."""
    if code is None:
        return None
    return error_names().get(code) or f"ERROR_{code}"
