"""What the tests of the byte formats share: jars, a batch encoder, Kafka's JSON form of a decoded record."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from record_batches import encode_batch

from fencepost.formats.schemas import Field, record_types

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def jars() -> Path:
    """The folder of all jars, one subfolder per set."""
    return Path(os.environ.get("FENCEPOST_JARS", ROOT / ".jars"))


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
