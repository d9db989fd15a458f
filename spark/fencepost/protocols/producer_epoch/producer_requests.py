"""Requests of producers, and of coordinators and brokers on their behalf: ``silver.producer_requests``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.producer_epoch.arrow import timestamps
from fencepost.protocols.producer_epoch.tables import PRODUCER_REQUESTS
from fencepost.replay.collection import collection_paused
from fencepost.replay.keys import OFFSETS_TOPIC, ZERO_ID, coordinator_partition, digest_of
from fencepost.replay.metadata import ClusterMetadata
from fencepost.replay.requests import error_name, parse_object

PRODUCE, INIT, ADD_PARTITIONS, ADD_OFFSETS, END, MARKERS, COMMIT = 0, 22, 24, 25, 26, 27, 28
APIS = (PRODUCE, INIT, ADD_PARTITIONS, ADD_OFFSETS, END, MARKERS, COMMIT)

Json = Mapping[str, Any]


class Thing(NamedTuple):
    """One thing that a request names, with its own answer: what a line gives one row for."""

    transactional_id: str | None = None
    producer_id: int | None = None
    producer_epoch: int | None = None
    topic: str | None = None
    topic_id: str | None = None
    partition: int | None = None
    group_id: str | None = None
    transaction_timeout_ms: int | None = None
    verify_only: bool | None = None
    result: str | None = None
    coordinator_epoch: int | None = None
    base_offset: int | None = None
    returned_producer_id: int | None = None
    returned_producer_epoch: int | None = None
    error_code: int | None = None


_LINE = (
    "cluster", "broker_id", "api_key", "api_name", "api_version", "correlation_id", "client_id", "connection",
    "principal", "software_name", "software_version", "file", "position",
)  # fmt: skip
LINE_COLUMNS = (*_LINE, "line_digest", "logged_at_ms", "total_time_ms", "request", "response")
"""What is read of ``bronze.requests``."""

_NO_ANSWER: Json = {}


@collection_paused()
def producer_requests(requests: pa.Table, metadata: Mapping[str, ClusterMetadata]) -> pa.Table:
    """``silver.producer_requests`` of rows of ``bronze.requests``, of any clusters and brokers.

    One row per thing named and answered, in the order of the lines. ``metadata`` (by cluster) gives the name
    of a topic that a request calls by its id.
    """
    lines = requests.filter(pc.is_in(requests["api_key"], pa.array(APIS, pa.int32())))
    things: list[Thing] = []
    of_line: list[int] = []
    columns = (lines[name].to_pylist() for name in ("api_key", "api_version", "request", "response"))
    for at, (api_key, version, request, response) in enumerate(zip(*columns, strict=True)):
        sent = parse_object(request)
        if sent is None:
            continue
        try:
            named = list(_READERS[api_key](sent, parse_object(response), version))
        except (AttributeError, KeyError, TypeError):
            # it is JSON, but no broker's: it names nothing, and ends no run
            continue
        things += named
        of_line += [at] * len(named)
    return _table(lines, things, of_line, metadata)


def _table(
    lines: pa.Table, things: list[Thing], of_line: list[int], metadata: Mapping[str, ClusterMetadata]
) -> pa.Table:
    rows = lines.select(_LINE).take(pa.array(of_line, pa.int64()))
    ids = [digest_of(*key) for key in zip(*(lines[name].to_pylist() for name in _ID), strict=True)]
    logged = np.asarray(lines["logged_at_ms"].to_numpy(), dtype=np.int64)
    arrived = np.floor(logged - lines["total_time_ms"].to_numpy()).astype(np.int64)
    taken = np.array(of_line, dtype=np.int64)
    columns: dict[str, Any] = {name: rows[name] for name in _LINE}
    columns["request_id"] = pa.array(ids, pa.string()).take(pa.array(taken))
    columns["requested_at"] = timestamps(arrived[taken])
    columns["responded_at"] = timestamps(logged[taken])
    fields = zip(*things, strict=True) if things else ([] for _ in Thing._fields)
    told = dict(zip(Thing._fields, map(list, fields), strict=True))
    codes = told.pop("error_code")
    names = {code: error_name(code) for code in set(codes)}
    columns["error"] = [names[code] for code in codes]
    clusters = rows["cluster"].to_pylist()
    columns["topic"], columns["partition"] = told.pop("topic"), told.pop("partition")
    for at, (topic_id, group_id) in enumerate(zip(told.pop("topic_id"), told.pop("group_id"), strict=True)):
        known = metadata.get(clusters[at], _NO_METADATA)
        if topic_id is not None and columns["topic"][at] is None:
            columns["topic"][at] = known.topics.name_of(topic_id)
        if group_id is not None and OFFSETS_TOPIC in known.partition_counts:
            count = known.partition_counts[OFFSETS_TOPIC]
            columns["topic"][at] = OFFSETS_TOPIC
            columns["partition"][at] = coordinator_partition(group_id, count)
    schema = PRODUCER_REQUESTS.arrow_schema
    given = {**columns, **told}
    arrays = [
        given[field.name]
        if isinstance(given[field.name], pa.Array | pa.ChunkedArray)
        else _array(given[field.name], field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(
        [array.cast(field.type) for array, field in zip(arrays, schema, strict=True)], schema=schema
    )


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:
        # JSON may escape half of a surrogate pair, which is no text: '?' as Java writes it
        readable = [None if each is None else each.encode("utf-8", "replace").decode() for each in values]
        return pa.array(readable, kind)


_ID = ("cluster", "broker_id", "line_digest")


_NO_METADATA = ClusterMetadata()


def _initialised(sent: Json, answer: Json | None, _: int) -> Iterator[Thing]:
    told = answer or _NO_ANSWER
    yield Thing(
        transactional_id=sent.get("transactionalId"),
        transaction_timeout_ms=sent.get("transactionTimeoutMs"),
        producer_id=_or_none(sent.get("producerId")),
        producer_epoch=_or_none(sent.get("producerEpoch")),
        error_code=told.get("errorCode"),
        returned_producer_id=told.get("producerId"),
        returned_producer_epoch=told.get("producerEpoch"),
    )


def _ended(sent: Json, answer: Json | None, version: int) -> Iterator[Thing]:
    for thing in _initialised(sent, answer, version):
        yield thing._replace(result="COMMIT" if sent.get("committed") else "ABORT")


def _or_none(value: int | None) -> int:
    """Kafka's -1 for a producer that has nothing yet."""
    return -1 if value is None else value


