"""Requests of producers, and of coordinators and brokers on their behalf: ``silver.producer_requests``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.producer_epoch.arrow import timestamps
from fencepost.protocols.producer_epoch.request_targets import (
    APIS,
    OFFSET_FETCH,
    READERS,
    UNSTABLE,
    RequestTarget,
)
from fencepost.protocols.producer_epoch.tables import PRODUCER_REQUESTS
from fencepost.replay.garbage_collection import collection_paused
from fencepost.replay.keys import OFFSETS_TOPIC, coordinator_partition, digest_of
from fencepost.replay.metadata import ClusterMetadata
from fencepost.replay.requests import error_name, parse_object

_LINE = (
    "cluster", "broker_id", "api_key", "api_name", "api_version", "correlation_id", "client_id", "connection",
    "principal", "software_name", "software_version", "file", "position",
)  # fmt: skip
LINE_COLUMNS = (*_LINE, "line_digest", "logged_at_ms", "total_time_ms", "request", "response")
"""What is read of ``bronze.requests``."""


@collection_paused()
def producer_requests(requests: pa.Table, metadata: Mapping[str, ClusterMetadata]) -> pa.Table:
    """``silver.producer_requests`` of rows of ``bronze.requests``, of any clusters and brokers.

    One row for each target of a request, in the order of the lines. ``metadata`` (by cluster) gives the name
    of a topic that a request calls by its id.
    """
    lines = requests.filter(pc.is_in(requests["api_key"], pa.array(APIS, pa.int32())))
    # nearly all OffsetFetch are of no transaction
    concerns_producers = pc.or_(
        pc.not_equal(lines["api_key"], OFFSET_FETCH),
        pc.fill_null(pc.match_substring_regex(lines["response"], UNSTABLE), False),
    )
    lines = lines.filter(concerns_producers)
    targets: list[RequestTarget] = []
    of_line: list[int] = []
    columns = (lines[name].to_pylist() for name in ("api_key", "api_version", "request", "response"))
    for at, (api_key, version, request, response) in enumerate(zip(*columns, strict=True)):
        sent = parse_object(request)
        if sent is None:
            continue
        try:
            line_targets = list(READERS[api_key](sent, parse_object(response), version))
        except (AttributeError, KeyError, TypeError):
            # JSON that no broker wrote has no targets; it must not end the run
            continue
        targets += line_targets
        of_line += [at] * len(line_targets)
    return _table(lines, targets, of_line, metadata)


def _table(
    lines: pa.Table, targets: list[RequestTarget], of_line: list[int], metadata: Mapping[str, ClusterMetadata]
) -> pa.Table:
    rows = lines.select(_LINE).take(pa.array(of_line, pa.int64()))
    ids = [digest_of(*key) for key in zip(*(lines[name].to_pylist() for name in _ID), strict=True)]
    logged = np.asarray(lines["logged_at_ms"].to_numpy(), dtype=np.int64)
    arrived = np.floor(logged - lines["total_time_ms"].to_numpy()).astype(np.int64)
    lines_of_rows = np.array(of_line, dtype=np.int64)
    columns: dict[str, Any] = {name: rows[name] for name in _LINE}
    columns["request_id"] = pa.array(ids, pa.string()).take(pa.array(lines_of_rows))
    columns["requested_at"] = timestamps(arrived[lines_of_rows])
    columns["responded_at"] = timestamps(logged[lines_of_rows])
    fields = zip(*targets, strict=True) if targets else ([] for _ in RequestTarget._fields)
    fields_of_targets = dict(zip(RequestTarget._fields, map(list, fields), strict=True))
    codes = fields_of_targets.pop("error_code")
    names = {code: error_name(code) for code in set(codes)}
    columns["error"] = [names[code] for code in codes]
    clusters = rows["cluster"].to_pylist()
    columns["topic"], columns["partition"] = (
        fields_of_targets.pop("topic"),
        fields_of_targets.pop("partition"),
    )
    for at, (topic_id, group_id) in enumerate(
        zip(fields_of_targets.pop("topic_id"), fields_of_targets["group_id"], strict=True)
    ):
        cluster_metadata = metadata.get(clusters[at], _NO_METADATA)
        if topic_id is not None and columns["topic"][at] is None:
            columns["topic"][at] = cluster_metadata.topics.name_of(topic_id)
        of_offsets = group_id is not None and topic_id is None and columns["topic"][at] is None
        if of_offsets and OFFSETS_TOPIC in cluster_metadata.partition_counts:
            count = cluster_metadata.partition_counts[OFFSETS_TOPIC]
            known = {each.partitions for each in cluster_metadata.coordinators[OFFSETS_TOPIC]} <= {
                count,
                None,
            }
            columns["topic"][at] = OFFSETS_TOPIC
            # if the topic was created again with another number of partitions, the group moved
            columns["partition"][at] = coordinator_partition(group_id, count) if known else None
    fields_of_targets["committed_partitions"] = [
        each and _named(each, metadata.get(cluster, _NO_METADATA))
        for each, cluster in zip(fields_of_targets["committed_partitions"], clusters, strict=True)
    ]
    schema = PRODUCER_REQUESTS.arrow_schema
    values = {**columns, **fields_of_targets}
    arrays = [
        values[field.name]
        if isinstance(values[field.name], pa.Array | pa.ChunkedArray)
        else _array(values[field.name], field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(
        [array.cast(field.type) for array, field in zip(arrays, schema, strict=True)], schema=schema
    )


def _named(partitions: Iterable[tuple[str | None, str | None, int]], metadata: ClusterMetadata) -> list[str]:
    """'topic:partition' of those whose topic has a name, or an id with a known one (from version 6 on)."""
    names = ((name or metadata.topics.name_of(topic_id), at) for name, topic_id, at in partitions)
    return [f"{name}:{at}" for name, at in names if name]


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:
        # JSON may escape half of a surrogate pair, which is no valid text: it becomes '?', as in Java
        readable = [None if each is None else each.encode("utf-8", "replace").decode() for each in values]
        return pa.array(readable, kind)


_ID = ("cluster", "broker_id", "line_digest")


_NO_METADATA = ClusterMetadata()
