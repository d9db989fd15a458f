"""The targets that lines of producers' requests name, each with its own answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from fencepost.replay.keys import ZERO_ID

PRODUCE, INIT, ADD_PARTITIONS, ADD_OFFSETS, END, MARKERS, COMMIT = 0, 22, 24, 25, 26, 27, 28
APIS = (PRODUCE, INIT, ADD_PARTITIONS, ADD_OFFSETS, END, MARKERS, COMMIT)

Json = Mapping[str, Any]


class RequestTarget(NamedTuple):
    """One target of a request, with its own answer: each is one row."""

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


_NO_ANSWER: Json = {}


def _initialised(sent: Json, answer: Json | None, _: int) -> Iterator[RequestTarget]:
    told = answer or _NO_ANSWER
    yield RequestTarget(
        transactional_id=sent.get("transactionalId"),
        transaction_timeout_ms=sent.get("transactionTimeoutMs"),
        producer_id=_or_none(sent.get("producerId")),
        producer_epoch=_or_none(sent.get("producerEpoch")),
        error_code=told.get("errorCode"),
        returned_producer_id=told.get("producerId"),
        returned_producer_epoch=told.get("producerEpoch"),
    )


def _ended(sent: Json, answer: Json | None, version: int) -> Iterator[RequestTarget]:
    for thing in _initialised(sent, answer, version):
        yield thing._replace(result="COMMIT" if sent.get("committed") else "ABORT")


def _or_none(value: int | None) -> int:
    """Kafka's -1 for a producer that has nothing yet."""
    return -1 if value is None else value


def _offsets_added(sent: Json, answer: Json | None, _: int) -> Iterator[RequestTarget]:
    yield RequestTarget(
        transactional_id=sent.get("transactionalId"),
        producer_id=sent.get("producerId"),
        producer_epoch=sent.get("producerEpoch"),
        group_id=_group_of(sent),
        error_code=(answer or _NO_ANSWER).get("errorCode"),
    )


def _added(sent: Json, answer: Json | None, version: int) -> Iterator[RequestTarget]:
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


def _added_by(one: Json, results: Iterable[Json] | None, whole: int | None) -> Iterator[RequestTarget]:
    codes = _codes(results, "resultsByPartition", "partitionIndex", "partitionErrorCode")
    for topic, partition in _named(one.get("topics"), "partitions"):
        code = codes.get((topic, partition))
        yield RequestTarget(
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


def _marked(sent: Json, answer: Json | None, _: int) -> Iterator[RequestTarget]:
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


def _produced(sent: Json, answer: Json | None, _: int) -> Iterator[RequestTarget]:
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
            yield RequestTarget(
                transactional_id=sent.get("transactionalId"),
                topic=name,
                topic_id=None if topic_id == ZERO_ID else topic_id,
                partition=each["index"],
                error_code=code,
                base_offset=told.get("baseOffset") if code == 0 else None,
            )


def _stored(sent: Json, answer: Json | None, _: int) -> Iterator[RequestTarget]:
    """TxnOffsetCommit: the first error stands for the request."""
    code = None
    if answer is not None and answer.get("topics") is not None:
        codes = (each["errorCode"] for topic in answer["topics"] for each in topic["partitions"])
        code = next((each for each in codes if each), 0)
    yield RequestTarget(
        transactional_id=sent.get("transactionalId"),
        producer_id=sent.get("producerId"),
        producer_epoch=sent.get("producerEpoch"),
        group_id=_group_of(sent),
        error_code=code,
    )


def _group_of(sent: Json) -> str | None:
    group_id = sent.get("groupId")
    return group_id if isinstance(group_id, str) else None


READERS: dict[int, Callable[[Json, Json | None, int], Iterator[RequestTarget]]] = {
    PRODUCE: _produced,
    INIT: _initialised,
    ADD_PARTITIONS: _added,
    ADD_OFFSETS: _offsets_added,
    END: _ended,
    MARKERS: _marked,
    COMMIT: _stored,
}
