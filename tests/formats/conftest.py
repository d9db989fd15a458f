"""What the tests of the byte formats share: jars, a batch encoder, Kafka's JSON form of a decoded record."""

from __future__ import annotations

import base64
import os
import struct
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fencepost.formats.crc32c import crc32c
from fencepost.formats.schemas import Field, record_types

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def jars() -> Path:
    """The folder of all jars, one subfolder per set."""
    return Path(os.environ.get("FENCEPOST_JARS", ROOT / ".jars"))


def zigzag(value: int) -> bytes:
    """A signed varint."""
    raw = (value << 1) ^ (value >> 63)
    out = bytearray()
    while raw > 127:
        out.append(raw & 127 | 128)
        raw >>= 7
    return bytes([*out, raw])


def sized(data: bytes | None) -> bytes:
    """A nullable length-prefixed field of a record."""
    return zigzag(-1) if data is None else zigzag(len(data)) + data


def encode_batch(
    records: Iterable[tuple[bytes | None, bytes | None]],
    base_offset: int = 0,
    attributes: int = 0,
    body: bytes | None = None,
    count: int | None = None,
) -> bytes:
    """A record batch v2 with a right checksum; ``body`` and ``count`` replace what the records give."""
    parts = []
    for delta, (key, value) in enumerate(records):
        inside = b"\0" + zigzag(delta) + zigzag(delta) + sized(key) + sized(value) + zigzag(0)
        parts.append(zigzag(len(inside)) + inside)
    body = b"".join(parts) if body is None else body
    count = len(parts) if count is None else count
    covered = struct.pack(
        ">hiqqqhii", attributes, max(count - 1, 0), 1_700_000_000_000, 1_700_000_009_000, 7, 3, 0, count
    )
    covered += body
    checked = np.frombuffer(covered, dtype=np.uint8)
    checked.flags.writeable = False
    crc = crc32c(checked, 0, checked.size)
    return struct.pack(">qiibI", base_offset, len(covered) + 9, 5, 2, crc) + covered


@pytest.fixture(scope="session")
def batch() -> Callable[..., bytes]:
    """``encode_batch``: a record batch v2 from (key, value) pairs."""
    return encode_batch


def camel(name: str) -> str:
    """Kafka's JSON name of a column."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def kafka_fields(fields: Iterable[Field], row: dict[str, Any], version: int, known: Any) -> dict[str, Any]:
    """One struct in Kafka's JSON form; a tagged field at its default is left out unless ``known`` has it."""
    made: dict[str, Any] = {}
    for field in fields:
        value = row[field.name]
        name = camel(field.name)
        if version not in field.versions:
            assert value is None, f"{name} has {value!r} in version {version}, which does not have it"
            continue
        default = "A" * 22 if field.type == "uuid" and not field.is_array else field.default
        if version in field.tagged and value == default and name not in known:
            continue
        known_value = known.get(name)
        if field.is_array and value is not None:
            inside = known_value or []
            pairs = zip(value, inside, strict=False)
            made[name] = [kafka_value(field, item, version, hint) for item, hint in pairs] + list(
                value[len(inside) :]
            )
        else:
            made[name] = kafka_value(field, value, version, known_value)
    return made


def kafka_value(field: Field, value: Any, version: int, known: Any) -> Any:
    """One value or array element in Kafka's JSON form."""
    if value is None:
        return None
    if field.type == "struct":
        return kafka_fields(field.fields, value, version, known if isinstance(known, dict) else {})
    return base64.b64encode(value).decode() if field.type == "bytes" else value


@pytest.fixture(scope="session")
def as_kafka_json() -> Callable[[str, str, int, dict[str, Any], Any], dict[str, Any]]:
    """Call it with record, part, version, decoded row, what Kafka printed: the row as Kafka prints it."""

    def convert(record: str, part: str, version: int, row: dict[str, Any], known: Any) -> dict[str, Any]:
        message = record_types()[record].key if part == "key" else record_types()[record].value
        assert message is not None
        return kafka_fields(message.fields, row, version, known)

    return convert
