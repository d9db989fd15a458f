"""The partitions in lines of request logs, read as columns: only those members of Kafka's JSON
that matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.leader_epoch.lines import (
    FETCH,
    LIST_OFFSETS,
    OFFSET_COMMIT,
    OFFSET_FETCH,
    OFFSET_FOR_LEADER_EPOCH,
    TXN_OFFSET_COMMIT,
)
from fencepost.replay.logs import Longs, longs
from fencepost.replay.topic_objects import Columns, TopicList, last_at, places, struct

_TEXT, _INT, _LONG = pa.string(), pa.int32(), pa.int64()
_NUMBERS = {
    "offset": _LONG, "leader_epoch": _INT, "offset_epoch": _INT, "answered": _LONG, "answered_epoch": _INT,
    "log_start_offset": _LONG, "high_watermark": _LONG,
}  # fmt: skip
"""The columns that are -1 where the line has no value."""
COLUMNS = {
    "topic": _TEXT, "topic_id": _TEXT, "partition": _INT, **_NUMBERS, "error": _INT, "leader_told": _INT,
    "group_id": _TEXT,
}  # fmt: skip
"""The columns of a partition in a line (lines.PartitionLine)."""


def _list(name: str, number: str, members: Mapping[str, str]) -> TopicList:
    """A list of topics; ``members`` by the column of COLUMNS that they are read into."""
    return TopicList(name, number, {column: (path, COLUMNS[column]) for column, path in members.items()})


@dataclass(frozen=True)
class _Api:
    request: TopicList
    response: TopicList


_COMMIT = _Api(
    _list("topics", "partitionIndex", {"offset": "committedOffset", "offset_epoch": "committedLeaderEpoch"}),
    _list("topics", "partitionIndex", {"error": "errorCode"}),
)
_APIS = {
    FETCH: _Api(
        _list(
            "topics",
            "partition",
            {
                "offset": "fetchOffset",
                "leader_epoch": "currentLeaderEpoch",
                "offset_epoch": "lastFetchedEpoch",
            },
        ),
        _list(
            "responses",
            "partitionIndex",
            {
                "error": "errorCode",
                "answered": "divergingEpoch.endOffset",
                "answered_epoch": "divergingEpoch.epoch",
                "log_start_offset": "logStartOffset",
                "high_watermark": "highWatermark",
                "leader_told": "currentLeader.leaderEpoch",
            },
        ),
    ),
    LIST_OFFSETS: _Api(
        _list("topics", "partitionIndex", {"leader_epoch": "currentLeaderEpoch"}),
        _list(
            "topics",
            "partitionIndex",
            {"error": "errorCode", "answered": "offset", "answered_epoch": "leaderEpoch"},
        ),
    ),
    OFFSET_FOR_LEADER_EPOCH: _Api(
        _list("topics", "partition", {"leader_epoch": "currentLeaderEpoch", "offset_epoch": "leaderEpoch"}),
        _list(
            "topics",
            "partition",
            {"error": "errorCode", "answered": "endOffset", "answered_epoch": "leaderEpoch"},
        ),
    ),
    OFFSET_COMMIT: _COMMIT,
    TXN_OFFSET_COMMIT: _COMMIT,
}
_COMMITTED = _list(
    "topics",
    "partitionIndex",
    {"error": "errorCode", "answered": "committedOffset", "answered_epoch": "committedLeaderEpoch"},
)

_WHOLE = {"groupId": _TEXT, "replicaId": _INT, "replicaState.replicaId": _INT}
REQUEST_TYPES = {
    api_key: struct({**_WHOLE, api.request.name: api.request.type}) for api_key, api in _APIS.items()
}
RESPONSE_TYPES = {
    api_key: struct({"errorCode": _INT, api.response.name: api.response.type})
    for api_key, api in _APIS.items()
}
"""By API, the members of a request and of an answer that are read."""
REQUEST_TYPES[OFFSET_FETCH] = struct({"groupId": _TEXT})
RESPONSE_TYPES[OFFSET_FETCH] = struct(
    {
        "topics": _COMMITTED.type,
        "groups": pa.list_(struct({"groupId": _TEXT, "topics": _COMMITTED.type})),
    }
)


def partition_lines(
    api_key: int, requests: pa.StructArray, answers: pa.StructArray
) -> tuple[Longs, pa.Table]:
    """The partitions in lines of one API: for each the number of its line, in rising order, and COLUMNS.

    ``requests`` and ``answers``: one element a line, of the types REQUEST_TYPES and RESPONSE_TYPES; null
    where there is none, or none that can be read.
    """
    if api_key == OFFSET_FETCH:
        line, values = _committed(requests, answers)
    else:
        line, values = _answered(_APIS[api_key], api_key, requests, answers)
    for name in _NUMBERS:
        values[name] = pc.fill_null(values[name], -1) if name in values else pa.repeat(-1, len(line))
    columns = [values.get(name, pa.nulls(len(line))).cast(kind) for name, kind in COLUMNS.items()]
    rows = pa.table(columns, names=list(COLUMNS))
    if (np.diff(line) >= 0).all():
        return line, rows
    order = np.argsort(line, kind="stable")
    return line[order], rows.take(pa.array(order))


def _read(of: TopicList, lists: pa.ListArray) -> tuple[Longs, Columns]:
    """The partitions of lists of topics: the number of the list, and columns."""
    number, columns = of.read(lists)
    columns["partition"] = pc.fill_null(columns["partition"], -1)
    if "error" in columns:
        columns["error"] = pc.fill_null(columns["error"], 0)
    return number, columns


def _answered(
    api: _Api, api_key: int, requests: pa.StructArray, responses: pa.StructArray
) -> tuple[Longs, Columns]:
    line, columns = _read(api.request, pc.struct_field(requests, api.request.name))
    of, answers = _read(api.response, pc.struct_field(responses, api.response.name))
    own, others = places(line, columns, of, answers)
    # an answer may have a partition twice: the last one counts
    answer = last_at(own, others)
    rows = pa.array(answer, mask=answer < 0)
    columns |= {name: answers[name].take(rows) for name in api.response.members}
    if api_key == FETCH:
        # in a fetch session the answer may have a partition that only an earlier request lists
        has_news = pc.or_(pc.not_equal(answers["error"], 0), pc.is_valid(answers["high_watermark"]))
        is_more = np.asarray(has_news) & (last_at(others, others) == np.arange(len(others)))
        more = pa.array(np.flatnonzero(is_more & ~np.isin(others, own)))
        line = np.concatenate([line, of[more]])
        columns = {
            name: pa.concat_arrays(
                [each, answers[name].take(more) if name in answers else pa.nulls(len(more), each.type)]
            )
            for name, each in columns.items()
        }
        of_line, each = responses.take(pa.array(line)), pc.fill_null(columns["error"], 0)
        whole = pc.fill_null(pc.struct_field(of_line, "errorCode"), 0)
        refused = pc.if_else(pc.equal(whole, 0), each, whole)
        columns["error"] = pc.if_else(pc.is_valid(of_line), refused, None)
    columns["group_id"] = pc.struct_field(requests, "groupId").take(pa.array(line))
    return line, columns


def _committed(requests: pa.StructArray, answers: pa.StructArray) -> tuple[Longs, Columns]:
    """The committed offsets in answers to OffsetFetch, which are of several groups since version 8."""
    groups = pc.struct_field(answers, "groups")
    group, group_line = pc.list_flatten(groups), pc.list_parent_indices(groups)
    of, several = _read(_COMMITTED, pc.struct_field(group, "topics"))
    several["group_id"] = pc.struct_field(group, "groupId").take(pa.array(of))
    line, one = _read(_COMMITTED, pc.struct_field(answers, "topics"))
    one["group_id"] = pc.struct_field(requests, "groupId").take(pa.array(line))
    alone = np.flatnonzero(~np.asarray(pc.is_valid(groups))[line])
    columns = {name: pa.concat_arrays([several[name], one[name].take(pa.array(alone))]) for name in several}
    return np.concatenate([longs(group_line)[of], line[alone]]), columns
