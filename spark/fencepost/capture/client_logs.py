"""The logs of client applications as rows: the lines of producers about their epochs."""

from __future__ import annotations

from fencepost.capture.kinds import Kind
from fencepost.capture.plan import CLIENT_LOG, Fault, Source, named_on
from fencepost.capture.rows import Rows
from fencepost.capture.text import Piece, files, of_table, text_rows
from fencepost.formats.client_log import parse_client_lines
from fencepost.formats.lines import Parsed
from fencepost.settings import Client, Cluster
from fencepost.tables import CLIENT_LINES

_MISSING = "no file matches: correct the client's logs in the configuration, or mount them"


def find_client_logs(cluster: Cluster) -> tuple[list[Source], list[Fault]]:
    """Every file of the clients' ``logs``, and the patterns that match none."""
    sources: list[Source] = []
    faults: list[Fault] = []
    for client in cluster.clients:
        matching, absent = files(client.logs, _MISSING)
        sources += [log_of(cluster, client, CLIENT_LOG, file) for file in matching]
        for each in absent:
            name = named_on(client.host, each.path)
            faults.append(Fault(cluster.name, None, CLIENT_LOG, name, 0, 0, each.reason, each.detail))
    return sources, faults


def log_of(cluster: Cluster, client: Client, kind: str, file: str) -> Source:
    """A log of a client, all of it."""
    return Source(
        *(cluster.name, None, kind, file), timezone=client.timezone, client=client.name, host=client.host
    )


def rows(source: Source) -> Rows:
    """The rows of ``bronze.client_lines`` in the source's range, and its outcome."""
    origin = {"cluster": source.cluster, "client": source.client, "file": source.name}
    yield from text_rows(source, _parse, of_table(CLIENT_LINES, origin), _is_unfinished)


def _parse(source: Source, piece: Piece, after_ms: int | None) -> Parsed:
    # a line that is cut may end in the middle of an epoch: it waits for its line end
    return parse_client_lines(
        piece.data, piece.position, source.timezone, after_ms=after_ms, final=piece.whole
    )


def _is_unfinished(piece: Piece, parsed: Parsed) -> bool:
    """Never: an unfinished line need not be a producer's."""
    return False


CLIENT_LOGS = Kind(CLIENT_LOG, rows, (CLIENT_LINES,), find=find_client_logs)
