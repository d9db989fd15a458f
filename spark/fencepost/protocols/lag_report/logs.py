"""Logs of Kafka Streams applications as rows."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

import pyarrow as pa

from fencepost.capture.kinds import Kind
from fencepost.capture.plan import Fault, Source
from fencepost.capture.rows import Rows
from fencepost.capture.text import Piece, files, of_table, text_rows
from fencepost.formats.clock import LogClock
from fencepost.formats.lines import Parsed
from fencepost.formats.log_entries import Entry, last_entry, parse_entries
from fencepost.protocols.lag_report.bronze import STREAMS_LINES
from fencepost.protocols.lag_report.log_messages import KIND_OF, MESSAGES
from fencepost.settings import Cluster

STREAMS_LOG = "streams_log"
SETTINGS = (
    "application.id", "client.id", "state.dir", "state.cleanup.delay.ms", "acceptable.recovery.lag",
    "probing.rebalance.interval.ms", "num.standby.replicas", "processing.guarantee", "group.protocol",
)  # fmt: skip
"""What is kept of a StreamsConfig."""

_SETTING = re.compile(rf"^\t({'|'.join(map(re.escape, SETTINGS))}) = ?(.*)$", re.MULTILINE)
_CONSUMER = re.compile(
    r"Consumer (?:instanceId=.*?, )?clientId=(?P<instance>.+)(?P<number>-StreamThread-\d+)-consumer, "
    r"groupId=(?P<group_id>.*)",
    re.DOTALL,
)
_THREAD = re.compile(
    r"(?P<instance>.+)-(?:StreamThread-\d+|StateUpdater-\d+|CleanupThread|GlobalStreamThread)", re.DOTALL
)
_SCHEMA = pa.schema(
    [field for field in STREAMS_LINES.arrow_schema if field.name not in {"cluster", "client", "file"}]
)
_MARKS = {message: message.mark.decode() for message in MESSAGES}


def find_streams_logs(cluster: Cluster) -> tuple[list[Source], list[Fault]]:
    """Every file of the clients' ``logs``; patterns that match none are told where producers' are read."""
    return [
        Source(cluster.name, None, STREAMS_LOG, file, timezone=client.timezone, client=client.name)
        for client in cluster.clients
        for file in files(client.logs)[0]
    ], []


def _rows(source: Source) -> Rows:
    origin = {"cluster": source.cluster, "client": source.client, "file": source.file}
    yield from text_rows(source, _parse, of_table(STREAMS_LINES, origin), _is_unfinished, last_entry)


def _parse(source: Source, piece: Piece, after_ms: int | None) -> Parsed:
    clock = LogClock(source.timezone, after_ms)
    data = piece.data if not piece.cut or piece.whole else b""
    marks = sorted({message.mark for message in MESSAGES})
    return parse_entries(data, piece.position, clock, _SCHEMA, marks, take)


def take(entry: Entry) -> dict[str, Any] | None:
    """The row of an entry, without its position; None for one that no message of Kafka Streams is."""
    for message in MESSAGES:
        told = message.match(entry.message) if _MARKS[message] in entry.message else None
        if told is None:
            continue
        row = _named(message.event, told)
        if row is None:
            return None
        text = f"{entry.logged_at_ms}|{entry.logger}|{entry.message}"
        return {
            **{
                field.name: _value(row.get(field.name), field.type)
                for field in _SCHEMA
                if field.name != "position"
            },
            "event": message.event,
            "logged_at_ms": entry.logged_at_ms,
            "line_digest": hashlib.sha256(text.encode("utf-8", "replace")).hexdigest(),
        }
    return None


def _named(event: str, told: dict[str, str | None]) -> dict[str, Any] | None:
    """What an entry names; None where it is another consumer's, or no task's."""
    row: dict[str, Any] = dict(told)
    context = told.get("context")
    if context is not None:
        consumer = _CONSUMER.fullmatch(context)
        if consumer is None:
            return None
        thread = f"{consumer['instance']}{consumer['number']}"
        row |= {"instance": consumer["instance"], "thread": thread, "group_id": consumer["group_id"]}
    elif event in {"joining", "joined", "join_requested", "subscribed"}:
        return None
    elif row.get("thread") is not None:
        found = _THREAD.fullmatch(row["thread"])
        row["instance"] = None if found is None else found["instance"]
    if "kind" in row:
        if row["kind"] not in KIND_OF:
            return None
        row["kind"] = KIND_OF[row["kind"]]
    if event == "configured":
        settings = dict(_SETTING.findall(row["told"] or ""))
        row |= {"instance": settings.get("client.id") or None, "group_id": settings.get("application.id")}
        row["told"] = json.dumps(settings, sort_keys=True)
    return row


def _value(text: str | None, kind: pa.DataType) -> Any:
    if text is None or kind == pa.string():
        return text
    try:
        number = int(text)
    except ValueError:
        return None
    bound = 2 ** (kind.bit_width - 1)
    return number if -bound <= number < bound else None


def _is_unfinished(piece: Piece, parsed: Parsed) -> bool:
    """Never: what waits may be anyone's line."""
    return False


STREAMS_LOGS = Kind(STREAMS_LOG, _rows, (STREAMS_LINES,), find_streams_logs)
