"""Request logs as Spark rows: plain or gzipped, rotated under any name."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from fencepost.capture.plan import REQUEST_LOG, Fault, Source, expand, head_digest, is_compressed
from fencepost.capture.reader import OUTCOME, PlannedSource, arrow_rows, fault_of, outcome
from fencepost.formats import faults as formats
from fencepost.formats.request_log import Parsed, parse_lines
from fencepost.settings import Broker
from fencepost.tables import REQUESTS, Table

_CHUNK = 8 << 20
# what damaged data costs at most
_PACKED = 16 << 10
_MAX_LINE = 64 << 20
_SAMPLE = 256
_LINE_END = b"(kafka.request.logger)"


def find_request_logs(cluster: str, broker: Broker) -> tuple[list[Source], list[Fault]]:
    """Every file of the broker's ``request_logs``, and the patterns that match none."""
    sources: dict[str, Source] = {}
    faults: list[Fault] = []
    for pattern in broker.request_logs:
        files = [path for path in expand(pattern) if not Path(path).is_dir()]
        for path in files:
            sources[path] = Source(cluster, broker.id, REQUEST_LOG, path, timezone=broker.timezone)
        if not files:
            detail = (
                "no file matches: correct request_logs in the configuration, or switch the request log on"
            )
            faults.append(Fault(cluster, broker.id, REQUEST_LOG, pattern, 0, 0, "missing", detail))
    return list(sources.values()), faults


class RequestLogSource(PlannedSource):
    """Rows of ``bronze.requests``, or what became of every file."""

    tables = (REQUESTS, OUTCOME)

    @classmethod
    def name(cls) -> str:
        """The format's name for ``spark.read.format``."""
        return "kafka_request_logs"

    def rows(self, source: Source, table: Table) -> Iterator[pa.RecordBatch]:
        """The rows of ``table`` in the source's range."""
        if table is OUTCOME:
            yield _outcome(source)
            return
        origin = {"cluster": source.cluster, "broker_id": source.broker_id, "file": source.file}
        for _, parsed in _parsed(source):
            columns = {name: parsed.requests[name] for name in parsed.requests.schema.names}
            yield arrow_rows(REQUESTS, parsed.requests.num_rows, {**columns, **origin})


@dataclass(frozen=True)
class _Piece:
    """Lines of a log and where they begin; only the last piece may be ``cut``, without a line end.

    ``damage`` says why nothing more could be decompressed.
    """

    data: bytes
    position: int
    cut: bool = False
    damage: str | None = None


def _parsed(source: Source) -> Iterator[tuple[_Piece, Parsed]]:
    last_ms = None
    for piece in _pieces(source):
        # a last line that is whole but for its line end counts now; its digest keeps it from counting again
        parsed = parse_lines(piece.data, piece.position, source.timezone, after_ms=last_ms, final=piece.cut)
        last_ms = parsed.last_ms
        yield piece, parsed


def _outcome(source: Source) -> pa.RecordBatch:
    faults: list[Fault] = []
    consumed_to, entries, skipped = source.start, 0, 0
    with Path(source.file).open("rb") as file:
        compressed = is_compressed(file)
        for piece, parsed in _parsed(source):
            entries += parsed.requests.num_rows
            skipped += parsed.skipped
            if not piece.cut or (compressed and piece.damage is None):
                faults += [_bad_line(source, piece, each) for each in parsed.faults]
                consumed_to = parsed.consumed_to
            else:
                faults += _unfinished(source, piece, parsed)
        progress = {
            "head_digest": head_digest(file, source.end if compressed else consumed_to),
            "size": source.end,
            "consumed_to": consumed_to,
            "entries": entries,
            "skipped": skipped,
        }
    return outcome(source, faults, progress)


def _bad_line(source: Source, piece: _Piece, fault: formats.Fault) -> Fault:
    at = fault.position - piece.position
    sample = piece.data[at : at + min(fault.length, _SAMPLE)]
    return fault_of(source, fault, sample)


def _unfinished(source: Source, piece: _Piece, parsed: Parsed) -> Iterator[Fault]:
    """What is wrong with the end of a file that has no line end there."""
    sample = piece.data[:_SAMPLE]
    if piece.damage is not None:
        detail = f"the compressed file is damaged here ({piece.damage}): compress it again from its original"
        damage = formats.Fault(piece.position, len(piece.data), "truncated", detail)
        yield fault_of(source, damage, sample)
    elif parsed.requests.num_rows == 0 and not piece.data.rstrip().endswith(_LINE_END):
        detail = "the last line is not finished: it is looked at again when the file grows"
        yield fault_of(source, formats.Fault(piece.position, len(piece.data), "torn_tail", detail), sample)


def _pieces(source: Source) -> Iterator[_Piece]:
    """The source's range in pieces that end at line ends, but for the last one."""
    position, rest, damage = source.start, b"", None
    with Path(source.file).open("rb") as file:
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
            if upto == 0 and len(data) > _MAX_LINE:
                # no text: what never ends as a line is not collected in memory
                upto = len(data)
            if upto:
                yield _Piece(data[:upto], position)
            position, rest = position + upto, data[upto:]
    if rest or damage:
        yield _Piece(rest, position, cut=True, damage=damage)


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