def _offsets_added(sent: Json, answer: Json | None, _: int) -> Iterator[Thing]:
    group_id = sent.get("groupId")
    yield Thing(
        transactional_id=sent.get("transactionalId"),
        producer_id=sent.get("producerId"),
        producer_epoch=sent.get("producerEpoch"),
        group_id=group_id if isinstance(group_id, str) else None,
        error_code=(answer or _NO_ANSWER).get("errorCode"),
    )


def _added(sent: Json, answer: Json | None, version: int) -> Iterator[Thing]:
    """AddPartitionsToTxn: by one producer up to version 3, by a broker for several from version 4 on."""
    told = answer or _NO_ANSWER
    if sent.get("v3AndBelowTransactionalId") is not None and version <= 3:
        one = {
            "transactionalId": sent["v3AndBelowTransactionalId"],
            "producerId": sent.get("v3AndBelowProducerId"),
            "producerEpoch": sent.get("v3AndBelowProducerEpoch"),
            "topics": sent.get("v3AndBelowTopics"),
        }
        yield from _added_by(one, told.get("resultsByTopicV3AndBelow"), told.get("errorCode"))
        return
    answered: dict[str, Any] = {}
    for each in told.get("resultsByTransaction") or ():
        answered.setdefault(each.get("transactionalId"), each.get("topicResults"))
    for transaction in sent.get("transactions") or ():
        results = answered.get(transaction.get("transactionalId"))
        yield from _added_by(transaction, results, told.get("errorCode"))


