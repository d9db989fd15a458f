"""Requests of clients as rows: the topics and partitions in their lines, parsed from the JSON."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.leader_epoch.lines import (
    CLIENT_APIS,
    DESCRIBE_TOPIC_PARTITIONS,
    FETCH,
    METADATA,
    NamedPartition,
    PartitionLine,
)
from fencepost.protocols.leader_epoch.partition_lines import (
    COLUMNS,
    REQUEST_TYPES,
    RESPONSE_TYPES,
    partition_lines,
)
from fencepost.replay.arrow_slices import filtered, shared_values
from fencepost.replay.json_objects import objects_of
from fencepost.replay.keys import digests_of_texts
from fencepost.replay.logs import Longs, by_log, longs
from fencepost.replay.requests import parse_object, requested_ms
from fencepost.tables import Table

_LISTS = {f"{name}s": name for name in COLUMNS}
"""By the name of a list in a row of CLIENT_REQUESTS, the column of partitions (COLUMNS) that it has."""
_KINDS = {pa.string(): "array<string>", pa.int32(): "array<int>", pa.int64(): "array<bigint>"}

CLIENT_REQUESTS = Table(
    "client_requests",
    "One row per request of CLIENT_APIS that is a JSON object. ``replica_id`` is the broker that fetches, -1 "
    "for a consumer; ``topics_digest`` names what an answer to Metadata or DescribeTopicPartitions says of "
    "topics (bronze.topic_lists); ``asks_all``: Metadata of every topic. The lists have an element for each "
    "partition (lines.PartitionLine): none where request or answer are not as Kafka writes them.",
    {
        "cluster": "string", "request_id": "string", "broker_id": "int", "api_key": "int",
        "api_version": "int", "correlation_id": "int", "client_id": "string", "connection": "string",
        "requested_ms": "bigint",
        "responded_ms": "bigint", "file": "string", "position": "bigint", "topics_digest": "string",
        "asks_all": "boolean", "replica_id": "int", "software_name": "string", "software_version": "string",
        **{of: _KINDS[COLUMNS[name]] for of, name in _LISTS.items()},
    },
    ("cluster", "request_id"),
)  # fmt: skip

_DIGEST = r'"topics": ?"(?P<topics>[0-9a-f]{64})"'
_TOPICS = pa.struct({"topics": pa.list_(pa.struct({"name": pa.string()}))})
_BYTES_AT_ONCE = 8 << 20
_ROWS_AT_ONCE = 20_000


class ClientRequest(NamedTuple):
    """One request of a client, see CLIENT_REQUESTS and RequestLine."""

    request_id: str
    broker_id: int
    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    connection: str | None
    requested_ms: int
    responded_ms: int
    file: str
    position: int
    topics_digest: str | None
    asks_all: bool
    replica_id: int
    partitions: Sequence[PartitionLine]


_OF_REQUEST = ClientRequest._fields[:-1]
_REPEATED = frozenset({"client_id", "connection", "file", "topics_digest", "topic", "topic_id", "group_id"})
"""Columns whose values repeat: equal values share one Python object."""


def of_clients(requests: pa.Table) -> pa.Table:
    """``client_requests`` without those of brokers, which fetch as replicas."""
    requests_of_all = client_requests(requests)
    return filtered(requests_of_all, pc.less(requests_of_all["replica_id"], 0))


def client_requests(requests: pa.Table) -> pa.Table:
    """The rows of CLIENT_REQUESTS, of any rows of ``bronze.requests``."""
    parts = [CLIENT_REQUESTS.arrow_schema.empty_table()]
    for (cluster, broker_id, api_key), rows in by_log(requests, "cluster", "broker_id", "api_key").items():
        if api_key in CLIENT_APIS:
            parts += [_read(str(cluster), broker_id, int(str(api_key)), each) for each in _pieces(rows)]
    return pa.concat_tables(parts)


def each_request(
    rows: pa.Table, api_keys: Collection[int], first: Sequence[str] = ()
) -> Iterator[ClientRequest]:
    """The requests of these APIs among rows of CLIENT_REQUESTS, ordered by the columns ``first``, then by the
    time of the answer, file, position and id.
    """
    rows = rows.filter(pc.is_in(rows["api_key"], pa.array(sorted(api_keys), pa.int32())))
    names = (*first, "responded_ms", "file", "position", "request_id")
    rows = rows.sort_by([(name, "ascending") for name in names])
    for start in range(0, rows.num_rows, _ROWS_AT_ONCE):
        yield from _requests(rows.slice(start, _ROWS_AT_ONCE))


def of_partitions(rows: pa.Table) -> tuple[Longs, Longs, pa.Table]:
    """The partitions of rows of CLIENT_REQUESTS: the row of each, its number there, and COLUMNS."""
    length = longs(pc.list_value_length(rows["topics"]))
    row = np.repeat(np.arange(len(length)), length)
    number = np.arange(len(row)) - np.repeat(np.cumsum(length) - length, length)
    return row, number, pa.table({name: pc.list_flatten(rows[of]) for of, name in _LISTS.items()})


def _requests(rows: pa.Table) -> Iterator[ClientRequest]:
    row, _, partitions = of_partitions(rows)
    values = {name: _values(name, partitions[name]) for name in COLUMNS}
    requested = map(NamedPartition, *(values[name] for name in NamedPartition._fields))
    lines = list(map(PartitionLine, requested, *(values[name] for name in PartitionLine._fields[1:])))
    count = np.bincount(row, minlength=rows.num_rows)
    of = (_values(name, rows[name]) for name in _OF_REQUEST)
    begin = 0
    for *request, end in zip(*of, np.cumsum(count).tolist(), strict=True):
        yield ClientRequest._make((*request, lines[begin:end]))
        begin = end


def _values(name: str, column: pa.ChunkedArray) -> list[Any]:
    return shared_values(column) if name in _REPEATED else column.to_pylist()


def _pieces(rows: pa.Table) -> Iterator[pa.Table]:
    """The rows in pieces of limited size: a line may be long."""
    size = pc.add(pc.binary_length(rows["request"]), pc.fill_null(pc.binary_length(rows["response"]), 0))
    piece = np.cumsum(longs(size.cast(pa.int64()))) // _BYTES_AT_ONCE
    begins = [0, *(np.flatnonzero(np.diff(piece)) + 1).tolist(), rows.num_rows]
    for begin, end in pairwise(begins):
        yield rows.slice(begin, end - begin).combine_chunks()


def _read(cluster: str, broker_id: object, api_key: int, rows: pa.Table) -> pa.Table:
    """The rows of one API at one broker."""
    request, response = (rows[name].combine_chunks() for name in ("request", "response"))
    request_objects = objects_of(request, REQUEST_TYPES.get(api_key, _TOPICS))
    ids = digests_of_texts(cluster, str(broker_id), rows["line_digest"])
    # quotes inside a JSON string are escaped, so no name can pass for this
    has_digest = api_key in (METADATA, DESCRIBE_TOPIC_PARTITIONS)
    digests = (
        pc.struct_field(pc.extract_regex(response, _DIGEST), 0)
        if has_digest
        else pa.nulls(len(request_objects))
    )
    columns: dict[str, Any] = {
        "request_id": pa.array(ids, pa.string()),
        "requested_ms": requested_ms(rows),
        "responded_ms": rows["logged_at_ms"],
        "topics_digest": digests,
        "asks_all": _ask_all(request_objects)
        if api_key == METADATA
        else pa.repeat(False, len(request_objects)),
        "replica_id": _replicas(request_objects) if api_key == FETCH else pa.repeat(-1, len(request_objects)),
        **_partitions(api_key, request_objects, response),
    }
    values = [columns[name] if name in columns else rows[name] for name in CLIENT_REQUESTS.columns]
    table = pa.table(values, names=list(CLIENT_REQUESTS.columns)).cast(CLIENT_REQUESTS.arrow_schema)
    unread = np.flatnonzero(pc.is_null(request_objects))
    none = [row for row in unread.tolist() if parse_object(request[row].as_py()) is None]
    return table.filter(pa.array(~np.isin(np.arange(len(request_objects)), none))) if none else table


def _ask_all(requests: pa.StructArray) -> pa.Array:
    return pc.and_(pc.is_valid(requests), pc.is_null(pc.struct_field(requests, "topics")))


def _replicas(requests: pa.StructArray) -> pa.Array:
    state = pc.struct_field(requests, "replicaState")
    named = pc.if_else(
        pc.is_valid(state), pc.struct_field(state, "replicaId"), pc.struct_field(requests, "replicaId")
    )
    return pc.fill_null(named, -1)


def _partitions(api_key: int, requests: pa.StructArray, response: pa.Array) -> dict[str, pa.Array]:
    """The lists of CLIENT_REQUESTS."""
    if api_key not in REQUEST_TYPES:
        return {
            of: pa.repeat(pa.scalar([], pa.list_(COLUMNS[name])), len(requests))
            for of, name in _LISTS.items()
        }
    answers = objects_of(response, RESPONSE_TYPES[api_key])
    line, partitions = partition_lines(api_key, requests, answers)
    is_read = np.asarray(pc.and_(pc.is_valid(requests), pc.equal(pc.is_null(answers), pc.is_null(response))))
    is_wanted = is_read[line]
    line, partitions = line[is_wanted], filtered(partitions, is_wanted)
    ends = np.cumsum([0, *np.bincount(line, minlength=len(requests))])
    return {
        of: pa.ListArray.from_arrays(pa.array(ends, pa.int32()), partitions[name].combine_chunks())
        for of, name in _LISTS.items()
    }
