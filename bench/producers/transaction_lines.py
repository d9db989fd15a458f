"""The request log of transactions: requests of producers, and of brokers for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from request_lines import TOOK_MS, Line, compact
from transaction_files import Files, topic_id

if TYPE_CHECKING:
    from transaction_walk import Place, Producer

PRODUCE, INIT, ADD, END, MARKERS = (
    (0, "PRODUCE", 13), (22, "INIT_PRODUCER_ID", 5), (24, "ADD_PARTITIONS_TO_TXN", 5), (26, "END_TXN", 5),
    (27, "WRITE_TXN_MARKERS", 2),
)  # fmt: skip
_FENCED = 90


@dataclass
class Requester:
    """A client with its connection."""

    client_id: str = ""
    number: int = 0
    correlation_id: int = 0

    @property
    def connection(self) -> str:
        """As a broker logs it."""
        port = 20_000 + self.number % 40_000
        return f"127.0.0.1:9092-127.0.0.1:{port}-{self.number % 8}-{self.number}"


class Lines:
    """Writes the lines, in the order in which they were completed, while ``logged``.

    Methods that write a line return its correlation id, or None if it is not logged; ``ms``: the time of the
    request.
    """

    adder, _marker = "AddPartitionsManager-client-1", "broker-1-txn-marker-sender"

    def __init__(self, files: Files) -> None:
        self.logged = True
        self.count = 0
        self._files = files
        self._lines: list[Line] = []
        self._added, self._marked = Requester(self.adder, 0), Requester(self._marker, -1)

    def init(self, producer: Producer, ms: int) -> int | None:
        """InitProducerId of an instance that has no epoch yet."""
        sent = {
            "transactionalId": producer.transactional_id,
            "transactionTimeoutMs": 60_000,
            "producerId": -1,
            "producerEpoch": -1,
        }
        answer = _producer(producer.producer_id, producer.epoch)
        return self._say(INIT, producer.requester, ms, sent, {"throttleTimeMs": 0, "errorCode": 0, **answer})

    def write(self, producer: Producer, epoch: int, place: Place, base_offset: int, ms: int) -> int | None:
        """Produce, and before it the broker's request to the coordinator, whose id is returned."""
        topic, number = place
        of_transaction = {
            "transactionalId": producer.transactional_id,
            **_producer(producer.producer_id, epoch),
            "verifyOnly": False,
            "topics": [{"name": topic, "partitions": [number]}],
        }
        results = [
            {"name": topic, "resultsByPartition": [{"partitionIndex": number, "partitionErrorCode": 0}]}
        ]
        answered = {"transactionalId": producer.transactional_id, "topicResults": results}
        answer = {"throttleTimeMs": 0, "errorCode": 0, "resultsByTransaction": [answered]}
        added = self._say(ADD, self._added, ms, {"transactions": [of_transaction]}, answer)
        data = [{"index": number, "recordsSizeInBytes": 120}]
        sent = {
            "transactionalId": producer.transactional_id,
            "acks": -1,
            "timeoutMs": 30_000,
            "topicData": [{"topicId": topic_id(topic), "partitionData": data}],
        }
        partition_answer = {
            "index": number,
            "errorCode": 0,
            "baseOffset": base_offset,
            "logAppendTimeMs": -1,
            "logStartOffset": 0,
            "recordErrors": [],
            "errorMessage": None,
        }
        responses = [{"topicId": topic_id(topic), "partitionResponses": [partition_answer]}]
        self._say(PRODUCE, producer.requester, ms, sent, {"responses": responses, "throttleTimeMs": 0})
        return added

    def end(self, producer: Producer, epoch: int, ms: int, *, commit: bool) -> int | None:
        """EndTxn that is granted."""
        answer = {"throttleTimeMs": 0, "errorCode": 0, **_producer(producer.producer_id, epoch + 1)}
        return self._say(END, producer.requester, ms, _ends(producer, epoch, commit=commit), answer)

    def end_of_old(self, producer: Producer, old: Requester, epoch: int, ms: int) -> int | None:
        """EndTxn of an instance that is fenced."""
        answer = {"throttleTimeMs": 0, "errorCode": _FENCED, **_producer(-1, -1)}
        return self._say(END, old, ms, _ends(producer, epoch, commit=True), answer)

    def mark(self, producer: Producer, places: Sequence[Place], ms: int, *, commit: bool) -> None:
        """WriteTxnMarkers of one transaction."""
        topics: dict[str, list[int]] = {}
        for topic, number in places:
            topics.setdefault(topic, []).append(number)
        marker = {
            **_producer(producer.producer_id, producer.epoch),
            "transactionResult": commit,
            "topics": [{"name": name, "partitionIndexes": numbers} for name, numbers in topics.items()],
            "coordinatorEpoch": 0,
            "transactionVersion": 2,
        }
        results = [
            {"name": name, "partitions": [{"partitionIndex": each, "errorCode": 0} for each in numbers]}
            for name, numbers in topics.items()
        ]
        answer = {"markers": [{"producerId": producer.producer_id, "topics": results}]}
        self._say(MARKERS, self._marked, ms, {"markers": [marker]}, answer)

    def flush(self) -> None:
        """Write the line of a request."""
        for line in sorted(self._lines, key=lambda each: each.done_ms):
            self._files.requests.write(line.text())
        self.count += len(self._lines)
        self._lines.clear()

    def _say(
        self,
        api: tuple[int, str, int],
        requester: Requester,
        ms: int,
        sent: dict[str, Any],
        answer: dict[str, Any],
    ) -> int | None:
        requester.correlation_id += 1
        if not self.logged:
            return None
        line = Line(1, api, requester.correlation_id, requester.client_id, requester.connection, ms + TOOK_MS)
        line.request, line.response = compact(sent), compact(answer)
        self._lines.append(line)
        return requester.correlation_id


def _producer(producer_id: int, epoch: int) -> dict[str, int]:
    return {"producerId": producer_id, "producerEpoch": epoch}


def _ends(producer: Producer, epoch: int, *, commit: bool) -> dict[str, Any]:
    of = {"transactionalId": producer.transactional_id, **_producer(producer.producer_id, epoch)}
    return {**of, "committed": commit}
