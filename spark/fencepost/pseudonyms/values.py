"""Replaces names in values of Kafka's records and requests, by what their fields hold."""

from __future__ import annotations

import re
import struct
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache, partial
from typing import Any

import orjson

from fencepost.formats.rewriting import UnreadableError, rewritten
from fencepost.formats.schemas import Field, record_types, snake
from fencepost.pseudonyms import texts
from fencepost.pseudonyms.fields import LEFT_OUT, Holds, of_record, of_request
from fencepost.pseudonyms.names import Pseudonyms

_CONFIG = re.compile(r"-?\d+(?:\.\d+)?(?:[,:]\d+)*|[a-z_]+(?:,[a-z_]+)*|\*|", re.ASCII)
_URL = re.compile(r"([a-z]+://)(\[[^\]/]*\]|[^\[\]/:@]*)((?::\d+)?/?)", re.ASCII)
_UNREADABLE = b"\xff\xff"
"""In place of bytes that cannot be read: no version is below 0, so they still cannot."""
_HEADER = 3  # bytes at most, with type and version
_NEWEST = 3  # of ConsumerProtocolSubscription and ConsumerProtocolAssignment


@cache
def has_names(record_name: str) -> bool:
    """Whether a record of this type may hold a name."""
    record = record_types()[record_name]
    return any(
        of_record(record_name, name) is not Holds.NO_NAMES
        for message in (record.key, record.value)
        if message is not None
        for name in _texts(message.fields)
    )


def _texts(fields: tuple[Field, ...]) -> list[str]:
    return [
        name
        for each in fields
        for name in (
            _texts(each.fields)
            if each.type == "struct"
            else [each.name] * (each.type in ("string", "bytes", "records"))
        )
    ]


def record(
    pseudonyms: Pseudonyms, record_name: str | None, part: str, data: bytes | None, *, is_readable: bool
) -> bytes | None:
    """A key or value of a record of this type. Of one that cannot be read, only type and version stay, so
    that it stays what it is: unknown.
    """
    if data is None or (record_name is not None and not has_names(record_name)):
        return data
    if record_name is None:
        return data[:_HEADER]
    if is_readable:
        with suppress(UnreadableError):
            return rewritten(record_name, part, data, partial(_changed, pseudonyms, record_name))
    return data[: _HEADER if record_types()[record_name].framing == "metadata" else 2]


def _changed(pseudonyms: Pseudonyms, record_name: str, field: str, data: bytes) -> bytes | None:
    holds = of_record(record_name, field)
    match holds:
        case Holds.NO_NAMES:
            return data
        case Holds.SUBSCRIPTION:
            return subscription(pseudonyms, data)
        case Holds.ASSIGNMENT:
            return assignment(pseudonyms, data)
        case Holds.USER_DATA:
            return _user_data(pseudonyms, record_name, data)
    text = _text(pseudonyms, holds, data.decode("utf-8", "replace"))
    return None if text is None else text.encode("utf-8", "replace")


def _text(pseudonyms: Pseudonyms, holds: Holds, text: str) -> str | None:
    """A text without its names; None if it is left out."""
    if holds is Holds.NO_NAMES or (holds is Holds.CONFIG and _CONFIG.fullmatch(text)):
        return text
    replace = _REPLACE.get(holds)
    return None if replace is None else replace(pseudonyms, text)


_REPLACE: Mapping[Holds, Callable[[Pseudonyms, str], str]] = {
    Holds.CLIENT: Pseudonyms.client,
    Holds.MEMBER: Pseudonyms.member,
    Holds.HOST: Pseudonyms.host,
    Holds.PRINCIPAL: Pseudonyms.principal,
    Holds.REASON: texts.reason,
}


def subscription(pseudonyms: Pseudonyms, data: bytes) -> bytes:
    """What a member of a classic group sends: a subscription of a consumer, or of a worker of Connect."""
    read = _of_protocol(pseudonyms, "ConsumerProtocolSubscription", data)
    return read if read is not None else _worker(pseudonyms, data) or _UNREADABLE


