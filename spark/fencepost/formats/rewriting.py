"""Writes a key or a value of the internal topics again, with other texts and bytes in some of its fields."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from fencepost.formats.schemas import Field, Message, record_types

Change = Callable[[str, bytes], bytes | None]
"""The new content of a text or of bytes, by the field's name in snake_case. None stands for null where the
field may be null, else for nothing.
"""

_WIDTHS = {
    "bool": 1, "int8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8, "float64": 8,
    "uuid": 16,
}  # fmt: skip
TEXTS = ("string", "bytes", "records")
"""The types of fields with a text or with bytes."""


class UnreadableError(ValueError):
    """The bytes are not what the schema says."""


def rewritten(record_name: str, part: str, data: bytes, change: Change) -> bytes:
    """``data``, a ``key`` or ``value`` of this record type with its framing, with each text and all bytes
    that are not null as ``change`` returns them. Tags that the schema does not know are left out. Raises
    UnreadableError.
    """
    record = record_types()[record_name]
    message = record.key if part == "key" else record.value
    if message is None:
        raise UnreadableError(f"{record_name} has no {part}")
    written = _Rewriting(data, change)
    version = written.framing(record.framing, part)
    if version not in message.versions:
        raise UnreadableError(f"version {version} of {record_name}")
    written.struct(message.fields, message, version)
    if written.at != len(data):
        raise UnreadableError("something follows the message")
    return bytes(written.out)


@dataclass
class _Rewriting:
    """One message: ``at`` is where reading goes on, ``out`` what was written."""

    data: bytes
    change: Change
    at: int = 0
    out: bytearray = field(default_factory=bytearray)

    def framing(self, framing: str, part: str) -> int:
        """Copy what stands before the body, and return the version (see formats/framing.py)."""
        match framing, part:
            case "metadata", _:
                self._varint(copy=True)
                self._varint(copy=True)
                return self._varint(copy=True)
            case "coordinator", "key":
                self._copy(2)
                return 0
            case "raft_control", _:
                return int.from_bytes(self.data[:2], "big", signed=True)
            case "versioned_32", _:
                return int.from_bytes(self.data[:4], "big", signed=True)
            case _:
                return int.from_bytes(self._copy(2), "big", signed=True)

    def struct(self, fields: tuple[Field, ...], message: Message, version: int) -> None:
        """Write a struct again, with its tagged fields."""
        present = [each for each in fields if version in each.versions]
        for each in present:
            if version not in each.tagged:
                self._value(each, message, version)
        if version in message.flexible:
            tagged = {each.tag: each for each in present if version in each.tagged}
            self._tags(tagged, message, version)

    def _value(self, of: Field, message: Message, version: int, *, tagged: bool = False) -> None:
        if not of.is_array:
            self._one(of, message, version, nullable=version in of.nullable, tagged=tagged)
            return
        length = self._length(4, message, version)
        if length is not None and length > len(self.data) - self.at:
            raise UnreadableError("an array has more elements than bytes follow")
        self._put_length(length, 4, message, version)
        for _ in range(length or 0):
            self._one(of, message, version, nullable=False)

    def _one(
        self, of: Field, message: Message, version: int, *, nullable: bool, tagged: bool = False
    ) -> None:
        if of.type == "struct":
            # behind a tag Kafka writes an absent struct as 0, elsewhere as -1
            if nullable and int.from_bytes(self._copy(1), "big", signed=True) < (1 if tagged else 0):
                return
            self.struct(of.fields, message, version)
        elif of.type in TEXTS:
            width = 2 if of.type == "string" else 4
            length = self._length(width, message, version)
            text = None if length is None else self.change(of.name, self._take(length))
            if text is None and not nullable and length is not None:
                text = b""
            self._put_length(None if text is None else len(text), width, message, version)
            self.out += text or b""
        else:
            self._copy(_WIDTHS[of.type])

    def _tags(self, known: dict[int | None, Field], message: Message, version: int) -> None:
        kept = []
        for _ in range(self._varint()):
            tag, size = self._varint(), self._varint()
            body = self._take(size)
            if tag in known:
                inside = _Rewriting(body, self.change)
                inside._value(known[tag], message, version, tagged=True)
                if inside.at != size:
                    raise UnreadableError("a tagged field is longer than its value")
                kept.append((tag, inside.out))
        self.out += _unsigned(len(kept))
        for tag, value in kept:
            self.out += _unsigned(tag) + _unsigned(len(value)) + value

    def _length(self, width: int, message: Message, version: int) -> int | None:
        if version in message.flexible:
            length = self._varint() - 1
        else:
            length = int.from_bytes(self._take(width), "big", signed=True)
        if length < -1:
            raise UnreadableError("a length is negative")
        return None if length < 0 else length

    def _put_length(self, length: int | None, width: int, message: Message, version: int) -> None:
        number = -1 if length is None else length
        if version in message.flexible:
            self.out += _unsigned(number + 1)
        else:
            self.out += number.to_bytes(width, "big", signed=True)

    def _varint(self, *, copy: bool = False) -> int:
        value = shift = 0
        while True:
            (byte,) = self._take(1)
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
            if shift > 28:
                raise UnreadableError("a varint is too long")
        if copy:
            self.out += _unsigned(value)
        return value

    def _copy(self, size: int) -> bytes:
        taken = self._take(size)
        self.out += taken
        return taken

    def _take(self, size: int) -> bytes:
        taken = self.data[self.at : self.at + size]
        if len(taken) != size:
            raise UnreadableError("the message is cut")
        self.at += size
        return taken


def _unsigned(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])