def _added_by(one: Json, results: Iterable[Json] | None, whole: int | None) -> Iterator[Thing]:
    codes = _codes(results, "resultsByPartition", "partitionIndex", "partitionErrorCode")
    for topic, partition in _named(one.get("topics"), "partitions"):
        code = codes.get((topic, partition))
        yield Thing(
            transactional_id=one.get("transactionalId"),
            producer_id=one.get("producerId"),
            producer_epoch=one.get("producerEpoch"),
            verify_only=bool(one.get("verifyOnly")),
            topic=topic,
            partition=partition,
            # the error of the whole request, where its partitions have none
            error_code=code if code is not None else whole or None,
        )


def _named(topics: Iterable[Json] | None, partitions: str) -> Iterator[tuple[str | None, int | None]]:
    """Every partition that is named; one that is not, where a request or a topic names none."""
    for topic in topics or ({},):
        for partition in topic.get(partitions) or (None,):
            yield topic.get("name"), partition


def _codes(
    topics: Iterable[Json] | None, partitions: str, index: str, code: str
) -> dict[tuple[str | None, int | None], int | None]:
    """The first answer for each partition of each topic."""
    found: dict[tuple[str | None, int | None], int | None] = {}
    for topic in topics or ():
        for each in topic.get(partitions) or ():
            found.setdefault((topic.get("name"), each[index]), each.get(code))
    return found


def _marked(sent: Json, answer: Json | None, _: int) -> Iterator[Thing]:
    answered: dict[int, Any] = {}
    for each in (answer or _NO_ANSWER).get("markers") or ():
        answered.setdefault(each.get("producerId"), each.get("topics"))
    for marker in sent.get("markers") or ():
        results = answered.get(marker.get("producerId"))
        codes = _codes(results, "partitions", "partitionIndex", "errorCode")
        for topic in marker.get("topics") or ():
            for partition in topic.get("partitionIndexes") or ():
                yield Thing(
                    producer_id=marker.get("producerId"),
                    producer_epoch=marker.get("producerEpoch"),
                    result="COMMIT" if marker.get("transactionResult") else "ABORT",
                    coordinator_epoch=marker.get("coordinatorEpoch"),
                    topic=topic.get("name"),
                    partition=partition,
                    error_code=codes.get((topic.get("name"), partition)),
                )


def _produced(sent: Json, answer: Json | None, _: int) -> Iterator[Thing]:
    """Produce: the batches themselves are not logged, so neither is their producer."""
    answered: dict[tuple[str | None, str | None, int], Json] = {}
    for topic in (answer or _NO_ANSWER).get("responses") or ():
        for each in topic.get("partitionResponses") or ():
            answered.setdefault((topic.get("name"), topic.get("topicId"), each["index"]), each)
    for topic in sent.get("topicData") or ():
        name, topic_id = topic.get("name"), topic.get("topicId")
        for each in topic.get("partitionData") or ():
            told = answered.get((name, topic_id, each["index"]), _NO_ANSWER)
            code = told.get("errorCode")
            yield Thing(
                transactional_id=sent.get("transactionalId"),
                topic=name,
                topic_id=None if topic_id == ZERO_ID else topic_id,
                partition=each["index"],
                error_code=code,
                base_offset=told.get("baseOffset") if code == 0 else None,
            )


def _stored(sent: Json, answer: Json | None, _: int) -> Iterator[Thing]:
    """TxnOffsetCommit: the first error stands for the request."""
    code = None
    if answer is not None and answer.get("topics") is not None:
        codes = (each["errorCode"] for topic in answer["topics"] for each in topic["partitions"])
        code = next((each for each in codes if each), 0)
    yield Thing(
        transactional_id=sent.get("transactionalId"),
        producer_id=sent.get("producerId"),
        producer_epoch=sent.get("producerEpoch"),
        error_code=code,
    )


_READERS: dict[int, Callable[[Json, Json | None, int], Iterator[Thing]]] = {
    PRODUCE: _produced,
    INIT: _initialised,
    ADD_PARTITIONS: _added,
    ADD_OFFSETS: _offsets_added,
    END: _ended,
    MARKERS: _marked,
    COMMIT: _stored,
}
