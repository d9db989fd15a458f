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
from fencepost.replay.entities import numbered_rows, numbered_values
from fencepost.replay.keys import ZERO_ID
from fencepost.replay.logs import Longs, longs

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


@dataclass(frozen=True)
class _Side:
    """A request or an answer: the member that has its topics, and of each of their partitions the number and
    members, by the column of COLUMNS that they are read into.
    """

    topics: str
    number: str
    members: Mapping[str, str]

    @property
    def fields(self) -> pa.DataType:
        """Arrow's type of the topics; those of before topic ids are called ``topic`` or ``name``."""
        of = {self.number: _INT, **{path: COLUMNS[name] for name, path in self.members.items()}}
        names = {"topic": _TEXT, "name": _TEXT, "topicId": _TEXT}
        return pa.list_(pa.struct({**names, "partitions": pa.list_(_struct(of))}))


@dataclass(frozen=True)
class _Api:
    asked: _Side
    told: _Side


def _struct(members: Mapping[str, pa.DataType]) -> pa.StructType:
    """Of members, and of members of members: their paths have dots."""
    own: dict[str, pa.DataType] = {}
    inner: dict[str, dict[str, pa.DataType]] = {}
    for path, kind in members.items():
        name, _, rest = path.partition(".")
        if rest:
            inner.setdefault(name, {})[rest] = kind
        else:
            own[name] = kind
    return pa.struct({**own, **{name: _struct(of) for name, of in inner.items()}})


_COMMIT = _Api(
    _Side("topics", "partitionIndex", {"offset": "committedOffset", "offset_epoch": "committedLeaderEpoch"}),
    _Side("topics", "partitionIndex", {"error": "errorCode"}),
)
_APIS = {
    FETCH: _Api(
        _Side(
            "topics",
            "partition",
            {
                "offset": "fetchOffset",
                "leader_epoch": "currentLeaderEpoch",
                "offset_epoch": "lastFetchedEpoch",
            },
        ),
        _Side(
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
        _Side("topics", "partitionIndex", {"leader_epoch": "currentLeaderEpoch"}),
        _Side(
            "topics",
            "partitionIndex",
            {"error": "errorCode", "answered": "offset", "answered_epoch": "leaderEpoch"},
        ),
    ),
    OFFSET_FOR_LEADER_EPOCH: _Api(
        _Side("topics", "partition", {"leader_epoch": "currentLeaderEpoch", "offset_epoch": "leaderEpoch"}),
        _Side(
            "topics",
            "partition",
            {"error": "errorCode", "answered": "endOffset", "answered_epoch": "leaderEpoch"},
        ),
    ),
    OFFSET_COMMIT: _COMMIT,
    TXN_OFFSET_COMMIT: _COMMIT,
}
_COMMITTED = _Side(
    "topics",
    "partitionIndex",
    {"error": "errorCode", "answered": "committedOffset", "answered_epoch": "committedLeaderEpoch"},
)

_WHOLE = {"groupId": _TEXT, "replicaId": _INT, "replicaState.replicaId": _INT}
ASKED = {api_key: _struct({**_WHOLE, api.asked.topics: api.asked.fields}) for api_key, api in _APIS.items()}
TOLD = {
    api_key: _struct({"errorCode": _INT, api.told.topics: api.told.fields}) for api_key, api in _APIS.items()
}
"""By API the members of a request and of an answer that are read."""
ASKED[OFFSET_FETCH] = _struct({"groupId": _TEXT})
TOLD[OFFSET_FETCH] = _struct(
    {
        "topics": _COMMITTED.fields,
        "groups": pa.list_(_struct({"groupId": _TEXT, "topics": _COMMITTED.fields})),
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


Columns = dict[str, pa.Array]


def _read(side: _Side, topics: pa.ListArray) -> tuple[Longs, Columns]:
    """The partitions of lists of topics: the number of the list, and columns."""
    each, of = pc.list_flatten(topics), pc.list_parent_indices(topics)
    name = pc.coalesce(pc.struct_field(each, "topic"), pc.struct_field(each, "name"))
    topic_id = pc.struct_field(each, "topicId")
    partitions = pc.struct_field(each, "partitions")
    topic = pc.list_parent_indices(partitions)
    partition = pc.list_flatten(partitions)
    found = {
        "topic": _unless(name, "").take(topic),
        "topic_id": _unless(topic_id, ZERO_ID).take(topic),
        "partition": pc.fill_null(pc.struct_field(partition, side.number), -1),
        **{name: pc.struct_field(partition, path.split(".")) for name, path in side.members.items()},
    }
    if "error" in found:
        found["error"] = pc.fill_null(found["error"], 0)
    return longs(of.take(topic)), found


def _unless(values: pa.Array, nothing: str) -> pa.Array:
    return pc.if_else(pc.equal(values, nothing), None, values)


def _answered(api: _Api, api_key: int, asked: pa.StructArray, told: pa.StructArray) -> tuple[Longs, Columns]:
    line, found = _read(api.asked, pc.struct_field(asked, api.asked.topics))
    of, answers = _read(api.told, pc.struct_field(told, api.told.topics))
    own, others = _places(line, found, of, answers)
    # what is answered twice is as it was answered last
    newest = np.full(max(own.max(initial=-1), others.max(initial=-1)) + 1, -1)
    newest[others] = np.arange(len(others))
    answer = newest[own]
    rows = pa.array(answer, mask=answer < 0)
    found |= {name: answers[name].take(rows) for name in api.told.members}
    if api_key == FETCH:
        # in a fetch session what was listed before need not be listed again to be refused
        is_more = (longs(answers["error"]) != 0) & (newest[others] == np.arange(len(others)))
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


def _places(line: Longs, found: Columns, of: Longs, answers: Columns) -> tuple[Longs, Longs]:
    """A number for each partition of each line, the same where it is asked and answered."""
    names = ("topic", "topic_id")
    numbers = [
        numbered_values(*(pa.chunked_array([each[name]]) for each in (found, answers))) for name in names
    ]
    partitions = [longs(each["partition"]) for each in (found, answers)]
    place = numbered_rows(*map(np.concatenate, ((line, of), *numbers, partitions)))
    return place[: len(line)], place[len(line) :]


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
