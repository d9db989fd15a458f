"""Logs in text, plain or packed, rotated under any name: their lines in pieces, and the outcome
of a file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from typing import BinaryIO, NamedTuple

import pyarrow as pa

from fencepost.capture import packed
from fencepost.capture.digests import head_digest
from fencepost.capture.files import closed_folders, expand, is_folder, modified, opened
from fencepost.capture.packed import DamagedError, is_compressed
from fencepost.capture.plan import CLOSED, Fault, Source
from fencepost.capture.rows import OUTCOME, Rows, arrow_rows, fault_of, outcome
from fencepost.capture.second_pass import newest_before
from fencepost.capture.writers import Writer
from fencepost.formats import faults as formats
from fencepost.formats.envelopes import end_of_lines, written_by
from fencepost.formats.lines import Parsed
from fencepost.formats.log_entries import LONGEST, begins_entry, first_line
from fencepost.formats.written_order import WrittenOrder
from fencepost.tables import Table

CHUNK = 8 << 20
"""A log is read in pieces that end at the last line ends before multiples of so many bytes."""
_MAX_LINE = 64 << 20
_HEAD = 64 << 10
_SAMPLE = 256
_SHOWN = 3


@dataclass(frozen=True)
class Piece:
    """Lines of a log, and the position at which they begin. Only the last piece may be ``cut``: it does not
    end with a line end, or the last part of a line that a collector divided is missing.

    ``damage``: why nothing more could be decompressed; ``whole``: nothing can follow; ``may_go_on``: the last
    entry may have more lines, which are not written yet.
    """

    data: bytes
    position: int
    may_go_on: bool = False
    cut: bool = False
    damage: str | None = None
    whole: bool = False


class Absence(NamedTuple):
    """A path or glob whose files are not read, the reason, and what to do."""

    path: str
    reason: str
    detail: str


Parse = Callable[[Source, Piece, int | None], Parsed]
"""The lines of a piece; the last argument is the ``last_ms`` of the piece before."""

BEGINS = "file_begins"

RowsOf = Callable[[pa.RecordBatch], Rows]
"""Converts the rows of a chunk, which have the column BEGINS of their file, to rows of bronze."""

Unfinished = Callable[[Piece, Parsed], bool]
"""Whether a file's last line, without a line end, is missing evidence."""

_NOT_IN_ORDER = (
    "its lines are not in the order in which they were written, and nothing of them is read: export them "
    "again, the oldest first and in the order of the file (logcli: --forward)"
)
_PUT_TOGETHER = (
    "from here on its lines are not in the order in which they were written, and nothing of them is read: "
    "the numbers of the requests of one connection go back, as in a file that was sorted, or of several "
    "files, the newest first; name the files themselves, or put them together again, the oldest first"
)
_OF_SEVERAL = (
    "it has lines of several programs ({}), and which are this broker's is not known: nothing of them is "
    "read; write a file for each"
)
_UNKNOWN_LAYOUT = (
    "none of its lines begins with a time in a known layout, so nothing of it is read: docs/operating.md, "
    "Layouts, says what is read"
)

_WITHOUT_END = (
    "from here on it has no line end, and more bytes than a line of a log has: nothing of it is read; write "
    "each line of the log into a line of its own"
)

_FOLDER = "this is a folder: name the files in it, as in /var/log/kafka/*.log*"

LastEntry = Callable[[bytes], int]
"""The position in these complete lines at which the last entry begins; it may continue in later lines."""


def matching(pattern: str) -> list[str]:
    """The files that a glob matches."""
    return [path for path in expand(pattern) if not is_folder(path)]


def files(patterns: tuple[str, ...], if_none: str) -> tuple[list[str], list[Absence]]:
    """The files that the globs match, each once, and what is absent; ``if_none``: what to do if a glob
    matches no file.
    """
    found: dict[str, None] = {}
    absent = []
    for pattern in patterns:
        matched, closed = matching(pattern), closed_folders(pattern)
        found |= dict.fromkeys(matched)
        absent += [Absence(folder, "unreadable", CLOSED) for folder in closed]
        if not matched and not closed:
            is_there = any(map(is_folder, expand(pattern)))
            absent.append(Absence(pattern, "missing", _FOLDER if is_there else if_none))
    return list(found), absent


def final_first_entry_digest(path: str) -> str | None:
    """The digest of a log's first entry, by which a run that has planned to read the log finds out that
    another one has its name now; None while that entry may still be written. Raises OSError.
    """
    with opened(path) as file:
        begins, stays = _first_entry_digest(_head(file))
    return begins if stays else None


def _first_entry_digest(head: bytes) -> tuple[str | None, bool]:
    """A digest that identifies the log with these first bytes, whatever its name and length, and whether it
    is final.

    It is the digest of the line of its first entry, or of the part of it that is in the first bytes (None if
    they have no entry). It is not final if this line may still be written.
    """
    line = first_line(head)
    if line is None:
        return None, False
    return hashlib.sha256(line).hexdigest(), len(head) == _HEAD or b"\n" in head[head.find(line) :]


def _head(file: BinaryIO) -> bytes:
    """The first bytes of a log; none of one that is packed and damaged there."""
    if not is_compressed(file):
        return file.read(_HEAD)
    try:
        return packed.head(file, _HEAD, _HEAD)
    except DamagedError:
        return b""


