"""Kafka's messages by Kafka's own schemas: any request or response, in any of its versions.

The schemas ship inside ``kafka-clients-<version>.jar`` (``common/message/*.json``), so every field of every
version of the broker under test is there and none is guessed. A message is a plain dict keyed by the schemas'
field names; uuids are in Kafka's text form (url-safe base64).
"""

from __future__ import annotations

import base64
import json
import re
import struct
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

Message = dict[str, Any]

_FIXED = {
    "bool": ">?",
    "int8": ">b",
    "int16": ">h",
    "uint16": ">H",
    "int32": ">i",
    "uint32": ">I",
    "int64": ">q",
}
_FIXED["float64"] = ">d"
_ZERO_UUID = "AAAAAAAAAAAAAAAAAAAAAA"
_ZERO: dict[str, Any] = {
    "bool": False,
    "float64": 0.0,
    "string": "",
    "bytes": b"",
    "records": b"",
    "uuid": _ZERO_UUID,
}


class WireError(Exception):
    """The connection broke, or a message does not fit its schema."""


@dataclass(frozen=True)
class Field:
    """One field: ``kind`` is its type, ``[]``-prefixed for arrays; ranges are (first, last) version."""

    name: str
    kind: str
    versions: tuple[int, int]
    nullable: tuple[int, int]
    tag: int | None
    tagged: tuple[int, int]
    default: Any
    fields: tuple[Field, ...]

    def empty(self) -> Any:
        """The value of the field in a message without it."""
        if self.default == "null":
            return None
        if self.fields and not self.kind.startswith("[]"):
            return {f.name: f.empty() for f in self.fields}
        if self.default is None or self.kind.startswith("[]"):
            return [] if self.kind.startswith("[]") else _ZERO.get(self.kind, 0)
        if self.kind == "bool":
            return str(self.default).lower() == "true"
        return int(str(self.default), 0) if self.kind in _FIXED else self.default


@dataclass(frozen=True)
class Schema:
    """One request or response: its api key, the versions it exists in, its fields."""

    name: str
    api_key: int
    versions: tuple[int, int]
    flexible: tuple[int, int]
    fields: tuple[Field, ...]


@dataclass(frozen=True)
class Api:
    """A request and its response."""

    request: Schema
    response: Schema


def _range(text: str | None) -> tuple[int, int]:
    if text is None or text == "none":
        return (1, 0)
    first, dash, last = text.partition("-")
    if text.endswith("+"):
        return (int(text[:-1]), 1 << 15)
    return (int(first), int(last) if dash else int(first))


def _fields(raw: list[Message], structs: dict[str, list[Message]]) -> tuple[Field, ...]:
    return tuple(_field(f, structs) for f in raw)


def _field(raw: Message, structs: dict[str, list[Message]]) -> Field:
    kind = raw["type"]
    nested = raw.get("fields") or structs.get(kind.removeprefix("[]"), [])
    return Field(
        raw["name"],
        kind,
        _range(raw.get("versions")),
        _range(raw.get("nullableVersions")),
        raw.get("tag"),
        _range(raw.get("taggedVersions")),
        raw.get("default"),
        _fields(nested, structs),
    )


RENAMED = {("TxnOffsetCommitRequest", "GenerationId"): "GenerationIdOrMemberEpoch"}
"""Fields that older releases call otherwise (before 4.4): drivers say the new name."""


def _schema(text: str) -> Schema:
    raw = json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.M))
    for each in raw["fields"]:
        each["name"] = RENAMED.get((raw["name"], each["name"]), each["name"])
    structs = {s["name"]: s["fields"] for s in raw.get("commonStructs", [])}
    return Schema(
        raw["name"],
        raw.get("apiKey", -1),
        _range(raw["validVersions"]),
        _range(raw["flexibleVersions"]),
        _fields(raw["fields"], structs),
    )


@lru_cache(maxsize=256)
def api(clients_jar: Path, name: str) -> Api:
    """One API by its name in the schemas, e.g. ``OffsetCommit``."""
    with zipfile.ZipFile(clients_jar) as jar:
        request, response = (
            _schema(jar.read(f"common/message/{name}{suffix}.json").decode())
            for suffix in ("Request", "Response")
        )
    return Api(request, response)


@lru_cache(maxsize=64)
def structure(clients_jar: Path, name: str) -> Schema:
    """A structure inside a message's bytes by its name in the schemas: ``ConsumerProtocolAssignment``."""
    with zipfile.ZipFile(clients_jar) as jar:
        return _schema(jar.read(f"common/message/{name}.json").decode())


