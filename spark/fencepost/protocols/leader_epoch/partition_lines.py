"""What lines of request logs say of partitions, read in columns: of Kafka's JSON the members that matter."""

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
"""-1 where there is none."""
COLUMNS = {
    "topic": _TEXT, "topic_id": _TEXT, "partition": _INT, **_NUMBERS, "error": _INT, "leader_told": _INT,
    "group_id": _TEXT,
}  # fmt: skip
"""What is read of a partition (lines.PartitionLine)."""


def _list(name: str, number: str, members: Mapping[str, str]) -> TopicList:
    """A list of topics; ``members`` by the column of COLUMNS that they are read into."""
    return TopicList(name, number, {column: (path, COLUMNS[column]) for column, path in members.items()})


@dataclass(frozen=True)
class _Api:
    asked: TopicList
    told: TopicList


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
ASKED = {api_key: struct({**_WHOLE, api.asked.name: api.asked.type}) for api_key, api in _APIS.items()}
TOLD = {api_key: struct({"errorCode": _INT, api.told.name: api.told.type}) for api_key, api in _APIS.items()}
"""By API the members of a request and of an answer that are read."""
ASKED[OFFSET_FETCH] = struct({"groupId": _TEXT})
TOLD[OFFSET_FETCH] = struct(
    {
        "topics": _COMMITTED.type,
        "groups": pa.list_(struct({"groupId": _TEXT, "topics": _COMMITTED.type})),
    }
)


def partition_lines(api_key: int, asked: pa.StructArray, told: pa.StructArray) -> tuple[Longs, pa.Table]:
    """What lines of an API say of partitions: the numbers of the lines, which rise, and COLUMNS.

    ``asked`` and ``told`` are the requests and their answers (ASKED, TOLD), null where there is none that can
    be read.
    """
    if api_key == OFFSET_FETCH:
        line, found = _committed(asked, told)
    else:
        line, found = _answered(_APIS[api_key], api_key, asked, told)
    for name in _NUMBERS:
        found[name] = pc.fill_null(found[name], -1) if name in found else pa.repeat(-1, len(line))
    columns = [found.get(name, pa.nulls(len(line))).cast(kind) for name, kind in COLUMNS.items()]
    rows = pa.table(columns, names=list(COLUMNS))
    if (np.diff(line) >= 0).all():
        return line, rows
    order = np.argsort(line, kind="stable")
    return line[order], rows.take(pa.array(order))


def _read(of: TopicList, lists: pa.ListArray) -> tuple[Longs, Columns]:
    """The partitions of lists of topics: the number of the list, and columns."""
    number, found = of.read(lists)
    found["partition"] = pc.fill_null(found["partition"], -1)
    if "error" in found:
        found["error"] = pc.fill_null(found["error"], 0)
    return number, found


def _answered(api: _Api, api_key: int, asked: pa.StructArray, told: pa.StructArray) -> tuple[Longs, Columns]:
    line, found = _read(api.asked, pc.struct_field(asked, api.asked.name))
    of, answers = _read(api.told, pc.struct_field(told, api.told.name))
    own, others = places(line, found, of, answers)
    # what is answered twice is as it was answered last
    answer = last_at(own, others)
    rows = pa.array(answer, mask=answer < 0)
    found |= {name: answers[name].take(rows) for name in api.told.members}
    if api_key == FETCH:
        # in a fetch session what was listed before need not be listed again to be refused
        is_more = (longs(answers["error"]) != 0) & (last_at(others, others) == np.arange(len(others)))
        more = pa.array(np.flatnonzero(is_more & ~np.isin(others, own)))
        line = np.concatenate([line, of[more]])
        found = {
            name: pa.concat_arrays(
                [each, answers[name].take(more) if name in answers else pa.nulls(len(more), each.type)]
            )
            for name, each in found.items()
        }
        of_line, each = told.take(pa.array(line)), pc.fill_null(found["error"], 0)
        whole = pc.fill_null(pc.struct_field(of_line, "errorCode"), 0)
        refused = pc.if_else(pc.equal(whole, 0), each, whole)
        found["error"] = pc.if_else(pc.is_valid(of_line), refused, None)
    found["group_id"] = pc.struct_field(asked, "groupId").take(pa.array(line))
    return line, found


def _committed(asked: pa.StructArray, told: pa.StructArray) -> tuple[Longs, Columns]:
    """Where groups were, as OffsetFetch tells: of several groups since version 8."""
    groups = pc.struct_field(told, "groups")
    group, group_line = pc.list_flatten(groups), pc.list_parent_indices(groups)
    of, several = _read(_COMMITTED, pc.struct_field(group, "topics"))
    several["group_id"] = pc.struct_field(group, "groupId").take(pa.array(of))
    line, one = _read(_COMMITTED, pc.struct_field(told, "topics"))
    one["group_id"] = pc.struct_field(asked, "groupId").take(pa.array(line))
    alone = np.flatnonzero(~np.asarray(pc.is_valid(groups))[line])
    found = {name: pa.concat_arrays([several[name], one[name].take(pa.array(alone))]) for name in several}
    return np.concatenate([longs(group_line)[of], line[alone]]), found
