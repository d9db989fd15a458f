"""Reads lines of OffsetCommit and TxnOffsetCommit into columns: the fields of Kafka's JSON that matter."""

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
_REQUEST_TOPICS = TopicList(
    "topics",
    "partitionIndex",
    {
        "committed_offset": ("committedOffset", _LONG),
        "committed_leader_epoch": ("committedLeaderEpoch", _INT),
    },
)
_ANSWER_TOPICS = TopicList("topics", "partitionIndex", {"error": ("errorCode", _INT)})
_REQUEST = struct(
    {
        **dict.fromkeys(("groupId", "memberId", "groupInstanceId", "transactionalId"), _TEXT),
        **dict.fromkeys(("generationIdOrMemberEpoch", "generationId", "producerEpoch"), _INT),
        "producerId": _LONG,
        _REQUEST_TOPICS.name: _REQUEST_TOPICS.type,
    }
)
_ANSWER = struct({_ANSWER_TOPICS.name: _ANSWER_TOPICS.type})
_OF_LINES = (
    "broker_id", "correlation_id", "api_key", "api_version", "client_id", "connection", "file", "position",
)  # fmt: skip
_IDENTITY = ("cluster", "broker_id", "line_digest")


class CommitLines(NamedTuple):
    """``requests``: a row for each request, in the order of the answers, with a column for each attribute of
    CommitRequest. ``commits``: a row for each partition, in the order of the requests, with ``request``, the
    number of its request's row, and the attributes of Commit that a line has. Texts are dictionary-encoded.
    """

    requests: pa.Table
    commits: pa.Table


def commit_lines(rows: pa.Table, topics: Topics) -> CommitLines:
    """The requests and commits in rows of ``bronze.requests`` of COMMIT_APIS.

    A request is left out if it names no group or no partition, or if it is not as Kafka writes it. An answer
    that is not as Kafka writes it counts as missing. If a request names a topic only by name, the topic has
    the id that the name had while the request lasted, and none if it had several; if only by id, the name of
    that id. A partition that a request names twice has one row, as last mentioned.
    """
    # the empty slice gives the columns their types if there is nothing else
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
    """Reads some lines; ``of`` is the number of each commit's request among them."""
    requests = objects_of(rows["request"].combine_chunks(), _REQUEST)
    responses = objects_of(rows["response"].combine_chunks(), _ANSWER)
    line, commits = _partitions(requests, responses)
    group = pc.struct_field(requests, "groupId").take(pa.array(line))
    is_named = np.asarray(pc.and_(pc.is_valid(group), pc.is_valid(commits["partition"])))
    line, commits = line[is_named], {name: filtered(each, is_named) for name, each in commits.items()}
    is_request = np.zeros(len(requests), dtype=np.bool_)
    is_request[line] = True
    times = longs(requested_ms(rows))[line], longs(rows["logged_at_ms"])[line]
    return CommitLines(
        filtered(_coded(_requests(rows, requests)), is_request),
        _coded({"of": pa.array(np.cumsum(is_request)[line] - 1), **_named(commits, times, topics)}),
    )


def _requests(rows: pa.Table, requests: pa.StructArray) -> Columns:
    def sent(name: str) -> pa.Array:
        return pc.struct_field(requests, name)

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


def _partitions(requests: pa.StructArray, responses: pa.StructArray) -> tuple[Longs, Columns]:
    """The line of each partition, and what was requested and answered for it. A partition is where its line
    first names it.
    """
    line, partitions = _REQUEST_TOPICS.read(pc.struct_field(requests, _REQUEST_TOPICS.name))
    of, answers = _ANSWER_TOPICS.read(pc.struct_field(responses, _ANSWER_TOPICS.name))
    own, others = places(line, partitions, of, answers)
    answer = last_at(own, others)
    partitions["error"] = answers["error"].take(pa.array(answer, mask=answer < 0))
    _, first = np.unique(own, return_index=True)
    if len(first) == len(own):
        return line, partitions
    first.sort()
    last = pa.array(last_at(own, own)[first])
    return line[first], {name: each.take(last) for name, each in partitions.items()}


def _named(commits: Columns, times: tuple[Longs, Longs], topics: Topics) -> Columns:
    """Commits with both names of their topic (name and id); ``times``: when they came, and were answered."""
    name, sent_id, partition = (commits[each] for each in ("topic", "topic_id", "partition"))
    topic = pc.coalesce(name, _mapped(sent_id, topics.name_of))
    unnamed = np.flatnonzero(pc.is_null(sent_id))
    at = (each[unnamed].tolist() for each in times)
    resolved_ids = map(topics.id_during, name.take(pa.array(unnamed)).to_pylist(), *at)
    topic_id = pc.replace_with_mask(sent_id, pc.is_null(sent_id), pa.array(resolved_ids, _TEXT))
    return {
        "reference": pc.coalesce(_joined("id:", sent_id), _joined("name:", name)),
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
    """``name`` of each value, called once for equal values."""
    coded = values.dictionary_encode()
    return pa.array(map(name, coded.dictionary.to_pylist()), _TEXT).take(coded.indices)


def _coded(columns: Columns) -> pa.Table:
    """A table whose texts are dictionary-encoded, except ids: each of those occurs only once."""
    return pa.table(
        {
            name: each.dictionary_encode() if each.type == _TEXT and name != "request_id" else each
            for name, each in columns.items()
        }
    )