def within(version: int, span: tuple[int, int]) -> bool:
    return span[0] <= version <= span[1]


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _length(size: int | None, flexible: bool, plain: str) -> bytes:
    if flexible:
        return _varint(0 if size is None else size + 1)
    return struct.pack(plain, -1 if size is None else size)


def encode(fields: Iterable[Field], message: Message, version: int, flexible: bool) -> bytes:
    """The bytes of a message body; unknown names in it are an error, absent ones take their default."""
    present = [f for f in fields if within(version, f.versions)]
    unknown = message.keys() - {f.name for f in present}
    if unknown:
        raise WireError(f"no field {sorted(unknown)} in version {version}")
    out, tagged = bytearray(), []
    for f in present:
        value = message.get(f.name, f.empty())
        if within(version, f.tagged):
            if value != f.empty():
                tagged.append((f.tag or 0, _encode_value(f, f.kind, value, version, flexible)))
        else:
            out += _encode_value(f, f.kind, value, version, flexible)
    if flexible:
        out += _varint(len(tagged))
        for tag, data in sorted(tagged):
            out += _varint(tag) + _varint(len(data)) + data
    return bytes(out)


def _encode_value(f: Field, kind: str, value: Any, version: int, flexible: bool) -> bytes:
    if kind in _FIXED:
        return struct.pack(_FIXED[kind], value)
    if kind == "uuid":
        return base64.urlsafe_b64decode(value + "==")
    if value is None and not within(version, f.nullable):
        raise WireError(f"{f.name} may not be null in version {version}")
    if kind.startswith("[]"):
        head = _length(None if value is None else len(value), flexible, ">i")
        return head + b"".join(_encode_value(f, kind[2:], item, version, flexible) for item in value or [])
    if f.fields:
        # A nullable struct is preceded by a signed byte: -1 for null.
        mark = (
            (b"\xff" if value is None else b"\x01") if kind == f.kind and within(version, f.nullable) else b""
        )
        return mark + (b"" if value is None else encode(f.fields, value, version, flexible))
    data = value.encode() if isinstance(value, str) else value
    size = None if data is None else len(data)
    return _length(size, flexible, ">h" if kind == "string" else ">i") + (data or b"")


@dataclass
class Reader:
    """Takes values from the front of a buffer."""

    data: bytes
    position: int = 0

    def take(self, size: int) -> bytes:
        """The next ``size`` bytes."""
        if size < 0 or self.position + size > len(self.data):
            raise WireError(f"response ends inside a field at byte {self.position}")
        self.position += size
        return self.data[self.position - size : self.position]

    def fixed(self, form: str) -> Any:
        """One number of a ``struct`` format."""
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def varint(self) -> int:
        """An unsigned varint."""
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def length(self, flexible: bool, plain: str) -> int:
        """The size of an array, string or bytes; -1 for null."""
        return self.varint() - 1 if flexible else int(self.fixed(plain))


def decode(fields: Iterable[Field], reader: Reader, version: int, flexible: bool) -> Message:
    """The message at the reader's position, with defaults for the fields that its version lacks."""
    fields = tuple(fields)
    out = {f.name: f.empty() for f in fields}
    tagged = {f.tag: f for f in fields if within(version, f.tagged)}
    for f in fields:
        if within(version, f.versions) and not within(version, f.tagged):
            out[f.name] = _decode_value(f, f.kind, reader, version, flexible)
    for _ in range(reader.varint() if flexible else 0):
        tag, data = reader.varint(), Reader(reader.take(reader.varint()))
        if tag in tagged:
            out[tagged[tag].name] = _decode_value(tagged[tag], tagged[tag].kind, data, version, flexible)
    return out


def _decode_value(f: Field, kind: str, reader: Reader, version: int, flexible: bool) -> Any:
    if kind in _FIXED:
        return reader.fixed(_FIXED[kind])
    if kind == "uuid":
        return base64.urlsafe_b64encode(reader.take(16)).decode().rstrip("=")
    if kind.startswith("[]"):
        size = reader.length(flexible, ">i")
        items = [_decode_value(f, kind[2:], reader, version, flexible) for _ in range(size)]
        return None if size < 0 else items
    if f.fields:
        # A nullable struct is preceded by a signed byte: -1 for null.
        null = kind == f.kind and within(version, f.nullable) and reader.fixed(">b") < 0
        return None if null else decode(f.fields, reader, version, flexible)
    size = reader.length(flexible, ">h" if kind == "string" else ">i")
    data = reader.take(max(size, 0))
    text = data.decode() if kind == "string" else data
    return None if size < 0 else text