def of_table(table: Table, origin: Mapping[str, object]) -> RowsOf:
    """Makes rows of ``table`` from the columns of a chunk and those of ``origin``."""

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
    """The rows of bronze in the source's range, and its outcome.

    With ``last_entry`` each piece begins at the begin of an entry, even if entries have several lines. Raises
    FileNotFoundError if the log was renamed since the run was planned: the log that has its name now may be
    newer than the segments as they were then, so its lines would be about records that the run does not have.
    """
    faults: list[Fault] = []
    consumed_to, entries, skipped = source.start, 0, 0
    with opened(source.file) as file:
        compressed = is_compressed(file)
        head = _head(file)
        begins, stays = _first_entry_digest(head)
        if source.file_begins not in (None, begins):
            raise FileNotFoundError(source.file)
        log = begins if stays else None
        whose, written, writer = _owners(source, head), WrittenOrder(), Writer(source)
        writer.fault_of(head)
        last_ms = newest_before(file, source, lambda: modified(source.file), compressed=compressed)
        for piece in _pieces(file, source, last_entry):
            parsed = parse(source, piece, last_ms)
            last_ms = parsed.last_ms
            owners = whose | _owners(source, piece.data) if whose else whose
            if wrong := writer.fault_of(piece.data) or _what_is_wrong(parsed, owners, written):
                fault = formats.Fault(piece.position, len(piece.data), *wrong)
                parsed = replace(parsed, rows=parsed.rows.slice(0, 0), faults=(fault,), skipped=0)
            # what it has noted of these lines is taken, and dropped
            yield from (each for each in rows_of(_with_begins(parsed.rows, begins)) if not wrong)
            entries += parsed.rows.num_rows
            skipped += parsed.skipped
            if not piece.cut or piece.whole:
                faults += [_bad_line(source, piece, each, log) for each in parsed.faults]
                consumed_to = parsed.consumed_to
            elif piece.damage is not None or is_unfinished(piece, parsed):
                faults.append(_unfinished(source, piece, log))
            elif len(piece.data) > _HEAD:
                fault = formats.Fault(piece.position, len(piece.data), "bad_line", _WITHOUT_END)
                faults.append(_bad_line(source, piece, fault, log))
        if begins is None and not entries and not faults and head[: head.rfind(b"\n") + 1].strip():
            faults.append(fault_of(source, formats.Fault(0, 0, "bad_line", _UNKNOWN_LAYOUT), head[:_SAMPLE]))
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


def _owners(source: Source, lines: bytes) -> set[bytes]:
    """Whose lines these of a broker's log are, where a collector says it. An application may have several
    instances, whose producers have ids of their own.
    """
    return written_by(lines[: lines.rfind(b"\n") + 1]) if source.broker_id is not None else set()


def _what_is_wrong(parsed: Parsed, owners: Set[bytes], written: WrittenOrder) -> tuple[str, str] | None:
    """The reason and the sentence for which nothing of these lines is read; None if they are in the order of
    one program.
    """
    if len(owners) > 1:
        some = sorted(each.decode("utf-8", "replace") for each in owners)[:_SHOWN]
        return "bad_line", _OF_SEVERAL.format(", ".join(some))
    if not parsed.is_in_order:
        return "bad_line", _NOT_IN_ORDER
    is_numbered = "correlation_id" in parsed.rows.schema.names
    return ("bad_line", _PUT_TOGETHER) if is_numbered and written.is_lost(parsed.rows) else None


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
    """The source's range in pieces that end at line ends, except the last one."""
    position, unfinished_text, damage = source.start, b"", None
    compressed = is_compressed(file)
    chunks = _chunks(file, source)
    while damage is None:
        try:
            data = next(chunks, None)
        except DamagedError as error:
            data, damage = None, str(error)
        if data is None:
            break
        data = unfinished_text + data
        end = end_of_lines(data)
        if last_entry is not None and end:
            # what goes on for longer is cut at a line end: a program may print for hours without any time
            tail = max(0, end - LONGEST)
            begin = last_entry(data[tail:end])
            end = tail + begin if begin or not tail else end
        if end == 0 and len(data) > _MAX_LINE:
            # this is no text: bytes without line ends are not collected in memory
            end = len(data)
        # the whole is let go before the lines are read: memory has them once
        data, unfinished_text = data[:end], data[end:]
        if end:
            yield Piece(data, position)
        position += end
    end = end_of_lines(unfinished_text)
    if end:
        yield Piece(
            unfinished_text[:end],
            position,
            may_go_on=not compressed and not begins_entry(unfinished_text[end:]),
        )
        position, unfinished_text = position + end, unfinished_text[end:]
    if unfinished_text or damage:
        yield Piece(unfinished_text, position, cut=True, damage=damage, whole=compressed and damage is None)


def _chunks(file: BinaryIO, source: Source) -> Iterator[bytes]:
    """Uncompressed bytes from ``start``. Raises DamagedError."""
    if not is_compressed(file):
        file.seek(source.start)
        at, before = source.start, -1
        while before < at < source.end:
            # not kept here while it is read
            yield file.read(min(CHUNK - at % CHUNK, source.end - at))
            at, before = file.tell(), at
        return
    yield from packed.unpacked(file, CHUNK)
