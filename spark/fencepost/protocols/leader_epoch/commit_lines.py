"""Commits as clients asked for them, each with the incarnation that its client last read there."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa

from fencepost.protocols.leader_epoch.client import Client
from fencepost.protocols.leader_epoch.client_lines import ClientLines, line_columns
from fencepost.protocols.leader_epoch.lines import PartitionLine
from fencepost.replay.columns import Columns
from fencepost.replay.requests import RequestLine, error_name
from fencepost.tables import Table

COMMIT_LINES = Table(
    "commit_lines",
    "One row per partition of a commit in the request logs, with what its client last fetched there; or, if "
    "it commits where its group was and has gone on from there nowhere, with when it was told so.",
    {
        "cluster": "string", "group_id": "string", "topic": "string", "topic_id": "string",
        "partition": "int", "offset": "bigint", "leader_epoch": "int", "error": "string",
        "fetched_topic_id": "string", "told_from_ms": "bigint", "told_to_ms": "bigint",
        "told_leader_epoch": "int",
        "client": "string", "client_id": "string", "client_host": "string", "software_name": "string",
        "software_version": "string", "connection": "string",
        "request_id": "string", "broker_id": "int", "api_name": "string", "api_version": "int",
        "correlation_id": "int", "requested_ms": "bigint", "responded_ms": "bigint", "file": "string",
        "position": "bigint",
    },
    ("cluster", "request_id", "topic", "topic_id", "partition"),
)  # fmt: skip


class CommitLine(NamedTuple):
    """A row of COMMIT_LINES."""

    cluster: str
    group_id: str | None
    topic: str
    topic_id: str | None
    partition: int
    offset: int
    leader_epoch: int
    error: str | None
    fetched_topic_id: str | None
    told_from_ms: int | None
    told_to_ms: int | None
    told_leader_epoch: int | None
    client: str | None
    client_id: str | None
    client_host: str | None
    software_name: str | None
    software_version: str | None
    connection: str | None
    request_id: str
    broker_id: int
    api_name: str
    api_version: int
    correlation_id: int
    requested_ms: int
    responded_ms: int
    file: str
    position: int


class CommitLines:
    """The rows of COMMIT_LINES while they are made."""

    def __init__(self) -> None:
        self._rows = Columns(COMMIT_LINES)

    def add(
        self, lines: ClientLines, line: RequestLine, each: PartitionLine, topic: str, client: Client | None
    ) -> None:
        """A partition of an OffsetCommit or a TxnOffsetCommit."""
        place = (topic, each.asked.partition)
        reads = None if client is None else client.reads.get(place)
        of = None if reads is None else reads.incarnation_of(each.offset) or None
        if client is not None and reads is not None and of != lines.live(line, *place).topic_id:
            # it may have gone on to another incarnation since, in lines that are missing
            sure = client.sent_nothing_else(reads.line, line) or 0 < each.offset == reads.offset
            of = of if sure else None
        told = None if client is None or of else client.committed(place, each.group_id, each.offset)
        again: tuple[int | None, ...] = (None, None, None)
        if told is not None and client is not None and client.sent_nothing_else(told.line, line):
            again = (told.line.requested_ms, told.line.responded_ms, told.leader_epoch)
        self._rows.add(
            lines.cluster, each.group_id, topic, each.asked.topic_id, each.asked.partition, each.offset,
            each.offset_epoch, error_name(each.error), of, *again, *lines.client_columns(line, client),
            *line_columns(line),
        )  # fmt: skip

    def to_arrow(self) -> pa.Table:
        """Every row."""
        return self._rows.to_arrow()
