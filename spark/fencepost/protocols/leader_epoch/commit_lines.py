"""Requests to commit offsets, each with the incarnation that its client last fetched of that partition."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.leader_epoch.client import Client, Position
from fencepost.protocols.leader_epoch.client_lines import ClientLines
from fencepost.protocols.leader_epoch.client_requests import ClientRequest, of_partitions
from fencepost.protocols.leader_epoch.lines import APIS, COMMIT_APIS
from fencepost.replay.arrow_slices import filtered
from fencepost.replay.entities import distinct
from fencepost.replay.requests import error_name, host_of
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

ClientNames = Mapping[tuple[str, int, str], str]
"""The instance of a client, by its client id, broker and connection."""


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


class ReadPosition(NamedTuple):
    """What a client had fetched of the partition that it commits; the columns of COMMIT_LINES of these
    names.
    """

    fetched_topic_id: str | None
    told_from_ms: int | None = None
    told_to_ms: int | None = None
    told_leader_epoch: int | None = None


class ReadPositions:
    """What clients had fetched before they committed, by request and number of the partition in it."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, int], ReadPosition] = {}

    def add(self, lines: ClientLines, line: ClientRequest, client: Client) -> None:
        """Take an OffsetCommit or a TxnOffsetCommit."""
        if not client.positions and not client.answered_offsets:
            return
        for number, each in enumerate(line.partitions):
            topic = each.requested.topic or lines.topic_of(each.requested.topic_id)
            if topic is None:
                continue
            place = (topic, each.requested.partition)
            position = client.positions.get(place)
            topic_id = None if position is None else _incarnation_of(each.offset, position, client, line)
            if position is not None and topic_id != lines.live_partition_at(line, *place).topic_id:
                # it may have gone on to another incarnation since then, in lines that are missing
                is_certain = (
                    client.sent_nothing_else(position.line, line) or 0 < each.offset == position.offset
                )
                topic_id = topic_id if is_certain else None
            answer = None if topic_id else client.committed(place, each.group_id, each.offset)
            if answer is not None and client.sent_nothing_else(answer.line, line):
                answered = (answer.line.requested_ms, answer.line.responded_ms, answer.leader_epoch)
                self._found[line.request_id, number] = ReadPosition(topic_id, *answered)
            elif topic_id is not None:
                self._found[line.request_id, number] = ReadPosition(topic_id)

    def columns(self, request_ids: pa.Array, numbers: list[int]) -> dict[str, pa.Array]:
        """The columns of ReadPosition, for each pair of a request id and a number of a partition in it."""
        kinds = {name: COMMIT_LINES.arrow_schema.field(name).type for name in ReadPosition._fields}
        if not self._found:
            return {name: pa.nulls(len(request_ids), kind) for name, kind in kinds.items()}
        nothing = ReadPosition(None)
        positions = [
            self._found.get(key, nothing) for key in zip(request_ids.to_pylist(), numbers, strict=True)
        ]
        columns = zip(*positions, strict=True) if positions else ((),) * len(kinds)
        return {name: pa.array(of, kinds[name]) for name, of in zip(kinds, columns, strict=True)}


def _incarnation_of(offset: int, position: Position, client: Client, line: ClientRequest) -> str | None:
    """The incarnation of an offset that a client commits, by where it has read; None where that does not
    tell: an application may commit any offset, also the position that it had in a topic which is gone.
    """
    newest, earlier = position.incarnation_of(offset) or None, position.earlier
    if earlier is None or not earlier.explains(offset):
        return newest
    if not position.explains(offset):
        return earlier.incarnation_of(offset) if client.sent_nothing_else(earlier.line, line) else None
    is_end_of_both = offset in (earlier.offset, earlier.read_to) and offset != position.offset
    return None if is_end_of_both else newest


def commit_lines(
    lines: ClientLines, requests: pa.Table, names: ClientNames, read_before: ReadPositions
) -> pa.Table:
    """The rows of COMMIT_LINES of one cluster, from rows of CLIENT_REQUESTS."""
    commits = filtered(requests, pc.is_in(requests["api_key"], pa.array(COMMIT_APIS, pa.int32())))
    row, number, partitions = of_partitions(commits)
    about = [name for name in COMMIT_LINES.columns if name in commits.column_names]
    request = commits.select([*about, "api_key"]).take(pa.array(row))
    clients, client = distinct([request[name] for name in ("client_id", "broker_id", "connection")])
    of_client = _clients(lines, clients, names)
    columns: dict[str, Any] = {
        **{name: request[name] for name in about},
        **{name: of_client[name].take(client) for name in of_client.column_names},
        **{name: partitions[name] for name in ("group_id", "topic_id", "partition", "offset")},
        **read_before.columns(request["request_id"], number.tolist()),
        "topic": pc.coalesce(partitions["topic"], _named(partitions["topic_id"], lines.topic_of)),
        "leader_epoch": partitions["offset_epoch"],
        "error": _named(partitions["error"], error_name),
        "api_name": _named(request["api_key"], APIS.get),
    }
    columns_in_order = pa.table(
        [columns[name] for name in COMMIT_LINES.columns], names=list(COMMIT_LINES.columns)
    )
    return filtered(columns_in_order, pc.is_valid(columns_in_order["topic"])).cast(COMMIT_LINES.arrow_schema)


def _clients(lines: ClientLines, clients: Sequence[tuple[Any, ...]], names: ClientNames) -> pa.Table:
    """The columns of each client id, broker and connection."""
    columns = ("client", "client_host", "software_name", "software_version")
    rows = [
        (
            names.get((client_id or "", broker_id, connection or "")),
            host_of(connection),
            *lines.software.get((broker_id, connection or ""), (None, None)),
        )
        for client_id, broker_id, connection in clients
    ]
    values = zip(*rows, strict=True) if rows else ((),) * len(columns)
    return pa.table([pa.array(of, pa.string()) for of in values], names=list(columns))


def _named(values: pa.ChunkedArray, name: Callable[[Any], str | None]) -> pa.Array:
    """The name of each value; null for a value without one."""
    coded = values.combine_chunks().dictionary_encode()
    return pa.array([name(value) for value in coded.dictionary.to_pylist()], pa.string()).take(coded.indices)
