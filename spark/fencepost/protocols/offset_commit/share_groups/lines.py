"""What lines of ShareFetch and ShareAcknowledge say: what a member acquired, acknowledged, and gave up."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from fencepost.replay.columns import Rows
from fencepost.replay.requests import RequestLine, each_reading, host_of, integer, text

SHARE_FETCH, SHARE_ACKNOWLEDGE = 78, 79
APIS = {SHARE_FETCH: "SHARE_FETCH", SHARE_ACKNOWLEDGE: "SHARE_ACKNOWLEDGE"}

ACQUIRED, ACKNOWLEDGED, SESSION = "acquired", "acknowledged", "session"
GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
"""The acknowledge types of ShareFetchRequest.json."""

OPENED, CLOSED = 0, -1
"""Share session epochs with which a session begins and ends (ShareRequestMetadata)."""

_TELLS = re.compile(rb'"firstOffset"|"shareSessionEpoch": ?(?:0|-1)\b')

LINES = pa.schema(
    [
        pa.field("cluster", pa.string()),
        ("group_id", pa.string()),
        ("topic_id", pa.string()),  # null of a session, as partition and the offsets
        ("partition", pa.int32()),
        ("kind", pa.string()),
        ("first_offset", pa.int64()),
        ("last_offset", pa.int64()),
        # delivery count, acknowledge type, or the epoch of a session that begins or ends
        ("number", pa.int32()),
        ("lock_ms", pa.int32()),
        ("member_id", pa.string()),
        ("client_id", pa.string()),
        ("client_host", pa.string()),
        ("connection", pa.string()),
        ("correlation_id", pa.int32()),
        ("broker_id", pa.int32()),
        ("requested_ms", pa.int64()),
        ("responded_ms", pa.int64()),
        ("request_id", pa.string()),
        ("file", pa.string()),
        ("position", pa.int64()),
    ]
)
"""One row per range of offsets that was acquired or acknowledged without an error, and per request that began
or ended a session.
"""


class ShareLine(NamedTuple):
    """A row of LINES without the names of its partition; times in ms by the clock of its broker."""

    kind: str
    first_offset: int
    last_offset: int
    number: int
    lock_ms: int | None
    member_id: str
    client_id: str | None
    client_host: str | None
    connection: str | None
    correlation_id: int
    broker_id: int
    requested_ms: int
    responded_ms: int
    request_id: str
    file: str
    position: int


class _Said(NamedTuple):
    group_id: str
    topic_id: str | None
    partition: int | None
    kind: str
    first_offset: int | None
    last_offset: int | None
    number: int
    lock_ms: int | None
    member_id: str


def tells(line: bytes) -> bool:
    """Whether a line of these APIs says more than that there was nothing to fetch: something was acquired or
    acknowledged, or a session began or ended.
    """
    return _TELLS.search(line) is not None


def share_lines(requests: pa.Table) -> pa.Table:
    """The rows of LINES in rows of ``bronze.requests``, of any clusters and brokers."""
    rows = Rows(LINES)
    for cluster, line, found in each_reading(requests, APIS, _said):
        for each in found:
            rows.add(
                cluster, *each, line.client_id, host_of(line.connection), line.connection,
                line.correlation_id, line.broker_id, line.requested_ms, line.responded_ms, line.request_id,
                line.file, line.position,
            )  # fmt: skip
    return rows.to_arrow()


def _said(line: RequestLine) -> Iterator[_Said]:
    sent, answer = line.sent, line.answer
    if answer is None or answer["errorCode"] != 0:
        return
    group_id, member_id = text(sent["groupId"]), text(sent["memberId"])
    if group_id is None or member_id is None:
        return
    lock_ms = integer(answer.get("acquisitionLockTimeoutMs")) or None
    epoch = integer(sent["shareSessionEpoch"])
    if epoch in (OPENED, CLOSED):
        yield _Said(group_id, None, None, SESSION, None, None, epoch, None, member_id)
    answered = dict(_partitions(answer["responses"]))
    for place, asked in _partitions(sent["topics"]):
        told = answered.get(place)
        if told is not None and told[_ACKNOWLEDGE_ERROR[line.api_key]] == 0:
            for batch in asked["acknowledgementBatches"]:
                for given in _acknowledged(batch):
                    yield _Said(group_id, *place, ACKNOWLEDGED, *given, lock_ms, member_id)
    for place, told in answered.items():
        for batch in _acquired(told) if line.api_key == SHARE_FETCH else ():
            yield _Said(group_id, *place, ACQUIRED, *batch, lock_ms, member_id)


_ACKNOWLEDGE_ERROR = {SHARE_FETCH: "acknowledgeErrorCode", SHARE_ACKNOWLEDGE: "errorCode"}


def _partitions(topics: Any) -> Iterator[tuple[tuple[str, int], Mapping[str, Any]]]:
    for topic in topics:
        for each in topic["partitions"]:
            yield (text(topic["topicId"]), integer(each["partitionIndex"])), each


def _acquired(told: Mapping[str, Any]) -> Iterator[tuple[int, int, int]]:
    """The ranges that a member got, with their delivery counts."""
    for batch in told["acquiredRecords"] if told["errorCode"] == 0 else ():
        yield (
            integer(batch["firstOffset"], 64),
            integer(batch["lastOffset"], 64),
            integer(batch["deliveryCount"]),
        )


def _acknowledged(batch: Mapping[str, Any]) -> Iterator[tuple[int, int, int]]:
    """The ranges of a batch with their types: one type for all offsets, or one for each."""
    first, last = integer(batch["firstOffset"], 64), integer(batch["lastOffset"], 64)
    kinds = [integer(each) for each in batch["acknowledgeTypes"]]
    if len(kinds) == 1:
        yield first, last, kinds[0]
        return
    begin = first
    for offset, kind in enumerate(kinds, first):
        if offset == first + len(kinds) - 1 or kinds[offset - first + 1] != kind:
            yield begin, offset, kind
            begin = offset + 1
