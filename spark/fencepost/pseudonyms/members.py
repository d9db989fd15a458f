"""Replaces names in what members of classic groups send and get, read as Kafka's own classes read it."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from contextlib import suppress

from fencepost.pseudonyms.names import Pseudonyms
from fencepost.replay.group_coordinator.message_reader import Reader

UserData = Callable[[bytes], bytes | None]
"""An assignor's own bytes without names; None if nothing of them is kept."""

_VERSION = 2
_URL = re.compile(r"([a-z]+://)(\[[^\]/]*\]|[^\[\]/:@]*)((?::\d+)?/?)", re.ASCII)


def subscription(data: bytes, replace: UserData) -> bytes | None:
    """A ConsumerProtocolSubscription; what follows its fields is left out. None if it cannot be read."""
    version = int.from_bytes(data[:_VERSION], "big", signed=True)
    if version < 0:
        return None
    kept = None
    reader = Reader(data, _VERSION)
    with suppress(ValueError):
        reader.texts()
        begins, user_data, ends = reader.at, reader.data(), reader.at
        # clients of some makers end here
        if version > 0 and not reader.is_at_end:
            reader.partitions()
            if version >= 2:
                reader.int32()
            if version >= 3:
                reader.text(nullable=True)
        rest = data[ends : reader.at] if version > 0 else b""
        kept = data[:begins] + _sized(user_data, replace) + rest
        if reader.is_at_end:
            return kept
    with suppress(ValueError):
        # some have the fields in the order of KIP-792
        reader = Reader(data, _VERSION)
        reader.texts()
        reader.int32()
        begins, user_data, ends = reader.at, reader.data(), reader.at
        reader.partitions()
        if 2 <= version <= 3 and reader.is_at_end:
            return data[:begins] + _sized(user_data, replace) + data[ends:]
    return kept


def assignment(data: bytes, replace: UserData) -> bytes | None:
    """A ConsumerProtocolAssignment; user data that cannot be read is left out. None if its partitions cannot
    be read.
    """
    if int.from_bytes(data[:_VERSION], "big", signed=True) < 0:
        return None
    reader = Reader(data, _VERSION)
    try:
        reader.partitions()
    except ValueError:
        return None
    kept = data[: reader.at]
    with suppress(ValueError):
        return kept + _sized(reader.data(), replace)
    return kept


def is_sticky(data: bytes) -> bool:
    """Whether this is user data of Kafka's sticky assignors: a generation, or partitions by topic and perhaps
    a generation.
    """
    if len(data) == 4:
        return data[0] in (0, 0xFF)
    reader = Reader(data, 0)
    with suppress(ValueError):
        reader.partitions()
        if not reader.is_at_end:
            reader.int32()
        return reader.is_at_end
    return False


def worker(pseudonyms: Pseudonyms, data: bytes) -> bytes | None:
    """The URL and the config offset of a worker of Kafka Connect (ConnectProtocol); None of other bytes."""
    try:
        version, length = struct.unpack_from(">hh", data)
        url = data[4 : 4 + length].decode()
    except (struct.error, UnicodeDecodeError):
        return None
    offset, address = data[4 + length : 12 + length], _URL.fullmatch(url)
    if not 0 <= version <= 2 or length < 0 or len(offset) != 8 or (url and address is None):
        return None
    told = b"" if address is None else f"{address[1]}{pseudonyms.host(address[2])}{address[3]}".encode()
    return struct.pack(">hh", version, len(told)) + told + offset


def _sized(user_data: bytes | None, replace: UserData) -> bytes:
    kept = None if user_data is None else replace(user_data)
    return (-1).to_bytes(4, "big", signed=True) if kept is None else len(kept).to_bytes(4) + kept
