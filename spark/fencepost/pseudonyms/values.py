"""Replaces names in values of Kafka's records and requests, by what their fields hold."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache, partial
from typing import Any

import orjson

from fencepost.formats.rewriting import TEXTS, UnreadableError, rewritten
from fencepost.formats.schemas import Field, record_types, snake
from fencepost.pseudonyms import members, texts
from fencepost.pseudonyms.fields import LEFT_OUT, Holds, of_record, of_request
from fencepost.pseudonyms.names import Pseudonyms
from fencepost.replay.group_coordinator import faust

_CONFIG = re.compile(r"-?\d+(?:\.\d+)?(?:[,:]\d+)*|[a-z_]+(?:,[a-z_]+)*|\*|", re.ASCII)
_HEADER = 3  # bytes at most, with type and version


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
        for name in (_texts(each.fields) if each.type == "struct" else [each.name])
        if each.type == "struct" or each.type in TEXTS
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
    """What a member of a classic group sends: a subscription of a consumer, or of a worker of Connect. Of
    other bytes only the version stays.
    """
    user_data = partial(_user_data, pseudonyms, "SubscriptionInfoData")
    for read in (members.subscription(data, user_data), members.worker(pseudonyms, data)):
        if read is not None:
            return read
    return data[:2]


def assignment(pseudonyms: Pseudonyms, data: bytes) -> bytes:
    """What the leader of a classic group assigns to a member. Of bytes that are none only the version
    stays.
    """
    user_data = partial(_user_data, pseudonyms, "AssignmentInfo")
    read = members.assignment(data, lambda told: faust.only_tasks(told) or user_data(told))
    return data[:2] if read is None else read


def _user_data(pseudonyms: Pseudonyms, of_streams: str, data: bytes) -> bytes | None:
    """Of Kafka's sticky assignors, and of the assignor of Kafka Streams; None of any other."""
    if not data or members.is_sticky(data):
        return data
    try:
        return rewritten(of_streams, "value", data, partial(_changed, pseudonyms, of_streams))
    except UnreadableError:
        return None


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
        return ""
    change = subscription if holds is Holds.SUBSCRIPTION else assignment
    return b64encode(change(pseudonyms, data)).decode()
