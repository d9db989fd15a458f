"""The targets that lines of producers' requests name, each with its own answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from fencepost.replay.keys import ZERO_ID

PRODUCE, OFFSET_FETCH, INIT, ADD_PARTITIONS, ADD_OFFSETS, END, MARKERS, COMMIT = 0, 9, 22, 24, 25, 26, 27, 28
APIS = (PRODUCE, OFFSET_FETCH, INIT, ADD_PARTITIONS, ADD_OFFSETS, END, MARKERS, COMMIT)
UNSTABLE = r'"errorCode": ?88\b'
"""How an answer says UNSTABLE_OFFSET_COMMIT. Quotes inside a JSON string are escaped: no name is like it."""
_UNSTABLE = 88

Json = Mapping[str, Any]
_Codes = Mapping[tuple[str | None, int | None], int | None]
"""The error codes of partitions, by topic and partition."""


class RequestTarget(NamedTuple):
    """One target of a request, with its own answer: each is one row.

    ``committed_partitions``: name and id of the topic, of which a request has one, and the partition.
    """

    transactional_id: str | None = None
    producer_id: int | None = None
    producer_epoch: int | None = None
    topic: str | None = None
    topic_id: str | None = None
    partition: int | None = None
    group_id: str | None = None
    committed_partitions: list[tuple[str | None, str | None, int]] | None = None
    transaction_timeout_ms: int | None = None
    verify_only: bool | None = None
    result: str | None = None
    coordinator_epoch: int | None = None
    base_offset: int | None = None
    log_start_offset: int | None = None
    returned_producer_id: int | None = None
    returned_producer_epoch: int | None = None
    error_code: int | None = None


_NO_ANSWER: Json = {}


def _init_targets(sent: Json, answer: Json | None, _: int) -> Iterator[RequestTarget]:
    response = answer or _NO_ANSWER
    yield RequestTarget(
        transactional_id=sent.get("transactionalId"),
        transaction_timeout_ms=sent.get("transactionTimeoutMs"),
        producer_id=_or_none(sent.get("producerId")),
        producer_epoch=_or_none(sent.get("producerEpoch")),
        error_code=response.get("errorCode"),
        returned_producer_id=response.get("producerId"),
        returned_producer_epoch=response.get("producerEpoch"),
    )


def _end_targets(sent: Json, answer: Json | None, version: int) -> Iterator[RequestTarget]:
    for target in _init_targets(sent, answer, version):
        yield target._replace(result="COMMIT" if sent.get("committed") else "ABORT")


def _or_none(value: int | None) -> int:
    """The value, or Kafka's -1 if the producer has none yet."""
    return -1 if value is None else value


def _add_offsets_targets(sent: Json, answer: Json | None, _: int) -> Iterator[RequestTarget]:
    yield RequestTarget(
        transactional_id=sent.get("transactionalId"),
        producer_id=sent.get("producerId"),
        producer_epoch=sent.get("producerEpoch"),
        group_id=_group_of(sent),
        error_code=(answer or _NO_ANSWER).get("errorCode"),
    )


def _add_partitions_targets(sent: Json, answer: Json | None, version: int) -> Iterator[RequestTarget]:
    """AddPartitionsToTxn: of one producer up to version 3, of a broker for several producers from 4 on."""
    response = answer or _NO_ANSWER
    if version <= 3:
        yield from _old_add_partitions_targets(sent, response)
        return
    answered: dict[str, Any] = {}
    for each in response.get("resultsByTransaction") or ():
        answered.setdefault(each.get("transactionalId"), each.get("topicResults"))
    for transaction in sent.get("transactions") or ():
        codes = _added(answered.get(transaction.get("transactionalId")))
        yield from _producer_targets(transaction, codes, response.get("errorCode"))


def _old_add_partitions_targets(sent: Json, response: Json) -> Iterator[RequestTarget]:
    """AddPartitionsToTxn of one producer. Brokers before 3.5 call its fields otherwise (KAFKA-14402)."""
    if "v3AndBelowTransactionalId" in sent:
        sent = {
            "transactionalId": sent["v3AndBelowTransactionalId"],
            "producerId": sent.get("v3AndBelowProducerId"),
            "producerEpoch": sent.get("v3AndBelowProducerEpoch"),
            "topics": sent.get("v3AndBelowTopics"),
        }
        codes = _added(response.get("resultsByTopicV3AndBelow"))
    else:
        codes = _codes(response.get("results"), "results", "partitionIndex", "errorCode")
    yield from _producer_targets(sent, codes, response.get("errorCode"))


def _added(results: Iterable[Json] | None) -> _Codes:
    return _codes(results, "resultsByPartition", "partitionIndex", "partitionErrorCode")


def _producer_targets(
    producer_request: Json, codes: _Codes, request_error: int | None
) -> Iterator[RequestTarget]:
    for topic, partition in _partitions_named(producer_request.get("topics"), "partitions"):
        code = codes.get((topic, partition))
        yield RequestTarget(
            transactional_id=producer_request.get("transactionalId"),
            producer_id=producer_request.get("producerId"),
            producer_epoch=producer_request.get("producerEpoch"),
            verify_only=bool(producer_request.get("verifyOnly")),
            topic=topic,
            partition=partition,
            # without errors of its partitions, the error of the whole request
            error_code=code if code is not None else request_error or None,
        )


