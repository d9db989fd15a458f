"""Request logs as Spark rows: plain or gzipped, rotated under any name."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import pyarrow as pa

from fencepost.capture.plan import REQUEST_LOG, Fault, Source, expand, head_digest, is_compressed
from fencepost.capture.reader import OUTCOME, PlannedSource, arrow_rows, fault_of, outcome
from fencepost.settings import Broker
from fencepost.tables import REQUESTS, Table

_CHUNK = 8 << 20
# what damaged data costs at most
_PACKED = 16 << 10
_MAX_LINE = 64 << 20
_SAMPLE = 256


def find_request_logs(cluster: str, broker: Broker) -> tuple[list[Source], list[Fault]]:
    """Every file of the broker's ``request_logs``, and the patterns that match none."""
    sources: dict[str, Source] = {}
    faults: list[Fault] = []
    for pattern in broker.request_logs:
        files = [path for path in expand(pattern) if not os.path.isdir(path)]
        for path in files:
            sources[path] = Source(cluster, broker.id, REQUEST_LOG, path, timezone=broker.timezone)
        if not files:
            detail = "no file matches: correct request_logs in the configuration, or switch the request log on"
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
        from fencepost.formats.request_log import parse_lines

        origin = {"cluster": source.cluster, "broker_id": source.broker_id, "file": source.file}
        for piece in _pieces(source):
            parsed = parse_lines(piece.data, piece.position, source.timezone)
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


def _pieces(source: Source) -> Iterator[_Piece]:
    """The source's range in pieces that end at line ends, but for the last one."""
    position, rest, damage = source.start, b"", None
    with open(source.file, "rb") as file:
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
    """Uncompressed bytes from ``start`` on. Raises zlib.error where compressed data is damaged or ends early."""
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
