"""Reads offsets that users stored, from a file or a table, and checks every field."""

from __future__ import annotations

import base64
import binascii
import csv
import datetime as dt
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fencepost.protocols.base import UsageError
from fencepost.protocols.leader_epoch.offset_epoch import OffsetEpoch, OffsetEpochError, decode
from fencepost.protocols.leader_epoch.stored.arguments import NEEDED
from fencepost.reading import Reader, rows

if TYPE_CHECKING:
    import pyarrow as pa

_KINDS = (".csv", ".json", ".jsonl", ".ndjson", ".parquet")
_TABLE = re.compile(r"\w+\.\w+")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2})+")
_TOPIC_ID = re.compile(r"[\w-]{22}", re.ASCII)
# as many hexadecimal digits as an offsetEpoch has: no base64 of one is that long
_HEX_DIGITS = 18


@dataclass(frozen=True)
class StoredOffset:
    """A stored offset, of the record to read next. ``epochs`` are -1 where none was stored, other fields
    None.
    """

    topic: str
    partition: int
    offset: int
    epochs: OffsetEpoch
    topic_id: str | None
    stored_at: dt.datetime | None


def stored_offsets(reader: Reader, name: str) -> list[StoredOffset]:
    """The offsets in the file or table of that name, in its order.

    Columns are NEEDED, and any of OPTIONAL (``arguments``); others are ignored. Raises UsageError, which
    names the line.
    """
    return [_offset(where, fields) for where, fields in _read(reader, name)]


def _read(reader: Reader, name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each row's place in the file or table, for messages, and its fields."""
    file = Path(name)
    try:
        if file.suffix.lower() not in _KINDS and _TABLE.fullmatch(name) and not file.exists():
            yield from _numbered(name, reader.scan(name))
        elif file.suffix.lower() == ".csv":
            yield from _csv(file)
        elif file.suffix.lower() == ".parquet":
            yield from _numbered(name, _parquet(file))
        elif file.suffix.lower() in _KINDS:
            yield from _json(file)
        else:
            raise UsageError(f"{name}: no table (schema.table), and no file that ends in {', '.join(_KINDS)}")
    except OSError as error:
        raise UsageError(f"{name}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{name}: no UTF-8 at byte {error.start}: write it as UTF-8") from error


def _csv(file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    with file.open(encoding="utf-8-sig", newline="") as opened:
        reader = csv.DictReader(opened, strict=True)
        try:
            for row in reader:
                where = f"{file}, line {reader.line_num}"
                if None in row:
                    raise UsageError(f"{where}: more fields than the first line has names")
                yield where, {name: value or None for name, value in row.items()}
        except csv.Error as error:
            raise UsageError(f"{file}, line {reader.reader.line_num}: {error}") from error


def _json(file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    with file.open(encoding="utf-8-sig") as opened:
        for number, line in enumerate(opened, 1):
            where = f"{file}, line {number}"
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise UsageError(f"{where}: no JSON ({error}): write one object a line") from error
            if not isinstance(row, dict):
                raise UsageError(f"{where}: no JSON object: write one object a line")
            yield where, row


def _parquet(file: Path) -> pa.Table:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        return parquet.read_table(file)
    except pa.ArrowInvalid as error:
        raise UsageError(f"{file}: no Parquet: {error}") from error


def _numbered(name: str, table: pa.Table) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, row in enumerate(rows(table), 1):
        yield f"{name}, row {number}", row


def _offset(where: str, fields: Mapping[str, Any]) -> StoredOffset:
    missing = [name for name in NEEDED if fields.get(name) is None]
    if missing:
        are = "is" if len(missing) == 1 else "are"
        raise UsageError(f"{where}: {', '.join(missing)} {are} missing; every row needs {', '.join(NEEDED)}")
    try:
        return StoredOffset(
            topic=_text(fields, "topic") or "",
            partition=_number(fields, "partition", 31) or 0,
            offset=_number(fields, "offset", 63) or 0,
            epochs=_epochs(fields),
            topic_id=_topic_id(fields),
            stored_at=_stored_at(fields),
        )
    except ValueError as error:
        raise UsageError(f"{where}: {error}") from error


def _text(fields: Mapping[str, Any], name: str) -> str | None:
    value = fields.get(name)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{name} {value!r} is no text")
    return value


def _number(fields: Mapping[str, Any], name: str, bits: int, least: int = 0) -> int | None:
    value = fields.get(name)
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,19}", value, re.ASCII):
        value = int(value)
    if value is None or (type(value) is int and least <= value < 1 << bits):
        return value
    raise ValueError(f"{name} {value!r} is no whole number from {least} to {(1 << bits) - 1}")


def _topic_id(fields: Mapping[str, Any]) -> str | None:
    value = _text(fields, "topic_id")
    if value is not None and not _TOPIC_ID.fullmatch(value):
        raise ValueError(f"topic_id {value!r} is none: Kafka writes 22 characters, url-safe base64")
    return value


def _epochs(fields: Mapping[str, Any]) -> OffsetEpoch:
    """Both epochs from ``offset_epoch``, or the leader epoch alone from its own field."""
    alone = _number(fields, "leader_epoch", 31, least=-1)
    data = _bytes(fields.get("offset_epoch"))
    if data is None:
        return OffsetEpoch(-1 if alone is None else alone, -1)
    epochs = decode(data)
    if alone not in (None, -1, epochs.leader_epoch):
        raise ValueError(f"leader_epoch {alone} is not that in offset_epoch, {epochs.leader_epoch}")
    return epochs


def _bytes(value: object) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    if not isinstance(value, str):
        raise ValueError(f"offset_epoch {value!r} is neither bytes nor their text in base64 or hexadecimal")
    if len(value) == _HEX_DIGITS and _HEX.fullmatch(value):
        return bytes.fromhex(value)
    text = value.replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except binascii.Error as error:
        raise OffsetEpochError(f"offset_epoch {value!r} is neither base64 nor hexadecimal") from error


def _stored_at(fields: Mapping[str, Any]) -> dt.datetime | None:
    """``stored_at`` as the lake has times: in UTC, without zone."""
    value = fields.get("stored_at")
    if isinstance(value, str):
        try:
            value = dt.datetime.fromisoformat(value)
        except ValueError as error:
            raise ValueError(f"stored_at {value!r} is no time like 2026-01-31T23:59:59Z") from error
    if value is None or (isinstance(value, dt.datetime) and value.tzinfo is None):
        return value
    if not isinstance(value, dt.datetime):
        raise ValueError(f"stored_at {value!r} is no time like 2026-01-31T23:59:59Z")
    return value.astimezone(dt.UTC).replace(tzinfo=None)
