"""Compiles the schema table to instructions for one interpreter, and to the Arrow columns that they fill."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fencepost.formats.schemas import Field, Message, record_types

# Instructions: (operation, column, a, b, c, d); the operands a to d depend on the operation (see _Compiler).
END, INT, UNSIGNED, VAR, UUID, ARRAY, ELEMENT_END, TAGS, TAG_END = 0, 1, 2, 3, 4, 5, 6, 7, 8
NULLABLE_STRUCT, PRESENT, NULLS, DEFAULT = 9, 10, 11, 12
WIDTH = 8
TAG_WIDTH = 4
LINE = 8  # numbers the interpreter keeps per column
UUID_TEXT = 22  # characters

# How a length is written: int16, int32, or unsigned varint of length + 1.
INT16_LENGTH, INT32_LENGTH, COMPACT_LENGTH = 0, 1, 2

# What a column stores per slot: an integer of that many bytes, text and bytes, a list, or only validity.
VAR_COLUMN, LIST_COLUMN, STRUCT_COLUMN = 16, 17, 18

_INTEGERS = {
    "bool": (1, pa.bool_()),
    "int8": (1, pa.int8()),
    "int16": (2, pa.int16()),
    "uint16": (4, pa.int32()),
    "int32": (4, pa.int32()),
    "uint32": (8, pa.int64()),
    "int64": (8, pa.int64()),
    "float64": (8, pa.float64()),
}
_WIRE_WIDTH = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "float64": 8,
}


@dataclass
class Column:
    """One Arrow column of a record: ``kind`` is a byte width or one of the ``*_COLUMN`` kinds.

    ``id`` is where the interpreter keeps its numbers: a multiple of LINE.
    """

    name: str
    id: int
    kind: int
    type: pa.DataType
    children: list[Column] = field(default_factory=list)

    def with_children(self) -> list[Column]:
        """This column and those below it that get a slot whenever it does: all that are not inside a list."""
        if self.kind != STRUCT_COLUMN:
            return [self]
        return [self, *(below for child in self.children for below in child.with_children())]


@dataclass(frozen=True)
class Program:
    """The columns of one key or value; ``entries[version]`` is its first instruction, -1 when unknown."""

    root: Column
    columns: tuple[Column, ...]
    entries: NDArray[np.int64]


@dataclass(frozen=True)
class Library:
    """Every program in one instruction array, so that one interpreter runs a column of mixed types.

    ``code`` is instructions x WIDTH; ``tags`` is TAG_WIDTH each: (tag, instruction, first and end of the
    instructions for the default);
    ``nulls`` is lists of columns.
    """

    code: NDArray[np.int64]
    tags: NDArray[np.int64]
    nulls: NDArray[np.int64]
    programs: dict[tuple[str, str], Program]


@cache
def library() -> Library:
    """Compile the whole table once."""
    compiler = _Compiler()
    programs = {}
    for record in record_types().values():
        programs[record.name, "value"] = compiler.message(record.value)
        if record.key is not None:
            programs[record.name, "key"] = compiler.message(record.key)
    return Library(
        np.array(compiler.code, dtype=np.int64),
        np.array(compiler.tags, dtype=np.int64),
        np.array(compiler.nulls, dtype=np.int64),
        programs,
    )


class _Compiler:
    def __init__(self) -> None:
        self.code: list[list[int]] = []
        self.tags: list[tuple[int, int, int, int]] = []
        self.nulls: list[int] = []
        self._columns: list[Column] = []

    def message(self, message: Message) -> Program:
        self._columns = []
        root = self._struct_column("", message.fields)
        entries = np.full(message.versions.last + 1, -1, dtype=np.int64)
        for version in range(message.versions.first, message.versions.last + 1):
            entries[version] = self._emit(PRESENT, root.id)
            self._body(message.fields, root, version, version in message.flexible)
            self._emit(END, 0)
        return Program(root, tuple(self._columns), entries)

    def _struct_column(self, name: str, fields: Sequence[Field]) -> Column:
        column = self._new(name, STRUCT_COLUMN, pa.null())
        column.children = [self._column(field) for field in fields]
        column.type = pa.struct([(child.name, child.type) for child in column.children])
        return column

    def _column(self, field: Field) -> Column:
        if not field.is_array:
            return self._single(field, field.name)
        column = self._new(field.name, LIST_COLUMN, pa.null())
        column.children = [self._single(field, "item")]
        column.type = pa.list_(column.children[0].type)
        return column

    def _single(self, field: Field, name: str) -> Column:
        if field.type == "struct":
            return self._struct_column(name, field.fields)
        if field.type in _INTEGERS:
            return self._new(name, *_INTEGERS[field.type])
        return self._new(name, VAR_COLUMN, pa.binary() if field.type == "bytes" else pa.string())

    def _new(self, name: str, kind: int, type_: pa.DataType) -> Column:
        column = Column(name, len(self._columns) * LINE, kind, type_)
        self._columns.append(column)
        return column

    def _emit(self, operation: int, column: int, *operands: int) -> int:
        self.code.append([operation, column, *operands, *[0] * (WIDTH - 2 - len(operands))])
        return len(self.code) - 1

    def _body(self, fields: Sequence[Field], struct: Column, version: int, flexible: bool) -> None:
        tagged: list[tuple[Field, Column]] = []
        for field_, column in zip(fields, struct.children, strict=True):
            if version not in field_.versions:
                self._absent(column)
            elif version in field_.tagged:
                tagged.append((field_, column))
            else:
                self._read(field_, column, version, flexible)
        if flexible:
            self._tag_section(tagged, version)

    def _tag_section(self, tagged: list[tuple[Field, Column]], version: int) -> None:
        section = self._emit(TAGS, 0)
        rows = []
        for field_, column in tagged:
            assert field_.tag is not None
            read = len(self.code)
            self._read(field_, column, version, True)
            if self.code[read][0] == NULLABLE_STRUCT:
                # Behind a tag Kafka writes an absent struct as 0, elsewhere as -1.
                self.code[read][5] = 1
            self._emit(TAG_END, 0)
            default = len(self.code)
            self._default(field_, column)
            rows.append((field_.tag, read, default, len(self.code)))
        # The table is laid out after the bodies, which may have tag sections of their own.
        self.code[section][2:5] = [len(self.tags), len(rows), len(self.code)]
        self.tags += rows

    def _absent(self, column: Column) -> None:
        start = len(self.nulls)
        self.nulls += [below.id for below in column.with_children()]
        self._emit(NULLS, column.id, start, len(self.nulls))

    def _default(self, field_: Field, column: Column) -> None:
        if field_.default is None:
            self._absent(column)
        elif column.kind == STRUCT_COLUMN:
            self._emit(PRESENT, column.id)
            for below, child in zip(field_.fields, column.children, strict=True):
                self._default(below, child)
        elif field_.type == "uuid" and not field_.is_array:
            self._emit(DEFAULT, column.id, UUID_TEXT)
        elif field_.is_array or field_.default == "":
            self._emit(DEFAULT, column.id, 0)
        else:
            self._emit(DEFAULT, column.id, int(field_.default))

    def _read(self, field_: Field, column: Column, version: int, flexible: bool) -> None:
        nullable = int(version in field_.nullable)
        if not field_.is_array:
            self._read_single(field_, column, version, flexible, nullable)
            return
        length = COMPACT_LENGTH if flexible else INT32_LENGTH
        item = column.children[0]
        array = self._emit(ARRAY, column.id, length, nullable, 0, item.id)
        self._read_single(field_, item, version, flexible, 0)
        self._emit(ELEMENT_END, 0)
        self.code[array][4] = len(self.code)

    def _read_single(
        self, field_: Field, column: Column, version: int, flexible: bool, nullable: int
    ) -> None:
        if field_.type == "struct":
            self._read_struct(field_, column, version, flexible, nullable)
        elif field_.type in _INTEGERS:
            operation = UNSIGNED if field_.type.startswith("uint") else INT
            self._emit(operation, column.id, _WIRE_WIDTH[field_.type])
        elif field_.type == "uuid":
            self._emit(UUID, column.id)
        else:
            short = INT32_LENGTH if field_.type == "bytes" else INT16_LENGTH
            self._emit(VAR, column.id, COMPACT_LENGTH if flexible else short, nullable)

    def _read_struct(
        self, field_: Field, column: Column, version: int, flexible: bool, nullable: int
    ) -> None:
        if not nullable:
            self._emit(PRESENT, column.id)
            self._body(field_.fields, column, version, flexible)
            return
        start = len(self.nulls)
        self.nulls += [below.id for below in column.with_children()]
        marker = self._emit(NULLABLE_STRUCT, column.id, start, len(self.nulls))
        self._body(field_.fields, column, version, flexible)
        self.code[marker][4] = len(self.code)