def assignment(pseudonyms: Pseudonyms, data: bytes) -> bytes:
    """What the leader of a classic group assigns to a member."""
    read = _of_protocol(pseudonyms, "ConsumerProtocolAssignment", data)
    return _UNREADABLE if read is None else read


def _of_protocol(pseudonyms: Pseudonyms, name: str, data: bytes) -> bytes | None:
    """None if it cannot be read. A newer version has the fields of the newest known; some clients end a
    subscription where version 0 does.
    """
    if not data:
        return data
    version = int.from_bytes(data[:2], "big", signed=True)
    if len(data) < 2 or version < 0:
        return None
    for read_as in (min(version, _NEWEST), 0):
        try:
            read = rewritten(
                name, "value", read_as.to_bytes(2) + data[2:], partial(_changed, pseudonyms, name)
            )
        except UnreadableError:
            continue
        return data[:2] + read[2:]
    return None


def _user_data(pseudonyms: Pseudonyms, of: str, data: bytes) -> bytes | None:
    """Of Kafka's sticky assignors, and of the assignor of Kafka Streams; None of any other."""
    if not data or (of == "ConsumerProtocolSubscription" and _is_sticky(data)):
        return data
    name = "SubscriptionInfoData" if of == "ConsumerProtocolSubscription" else "AssignmentInfo"
    try:
        return rewritten(name, "value", data, partial(_changed, pseudonyms, name))
    except UnreadableError:
        return None


def _is_sticky(data: bytes) -> bool:
    """Whether this is a generation (CooperativeStickyAssignor), or partitions by topic and perhaps a
    generation (StickyAssignor).
    """
    if len(data) == 4:
        return True
    try:
        (topics,), at = struct.unpack_from(">i", data), 4
        for _ in range(topics):
            (length,) = struct.unpack_from(">h", data, at)
            at += 2 + length
            (partitions,) = struct.unpack_from(">i", data, at)
            if length < 0 or not 0 <= partitions <= len(data):
                return False
            at += 4 + 4 * partitions
    except struct.error:
        return False
    return len(data) - at in (0, 4)


def _worker(pseudonyms: Pseudonyms, data: bytes) -> bytes | None:
    """The URL of a worker of Connect and its config offset; None of other bytes."""
    try:
        version, length = struct.unpack_from(">hh", data)
        url = data[4 : 4 + length].decode()
        offset = data[4 + length : 12 + length]
    except (struct.error, UnicodeDecodeError):
        return None
    address = _URL.fullmatch(url)
    if not 0 <= version <= 2 or length < 0 or len(offset) != 8 or (url and address is None):
        return None
    told = b"" if address is None else f"{address[1]}{pseudonyms.host(address[2])}{address[3]}".encode()
    return struct.pack(">hh", version, len(told)) + told + offset


def api(pseudonyms: Pseudonyms, name: str | None, text: str | None) -> str | None:
    """The JSON of a request or response of this API; None if it cannot be read."""
    if text is None:
        return None
    try:
        return orjson.dumps(_value(pseudonyms, name, "", orjson.loads(text))).decode()
    except (ValueError, TypeError, RecursionError):
        return None


def _value(pseudonyms: Pseudonyms, name: str | None, field: str, value: Any) -> Any:
    if isinstance(value, str):
        return _of_json(pseudonyms, of_request(name, field), value)
    if isinstance(value, list):
        if (name, field) in LEFT_OUT:
            return []
        return [_value(pseudonyms, name, field, each) for each in value]
    if isinstance(value, Mapping):
        return {key: _value(pseudonyms, name, snake(key), each) for key, each in value.items()}
    return value


def _of_json(pseudonyms: Pseudonyms, holds: Holds, text: str) -> str:
    if holds not in (Holds.SUBSCRIPTION, Holds.ASSIGNMENT):
        return _text(pseudonyms, holds, text) or ""
    try:
        data = b64decode(text, validate=True)
    except ValueError:
        return b64encode(_UNREADABLE).decode()
    change = subscription if holds is Holds.SUBSCRIPTION else assignment
    return b64encode(change(pseudonyms, data)).decode()
