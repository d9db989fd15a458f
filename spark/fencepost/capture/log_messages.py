"""Logs of brokers and applications as rows: the entries with messages that a protocol reads."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from fencepost.capture.client_logs import log_of
from fencepost.capture.plan import Fault, Source
from fencepost.capture.rows import Rows
from fencepost.capture.text import BEGINS, Piece, matching, of_table, text_rows
from fencepost.formats.clock import LogClock
from fencepost.formats.envelopes import plain
from fencepost.formats.lines import Parsed
from fencepost.formats.log_entries import UNKNOWN_AROUND, Entry, Message, last_entry, parse_entries
from fencepost.settings import Cluster
from fencepost.tables import Table

ToColumns = Callable[[str, Mapping[str, str | None]], Mapping[str, str | None] | None]
_OF_SOURCE = {"cluster", "client", "broker_id", "file", BEGINS}


@dataclass(frozen=True)
class LogMessages:
    """A table of bronze that has a row for each entry that matches one of ``messages`` (the first that
    matches).

    ``to_columns`` takes the event and the fields of a message and returns the values of the table's columns
    as text, or None to skip the entry. Each row also has the columns event, logged_at_ms, line_digest and
    position, and its origin: cluster, file, broker_id or client, and file_begins if the table has that
    column.
    """

    table: Table
    messages: Sequence[Message]
    to_columns: ToColumns

    def rows(self, source: Source) -> Rows:
        """The rows of the source's range, and its outcome."""
        owner: dict[str, object]
        owner = {"client": source.client} if source.broker_id is None else {"broker_id": source.broker_id}
        origin = {"cluster": source.cluster, "file": source.name, **owner}
        yield from text_rows(source, self._parse, of_table(self.table, origin), _is_unfinished, last_entry)

    def take(self, entry: Entry) -> dict[str, Any] | None:
        """The row of an entry, without its position; None for any other entry. Raises ValueError for one that
        cannot be read.
        """
        for message, mark in self._marks.items():
            values_by_field = message.match(entry.message) if mark in entry.message else None
            if values_by_field is None:
                continue
            values = self.to_columns(message.event, values_by_field)
            if values is None:
                return None
            text = f"{entry.logged_at_ms}|{entry.logger}|{message.without_rest(entry.message)}"
            return {
                **{
                    field.name: _value(values.get(field.name), field.type)
                    for field in self._schema
                    if field.name != "position"
                },
                "event": message.event,
                "logged_at_ms": entry.logged_at_ms,
                "line_digest": hashlib.sha256(text.encode("utf-8", "replace")).hexdigest(),
            }
        if any(
            mark in entry.message and message.is_within(entry.message)
            for message, mark in self._marks.items()
        ):
            raise ValueError(UNKNOWN_AROUND)
        return None

    @cached_property
    def _schema(self) -> pa.Schema:
        return pa.schema([field for field in self.table.arrow_schema if field.name not in _OF_SOURCE])

    @cached_property
    def _marks(self) -> dict[Message, str]:
        return {message: message.mark.decode() for message in self.messages}

    def _parse(self, source: Source, piece: Piece, after_ms: int | None) -> Parsed:
        clock = LogClock(source.timezone, after_ms)
        data = piece.data if not piece.cut or piece.whole else b""
        if piece.may_go_on and any(each.may_go_on(plain(data).data) for each in self.messages):
            # it is read again when the file grows
            data = b""
        marks = sorted({message.mark for message in self.messages})
        return parse_entries(data, piece.position, clock, self._schema, marks, self.take)


def find_client_logs(kind: str, cluster: Cluster) -> tuple[list[Source], list[Fault]]:
    """Every file of the clients' ``logs``. Patterns that match no file are reported by
    ``client_logs.find_client_logs``.
    """
    return [
        log_of(cluster, client, kind, file)
        for client in cluster.clients
        for pattern in client.logs
        for file in matching(pattern)
    ], []


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
    """Never: an unfinished line need not be one of the messages."""
    return False
