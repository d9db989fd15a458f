"""Lines of OffsetCommit and TxnOffsetCommit to columns: of Kafka's JSON the members that matter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.offset_commit.requests import COMMIT_APIS
from fencepost.replay.arrow_slices import filtered
from fencepost.replay.group_coordinator.requests import TXN_OFFSET_COMMIT
from fencepost.replay.json_objects import objects_of
from fencepost.replay.keys import NAMED, digests_of_texts
from fencepost.replay.logs import Longs, longs
from fencepost.replay.metadata import Topics
from fencepost.replay.requests import error_name, in_order_of_answers, requested_ms
from fencepost.replay.topic_objects import Columns, TopicList, last_at, places, struct

_TEXT, _INT, _LONG = pa.string(), pa.int32(), pa.int64()
_ASKED = TopicList(
    "topics",
    "partitionIndex",
    {
        "committed_offset": ("committedOffset", _LONG),
        "committed_leader_epoch": ("committedLeaderEpoch", _INT),
    },
)
_TOLD = TopicList("topics", "partitionIndex", {"error": ("errorCode", _INT)})
_REQUEST = struct(
    {
        **dict.fromkeys(("groupId", "memberId", "groupInstanceId", "transactionalId"), _TEXT),
        **dict.fromkeys(("generationIdOrMemberEpoch", "generationId", "producerEpoch"), _INT),
        "producerId": _LONG,
        _ASKED.name: _ASKED.type,
    }
)
_ANSWER = struct({_TOLD.name: _TOLD.type})
_OF_LINES = (
    "broker_id", "correlation_id", "api_key", "api_version", "client_id", "connection", "file", "position",
)  # fmt: skip
_IDENTITY = ("cluster", "broker_id", "line_digest")


class CommitLines(NamedTuple):
    """``requests``: a row for each request, a column for each attribute of CommitRequest, in the order of the
    answers. ``commits``: in the order of the requests a row for each partition, with ``request``, the number
    of its request's row, and the attributes of Commit that a line tells. Texts are coded.
    """

    requests: pa.Table
    commits: pa.Table


def commit_lines(rows: pa.Table, topics: Topics) -> CommitLines:
    """What rows of ``bronze.requests`` of COMMIT_APIS say; a request that names no group or no partition, or
    is not as Kafka writes it, says nothing, and an answer that is not so is none.

    A topic that is asked for by name has the id that the name meant when the line was written, and the other
    way round. A partition is there once, as last mentioned.
    """
    # an empty piece gives the columns their types
    pieces = [_read(piece, topics) for piece in (rows.slice(0, 0), *in_order_of_answers(rows, COMMIT_APIS))]
    before = np.cumsum([0, *(piece.requests.num_rows for piece in pieces)])
    commits = [
        piece.commits.append_column("request", pc.add(piece.commits["of"], count)).drop_columns("of")
        for piece, count in zip(pieces, before.tolist(), strict=False)
    ]
    return CommitLines(
        pa.concat_tables([piece.requests for piece in pieces]).unify_dictionaries(),
        pa.concat_tables(commits).unify_dictionaries(),
    )


def _read(rows: pa.Table, topics: Topics) -> CommitLines:
    """Some lines; ``of`` is of each commit the number of its request among these."""
    asked = objects_of(rows["request"].combine_chunks(), _REQUEST)
    told = objects_of(rows["response"].combine_chunks(), _ANSWER)
    line, commits = _partitions(asked, told)
    group = pc.struct_field(asked, "groupId").take(pa.array(line))
    wanted = np.asarray(pc.and_(pc.is_valid(group), pc.is_valid(commits["partition"])))
    line, commits = line[wanted], {name: filtered(each, wanted) for name, each in commits.items()}
    is_request = np.zeros(len(asked), dtype=np.bool_)
    is_request[line] = True
    ms = longs(rows["logged_at_ms"])[line]
    return CommitLines(
        filtered(_coded(_requests(rows, asked)), is_request),
        _coded({"of": pa.array(np.cumsum(is_request)[line] - 1), **_named(commits, ms, topics)}),
    )


def _requests(rows: pa.Table, asked: pa.StructArray) -> Columns:
    def sent(name: str) -> pa.Array:
        return pc.struct_field(asked, name)

    def in_transaction(name: str) -> pa.Array:
        return pc.if_else(transactional, sent(name), None)

    transactional = pc.equal(rows["api_key"].combine_chunks(), TXN_OFFSET_COMMIT)
    ids = digests_of_texts(*(rows[name].combine_chunks().cast(_TEXT) for name in _IDENTITY))
    return {
        "request_id": pa.array(ids, _TEXT),
        **{name: rows[name].combine_chunks() for name in _OF_LINES},
        "requested_ms": requested_ms(rows).combine_chunks(),
        "responded_ms": rows["logged_at_ms"].combine_chunks(),
        "group_id": sent("groupId"),
        "member_id": pc.fill_null(sent("memberId"), ""),
        "instance_id": sent("groupInstanceId"),
        "client_epoch": pc.coalesce(sent("generationIdOrMemberEpoch"), sent("generationId"), pa.scalar(-1)),
        "is_transactional": transactional,
        "transactional_id": in_transaction("transactionalId"),
        "producer_id": in_transaction("producerId"),
        "producer_epoch": in_transaction("producerEpoch"),
    }


def _partitions(asked: pa.StructArray, told: pa.StructArray) -> tuple[Longs, Columns]:
    """The line of each partition, and what was asked of it and told, where it is named first in its line."""
    line, found = _ASKED.read(pc.struct_field(asked, _ASKED.name))
    of, answers = _TOLD.read(pc.struct_field(told, _TOLD.name))
    own, others = places(line, found, of, answers)
    answer = last_at(own, others)
    found["error"] = answers["error"].take(pa.array(answer, mask=answer < 0))
    _, first = np.unique(own, return_index=True)
    if len(first) == len(own):
        return line, found
    first.sort()
    last = pa.array(last_at(own, own)[first])
    return line[first], {name: each.take(last) for name, each in found.items()}


def _named(commits: Columns, ms: Longs, topics: Topics) -> Columns:
    """Commits with all that names a partition, of lines that were written at ``ms``."""
    name, given, partition = (commits[each] for each in ("topic", "topic_id", "partition"))
    topic = pc.coalesce(name, _mapped(given, topics.name_of))
    unnamed = np.flatnonzero(pc.is_null(given))
    meant = map(topics.id_at, name.take(pa.array(unnamed)).to_pylist(), ms[unnamed].tolist())
    topic_id = pc.replace_with_mask(given, pc.is_null(given), pa.array(meant, _TEXT))
    return {
        "reference": pc.coalesce(_joined("id:", given), _joined("name:", name)),
        "topic": topic,
        "topic_id": topic_id,
        "partition": partition,
        "partition_key": pc.binary_join_element_wise(
            pc.coalesce(topic_id, _joined(NAMED, topic)), partition.cast(_TEXT), ":"
        ),
        "committed_offset": commits["committed_offset"],
        "committed_leader_epoch": pc.fill_null(commits["committed_leader_epoch"], -1),
        "broker_error": _mapped(commits["error"], error_name),
    }


def _joined(sign: str, names: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(sign, names, "")


def _mapped(values: pa.Array, name: Callable[[Any], str | None]) -> pa.Array:
    """A name for each value; of the same ones it is asked once."""
    coded = values.dictionary_encode()
    return pa.array(map(name, coded.dictionary.to_pylist()), _TEXT).take(coded.indices)


def _coded(columns: Columns) -> pa.Table:
    """A table in which texts are coded; ids are not, of which none is there twice."""
    return pa.table(
        {
            name: each.dictionary_encode() if each.type == _TEXT and name != "request_id" else each
            for name, each in columns.items()
        }
    )
