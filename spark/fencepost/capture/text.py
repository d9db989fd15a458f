"""Logs in text, plain or gzipped, rotated under any name: lines piece by piece, and what became of a file."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import BinaryIO

import pyarrow as pa

from fencepost.capture.digests import head_digest
from fencepost.capture.files import expand, is_folder, opened
from fencepost.capture.plan import Fault, Source, is_compressed
from fencepost.capture.rows import OUTCOME, Rows, arrow_rows, fault_of, outcome
from fencepost.formats import faults as formats
from fencepost.formats.lines import Parsed
from fencepost.formats.log_entries import begins_entry, first_line
from fencepost.tables import Table

_CHUNK = 8 << 20
# what damaged data costs at most
_PACKED = 16 << 10
_MAX_LINE = 64 << 20
_HEAD = 64 << 10
_SAMPLE = 256


@dataclass(frozen=True)
class Piece:
    """Lines of a log and where they begin; only the last piece may be ``cut``, without a line end.

    ``damage`` says why nothing more could be decompressed; ``whole`` that nothing can follow; ``may_go_on``
    that the last entry may have lines that are still to be written.
    """

    data: bytes
    position: int
    may_go_on: bool = False
    cut: bool = False
    damage: str | None = None
    whole: bool = False


Parse = Callable[[Source, Piece, int | None], Parsed]
"""The lines of a piece; the last argument is the ``last_ms`` of the piece before."""

BEGINS = "file_begins"

RowsOf = Callable[[pa.RecordBatch], Rows]
"""The rows of bronze that the rows of a chunk become, which have the column BEGINS of their file."""

Unfinished = Callable[[Piece, Parsed], bool]
"""Whether the end of a file that has no line end there is evidence that is missing."""

LastEntry = Callable[[bytes], int]
"""Where, of these whole lines, the last entry begins: it may go on in the lines that follow."""


def files(patterns: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """The files that the globs match, each once, and the globs that match none."""
    found: dict[str, None] = {}
    missing = []
    for pattern in patterns:
        matched = [path for path in expand(pattern) if not is_folder(path)]
        found |= dict.fromkeys(matched)
        if not matched:
            missing.append(pattern)
    return list(found), missing


def _first_entry_digest(file: BinaryIO) -> tuple[str | None, bool]:
    """What identifies a log whatever its name is now, and however long: a digest of the line of its first
    entry, or of what its first bytes hold of a longer one (None where they hold none); and whether it stays
    so, because that line is not still being written.
    """
    if is_compressed(file):
        try:
            head = zlib.decompressobj(wbits=31).decompress(file.read(_HEAD), _HEAD)
        except zlib.error:
            return None, False
    else:
        head = file.read(_HEAD)
    line = first_line(head)
    if line is None:
        return None, False
    return hashlib.sha256(line).hexdigest(), len(head) == _HEAD or b"\n" in head[head.find(line) :]


def of_table(table: Table, origin: Mapping[str, object]) -> RowsOf:
    """Rows of ``table``: its columns among those of a chunk, and those of ``origin``."""

    def rows_of(read: pa.RecordBatch) -> Rows:
        columns = {name: read[name] for name in read.schema.names}
        yield table, arrow_rows(table, read.num_rows, {**columns, **origin})

    return rows_of


def text_rows(
    source: Source,
    parse: Parse,
    rows_of: RowsOf,
    is_unfinished: Unfinished,
    last_entry: LastEntry | None = None,
) -> Rows:
    """The rows of bronze in the source's range; and what became of it.

    With ``last_entry`` a piece begins where an entry does, however many lines it has.
    """
    faults: list[Fault] = []
    consumed_to, entries, skipped, last_ms = source.start, 0, 0, None
    with opened(source.file) as file:
        compressed = is_compressed(file)
        begins, stays = _first_entry_digest(file)
        log = begins if stays else None
        for piece in _pieces(file, source, last_entry):
            parsed = parse(source, piece, last_ms)
            last_ms = parsed.last_ms
            yield from rows_of(_with_begins(parsed.rows, begins))
            entries += parsed.rows.num_rows
            skipped += parsed.skipped
            if not piece.cut or piece.whole:
                faults += [_bad_line(source, piece, each, log) for each in parsed.faults]
                consumed_to = parsed.consumed_to
            elif piece.damage is not None or is_unfinished(piece, parsed):
                faults.append(_unfinished(source, piece, log))
        progress = {
            "head_digest": head_digest(file, source.end if compressed else consumed_to),
            "size": source.end,
            "consumed_to": consumed_to,
            "entries": entries,
            "records": 0,
            "skipped": skipped,
            BEGINS: begins,
        }
    yield OUTCOME, outcome(source, faults, progress)


def _with_begins(rows: pa.RecordBatch, begins: str | None) -> pa.RecordBatch:
    return rows.append_column(BEGINS, pa.repeat(pa.scalar(begins, pa.string()), rows.num_rows))


def _bad_line(source: Source, piece: Piece, fault: formats.Fault, begins: str | None) -> Fault:
    at = fault.position - piece.position
    sample = piece.data[at : at + min(fault.length, _SAMPLE)]
    return replace(fault_of(source, fault, sample), file_begins=begins)


def _unfinished(source: Source, piece: Piece, begins: str | None) -> Fault:
    if piece.damage is not None:
        reason = "truncated"
        detail = f"the compressed file is damaged here ({piece.damage}): compress it again from its original"
    else:
        reason = "torn_tail"
        detail = "the last line is not finished: it is looked at again when the file grows"
    fault = formats.Fault(piece.position, len(piece.data), reason, detail)
    return replace(fault_of(source, fault, piece.data[:_SAMPLE]), file_begins=begins)


def _pieces(file: BinaryIO, source: Source, last_entry: LastEntry | None) -> Iterator[Piece]:
    """The source's range in pieces that end at line ends, but for the last one."""
    position, rest, damage = source.start, b"", None
    compressed = is_compressed(file)
    chunks = _chunks(file, source)
    while damage is None:
        try:
            data = next(chunks, None)
        except zlib.error as error:
            data, damage = None, str(error)
        if data is None:
            break
        data = rest + data
        upto = data.rfind(b"\n") + 1
        if last_entry is not None:
            upto = last_entry(data[:upto])
        if upto == 0 and len(data) > _MAX_LINE:
            # no text: what never ends as a line is not collected in memory
            upto = len(data)
        if upto:
            yield Piece(data[:upto], position)
        position, rest = position + upto, data[upto:]
    upto = rest.rfind(b"\n") + 1
    if upto:
        yield Piece(rest[:upto], position, may_go_on=not compressed and not begins_entry(rest[upto:]))
        position, rest = position + upto, rest[upto:]
    if rest or damage:
        yield Piece(rest, position, cut=True, damage=damage, whole=compressed and damage is None)


def _chunks(file: BinaryIO, source: Source) -> Iterator[bytes]:
    """Uncompressed bytes from ``start`` on; zlib.error where compressed data is damaged or ends early."""
    if not is_compressed(file):
        file.seek(source.start)
        left = source.end - source.start
        while left > 0 and (data := file.read(min(_CHUNK, left))):
            left -= len(data)
            yield data
        return
    inflate, packed = zlib.decompressobj(wbits=31), b""
    while packed := packed or file.read(_PACKED):
        if inflate.eof:
            # a gzip file may be several, one after the other; zeros between them are padding
            packed = packed.lstrip(b"\0")
            inflate = zlib.decompressobj(wbits=31) if packed else inflate
        else:
            yield inflate.decompress(packed, _CHUNK)
            packed = inflate.unconsumed_tail or inflate.unused_data
    yield inflate.flush()
    if not inflate.eof:
        raise zlib.error("it ends before its end marker")