def _partitions_named(
    topics: Iterable[Json] | None, partitions: str
) -> Iterator[tuple[str | None, int | None]]:
    """Every partition that is named; None stands for the partition, and for the topic, if none is named."""
    for topic in topics or ({},):
        for partition in topic.get(partitions) or (None,):
            yield topic.get("name"), partition


def _codes(topics: Iterable[Json] | None, partitions: str, index: str, code: str) -> _Codes:
    """The first answer for each partition of each topic."""
    codes: dict[tuple[str | None, int | None], int | None] = {}
    for topic in topics or ():
        for each in topic.get(partitions) or ():
            codes.setdefault((topic.get("name"), each[index]), each.get(code))
    return codes


def _marker_targets(sent: Json, answer: Json | None, _: int) -> Iterator[RequestTarget]:
    answered: dict[int, Any] = {}
    for each in (answer or _NO_ANSWER).get("markers") or ():
        answered.setdefault(each.get("producerId"), each.get("topics"))
    for marker in sent.get("markers") or ():
        results = answered.get(marker.get("producerId"))
        codes = _codes(results, "partitions", "partitionIndex", "errorCode")
        for topic in marker.get("topics") or ():
            for partition in topic.get("partitionIndexes") or ():
                yield RequestTarget(
                    producer_id=marker.get("producerId"),
                    producer_epoch=marker.get("producerEpoch"),
                    result="COMMIT" if marker.get("transactionResult") else "ABORT",
                    coordinator_epoch=marker.get("coordinatorEpoch"),
                    topic=topic.get("name"),
                    partition=partition,
                    error_code=codes.get((topic.get("name"), partition)),
                )


def _produce_targets(sent: Json, answer: Json | None, _: int) -> Iterator[RequestTarget]:
    """Produce: the batches themselves are not logged, so neither is their producer."""
    answered: dict[tuple[str | None, str | None, int], Json] = {}
    for topic in (answer or _NO_ANSWER).get("responses") or ():
        for each in topic.get("partitionResponses") or ():
            answered.setdefault((topic.get("name"), topic.get("topicId"), each["index"]), each)
    for topic in sent.get("topicData") or ():
        name, topic_id = topic.get("name"), topic.get("topicId")
        for each in topic.get("partitionData") or ():
            response = answered.get((name, topic_id, each["index"]), _NO_ANSWER)
            code = response.get("errorCode")
            yield RequestTarget(
                transactional_id=sent.get("transactionalId"),
                topic=name,
                topic_id=None if topic_id == ZERO_ID else topic_id,
                partition=each["index"],
                error_code=code,
                base_offset=response.get("baseOffset") if code == 0 else None,
                log_start_offset=response.get("logStartOffset") if code == 0 else None,
            )


def _offset_commit_targets(sent: Json, answer: Json | None, _: int) -> Iterator[RequestTarget]:
    """TxnOffsetCommit: the error of the request is the first error of its partitions."""
    code, committed = None, None
    if answer is not None and answer.get("topics") is not None:
        answers = [(topic, each) for topic in answer["topics"] for each in topic["partitions"]]
        code = next((each["errorCode"] for _, each in answers if each["errorCode"]), 0)
        committed = [
            (topic.get("name"), topic.get("topicId"), each["partitionIndex"])
            for topic, each in answers
            if not each["errorCode"] and each.get("partitionIndex") is not None
        ]
    yield RequestTarget(
        transactional_id=sent.get("transactionalId"),
        producer_id=sent.get("producerId"),
        producer_epoch=sent.get("producerEpoch"),
        group_id=_group_of(sent),
        committed_partitions=committed,
        error_code=code,
    )


def _offset_fetch_targets(sent: Json, answer: Json | None, version: int) -> Iterator[RequestTarget]:
    """OffsetFetch: only the partitions whose offset a transaction holds."""
    response = answer or _NO_ANSWER
    groups = response.get("groups") if version >= 8 else [{**response, "groupId": sent.get("groupId")}]
    for group in groups or ():
        for topic in group.get("topics") or ():
            for each in topic.get("partitions") or ():
                if each.get("errorCode") == _UNSTABLE:
                    topic_id = topic.get("topicId")
                    yield RequestTarget(
                        group_id=_group_of(group),
                        topic=topic.get("name") or None,
                        topic_id=None if topic_id == ZERO_ID else topic_id,
                        partition=each["partitionIndex"],
                        error_code=_UNSTABLE,
                    )


def _group_of(sent: Json) -> str | None:
    group_id = sent.get("groupId")
    return group_id if isinstance(group_id, str) else None


READERS: dict[int, Callable[[Json, Json | None, int], Iterator[RequestTarget]]] = {
    PRODUCE: _produce_targets,
    OFFSET_FETCH: _offset_fetch_targets,
    INIT: _init_targets,
    ADD_PARTITIONS: _add_partitions_targets,
    ADD_OFFSETS: _add_offsets_targets,
    END: _end_targets,
    MARKERS: _marker_targets,
    COMMIT: _offset_commit_targets,
}
