"""The brokers' request logs as rows."""

from __future__ import annotations

from fencepost.capture.kinds import Kind
from fencepost.capture.plan import REQUEST_LOG, Fault, Source
from fencepost.capture.rows import Rows
from fencepost.capture.text import Piece, files, text_rows
from fencepost.formats.lines import Parsed
from fencepost.formats.request_log import parse_lines
from fencepost.settings import Cluster
from fencepost.tables import REQUESTS

_LINE_END = b"(kafka.request.logger)"
_MISSING = "no file matches: correct request_logs in the configuration, or switch the request log on"


def find_request_logs(cluster: Cluster) -> tuple[list[Source], list[Fault]]:
    """Every file of the brokers' ``request_logs``, and the patterns that match none."""
    sources: list[Source] = []
    faults: list[Fault] = []
    for broker in cluster.brokers:
        found, missing = files(broker.request_logs)
        sources += [
            Source(cluster.name, broker.id, REQUEST_LOG, file, timezone=broker.timezone) for file in found
        ]
        faults += [
            Fault(cluster.name, broker.id, REQUEST_LOG, pattern, 0, 0, "missing", _MISSING)
            for pattern in missing
        ]
    return sources, faults


def rows(source: Source) -> Rows:
    """The rows of ``bronze.requests`` in the source's range, and what became of it."""
    origin = {"cluster": source.cluster, "broker_id": source.broker_id, "file": source.file}
    yield from text_rows(source, REQUESTS, _parse, _is_unfinished, origin)


def _parse(source: Source, piece: Piece, after_ms: int | None) -> Parsed:
    # a last line that is whole but for its line end counts now; its digest keeps it from counting again
    return parse_lines(piece.data, piece.position, source.timezone, after_ms=after_ms, final=piece.cut)


def _is_unfinished(piece: Piece, parsed: Parsed) -> bool:
    return parsed.rows.num_rows == 0 and not piece.data.rstrip().endswith(_LINE_END)


REQUEST_LOGS = Kind(REQUEST_LOG, (find_request_logs,), rows, (REQUESTS,))
