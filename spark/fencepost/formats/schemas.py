"""The declarative table of every record type: the fields of a key or value, by version.

Same terms as Kafka's own message JSON (``versions``, ``flexible``, ``taggedVersions``, ``nullableVersions``);
``until`` marks what only older brokers than the newest release write.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

FILES = (
    "consumer_offsets", "cluster_metadata", "transaction_state", "share_group_state", "control_records",
    "consumer_protocol", "streams_assignor",
)  # fmt: skip


@dataclass(frozen=True)
class Versions:
    """A range of versions as Kafka writes it: ``none``, ``2``, ``0-3`` or ``1+``; both ends are included."""

    first: int
    last: int

    @classmethod
    def parse(cls, text: str) -> Versions:
        """Read Kafka's notation."""
        if text == "none":
            return cls(0, -1)
        if text.endswith("+"):
            return cls(int(text[:-1]), 32767)
        first, _, last = text.partition("-")
        return cls(int(first), int(last or first))

    def __contains__(self, version: int) -> bool:
        return self.first <= version <= self.last


@dataclass(frozen=True)
class Field:
    """One field; ``type`` is Kafka's base type or ``struct``, ``is_array`` says that it repeats."""

    name: str
    type: str
    is_array: bool
    versions: Versions
    nullable: Versions
    tagged: Versions
    tag: int | None
    default: Any
    fields: tuple[Field, ...]


@dataclass(frozen=True)
class Message:
    """The key or the value of a record type."""

    versions: Versions
    flexible: Versions
    fields: tuple[Field, ...]


@dataclass(frozen=True)
class RecordType:
    """One record type of one topic; ``framing`` says how type and version stand before the body."""

    name: str
    type: int | None
    framing: str
    topic: str | None
    key: Message | None
    value: Message


@cache
def record_types() -> dict[str, RecordType]:
    """Every record type by name."""
    return {record.name: record for name in FILES for record in _load(name)}


@cache
def types_of(topic: str) -> dict[int, RecordType]:
    """The record types of ``topic`` by their number; of control records when the topic is ``control``."""
    return {
        record.type: record
        for record in record_types().values()
        if record.type is not None and topic == (record.topic or "control")
    }


def snake(name: str) -> str:
    """Kafka's field name as a column name: ``memberEpoch`` and ``MemberEpoch`` give ``member_epoch``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def _load(name: str) -> list[RecordType]:
    text = files("fencepost.formats").joinpath("schemas", f"{name}.json").read_text(encoding="utf-8")
    table = json.loads(text)
    return [
        RecordType(
            record["name"],
            record.get("type"),
            record.get("framing", table["framing"]),
            table.get("topic"),
            _message(record["key"]) if "key" in record else None,
            _message(record["value"]),
        )
        for record in table["records"]
    ]


def _message(raw: dict[str, Any]) -> Message:
    structs = raw.get("structs", {})
    fields = tuple(_field(field, structs) for field in raw["fields"])
    return Message(Versions.parse(raw["versions"]), Versions.parse(raw["flexible"]), fields)


def _field(raw: dict[str, Any], structs: dict[str, Any]) -> Field:
    is_array = raw["type"].startswith("[]")
    base = raw["type"].removeprefix("[]")
    inner = raw.get("fields") or structs.get(base)
    # In Kafka's JSON a field that is always tagged may have its versions in taggedVersions only.
    versions = Versions.parse(raw.get("versions", raw.get("taggedVersions", "none")))
    return Field(
        snake(raw["name"]),
        "struct" if inner is not None else base,
        is_array,
        versions,
        Versions.parse(raw.get("nullableVersions", "none")),
        Versions.parse(raw.get("taggedVersions", "none")),
        raw.get("tag"),
        raw.get("default", _zero(base, is_array)),
        tuple(_field(field, structs) for field in inner or ()),
    )


def _zero(base: str, is_array: bool) -> Any:
    """What Kafka's generated classes hold where the schema gives no default."""
    if is_array:
        return []
    return {"bool": False, "string": "", "bytes": "", "uuid": ""}.get(base, 0)
