"""Hand-made transactional producers, with valid and invalid requests."""

from __future__ import annotations

from typing import Any

from brokers import LabError
from coordinators import await_state, describe
from epochs import Identity
from messages import Message
from producer_requests import Client, Dialect, Request, Workbench, produce_errors, top_level
from record_batch import Batch, next_sequence
from truth import Partition

NOBODY: Identity = (-1, -1)
"""The identity in requests of a new instance."""


class Writer(Client):
    """A producer of any kind: its identity, its sequences, and the batches it writes."""

    def __init__(self, bench: Workbench, case: str, name: str, instance: str = "A") -> None:
        super().__init__(bench, case, f"{name}-{instance}")
        self.name = name
        self.instance = instance
        self.identity: Identity = NOBODY
        self.sequences: dict[Partition, int] = {}

    @property
    def key(self) -> str:
        """The name of the producer in the driver's account: its transactional id, if it has one."""
        return self.transactional_id or f"producer {self.identity[0]}"

    @property
    def transactional_id(self) -> str | None:
        """The transactional id, None without one."""
        return None

    def adopt(self, identity: Identity) -> None:
        """Continue with this identity; its sequences start at 0."""
        if identity != self.identity:
            self.identity = identity
            self.sequences = {}

    def write(self, step: str, place: Partition, batch: Batch, version: int) -> str:
        """One Produce request with one batch."""
        topic, partition = place
        by_id = {"TopicId": self.bench.cluster.topic_id(topic)} if version >= 13 else {"Name": topic}
        data = {"Index": partition, "Records": batch.encode()}
        message = {
            "TransactionalId": self.transactional_id if batch.transactional else None,
            "Acks": -1,
            "TimeoutMs": 15_000,
            "TopicData": [{**by_id, "PartitionData": [data]}],
        }
        row = {
            **self.who(),
            "topic": topic,
            "partition": partition,
            "records": len(batch.values),
            "first_sequence": batch.base_sequence,
            "last_sequence": batch.last_sequence,
        }
        presented = (batch.producer_id, batch.producer_epoch)

        def answered(answer: Message, rows: list[dict[str, Any]]) -> None:
            rows[0]["base_offset"] = answer["Responses"][0]["PartitionResponses"][0]["BaseOffset"]
            self.written(step, place, presented, rows[0])

        def leader() -> int:
            return self.bench.leader(topic, partition)

        request = Request(step, "Produce", version, message, leader, [row], produce_errors, answered)
        return self.send(request, self.key, presented)[0]

    def written(self, step: str, place: Partition, presented: Identity, row: dict[str, Any]) -> None:
        """The batch of the row was appended (or was there already)."""

    def who(self) -> dict[str, Any]:
        """The fields of every row of ground truth of this producer."""
        return {"transactional_id": self.transactional_id, "instance": self.instance}

    def coordinator(self) -> int:
        """The broker that assigns the producer its id."""
        return 1

    def init_request(self, message: Message, presented: Identity, step: str, cause: str = "") -> Request:
        """InitProducerId; ``cause``: of the bump, if it is accepted."""

        def answered(answer: Message, rows: list[dict[str, Any]]) -> None:
            returned = (answer["ProducerId"], answer["ProducerEpoch"])
            rows[0] |= dict(zip(("returned_producer_id", "returned_producer_epoch"), returned, strict=True))
            self.adopt(returned)
            if cause:
                self.bench.epochs.moved(self.key, returned, cause)

        message = {**message, "ProducerId": presented[0], "ProducerEpoch": presented[1]}
        rows = [self.who()]
        return Request(step, "InitProducerId", 5, message, self.coordinator, rows, top_level, answered)


class Producer(Writer):
    """One instance of a producer with a transactional id."""

    def __init__(
        self,
        bench: Workbench,
        case: str,
        name: str,
        instance: str = "A",
        *,
        spoken: Dialect | None = None,
        timeout_ms: int = 600_000,
    ) -> None:
        super().__init__(bench, case, name, instance)
        self.spoken = spoken or bench.dialect
        self.timeout_ms = timeout_ms
        self.added: set[Partition] = set()
        self.added_groups: set[str] = set()

    @property
    def transactional_id(self) -> str:
        """The transactional id."""
        return self.name

    def adopt(self, identity: Identity) -> None:
        """Continue with this identity, in a new transaction."""
        super().adopt(identity)
        self.added, self.added_groups = set(), set()

    def init(
        self,
        presented: Identity = NOBODY,
        step: str = "init",
        cause: str | None = None,
        again: bool = True,
    ) -> str:
        """InitProducerId; with an identity the client requests its next epoch."""
        message = {"TransactionalId": self.name, "TransactionTimeoutMs": self.timeout_ms}
        moved = cause or ("new_instance" if presented == NOBODY else "client_bump")
        return self.send(
            self.init_request(message, presented, step, moved), self.key, presented, again=again
        )[0]

    def add_partitions(self, *places: Partition, identity: Identity | None = None) -> list[str]:
        """AddPartitionsToTxn, as clients send it up to transaction version 1."""
        presented = identity or self.identity
        topics: dict[str, Message] = {}
        for topic, partition in places:
            topics.setdefault(topic, {"Name": topic, "Partitions": []})["Partitions"].append(partition)
        message = {f"V3AndBelow{name}": value for name, value in self._claim(presented).items()}
        message["V3AndBelowTopics"] = list(topics.values())
        rows = [{**self.who(), "topic": topic, "partition": index} for topic, index in places]

        def errors(answer: Message) -> list[int]:
            codes = {
                (topic["Name"], told["PartitionIndex"]): told["PartitionErrorCode"]
                for topic in answer["ResultsByTopicV3AndBelow"]
                for told in topic["ResultsByPartition"]
            }
            return [codes[place] for place in places]

        def answered(answer: Message, rows: list[dict[str, Any]]) -> None:
            self.added |= set(places)
            for place in places:
                self.bench.epochs.wrote(self.key, self.case, presented, place, range(0))

        request = Request(
            "add_partitions", "AddPartitionsToTxn", 3, message, self.coordinator, rows, errors, answered
        )
        return self.send(request, self.key, presented)

    def produce(
        self,
        place: Partition,
        records: int = 3,
        sequence: int | None = None,
        identity: Identity | None = None,
        step: str = "produce",
    ) -> str:
        """Write records in the transaction, which begins with the first of them.

        ``step`` "late_produce" is a batch of a transaction that has ended already.
        """
        presented = identity or self.identity
        late = step == "late_produce"
        if self.spoken.adds_partitions and not late and identity is None and place not in self.added:
            self.add_partitions(place)
        base = self.sequences.get(place, 0) if sequence is None else sequence
        batch = Batch(self.bench.values(records), *presented, base, transactional=True)
        error = self.write(step, place, batch, self.spoken.produce)
        if error == "NONE":
            self.sequences[place] = next_sequence(base, records)
        return error

    def written(self, step: str, place: Partition, presented: Identity, row: dict[str, Any]) -> None:
        """The batch of the row is part of the transaction."""
        if step == "produce":
            offsets = range(row["base_offset"], row["base_offset"] + row["records"])
            self.bench.epochs.wrote(self.key, self.case, presented, place, offsets)

    def add_offsets(self, group_id: str, identity: Identity | None = None) -> str:
        """AddOffsetsToTxn, as clients send it up to transaction version 1."""
        presented = identity or self.identity
        message = {**self._claim(presented), "GroupId": group_id}

        def answered(answer: Message, rows: list[dict[str, Any]]) -> None:
            self.added_groups.add(group_id)
            self.bench.epochs.joined(self.key, self.case, presented).groups.add(group_id)

        rows = [{**self.who(), "group_id": group_id}]
        request = Request(
            "add_offsets", "AddOffsetsToTxn", 3, message, self.coordinator, rows, top_level, answered
        )
        return self.send(request, self.key, presented)[0]

    def commit_offsets(self, group_id: str, place: Partition, identity: Identity | None = None) -> str:
        """TxnOffsetCommit of a group without members, so without a generation."""
        presented = identity or self.identity
        if self.spoken.adds_partitions and identity is None and group_id not in self.added_groups:
            self.add_offsets(group_id)
        topic, partition = place
        offset = self.bench.truth.next_offset()
        told = {"PartitionIndex": partition, "CommittedOffset": offset, "CommittedMetadata": ""}
        message = {
            **self._claim(presented),
            "GroupId": group_id,
            "GenerationIdOrMemberEpoch": -1,
            "MemberId": "",
            "Topics": [{"Name": topic, "Partitions": [told]}],
        }
        row = {**self.who(), "topic": topic, "partition": partition}
        row |= {"group_id": group_id, "committed_offset": offset}

        def errors(answer: Message) -> list[int]:
            return [told["ErrorCode"] for topic in answer["Topics"] for told in topic["Partitions"]]

        def answered(answer: Message, rows: list[dict[str, Any]]) -> None:
            self.bench.epochs.joined(self.key, self.case, presented).groups.add(group_id)

        def coordinator() -> int:
            return self.bench.coordinator(group_id)

        version = self.spoken.offsets
        request = Request(
            "txn_offset_commit", "TxnOffsetCommit", version, message, coordinator, [row], errors, answered
        )
        return self.send(request, self.key, presented)[0]

    def end(
        self,
        committed: bool = True,
        identity: Identity | None = None,
        step: str = "end_txn",
        again: bool = True,
    ) -> str:
        """EndTxn; from transaction version 2 on its answer has the next epoch, which is adopted."""
        presented = identity or self.identity
        message = {**self._claim(presented), "Committed": committed}

        def answered(answer: Message, rows: list[dict[str, Any]]) -> None:
            if step == "end_txn":
                outcome = ("committed", None) if committed else ("aborted", "client")
                self.bench.epochs.ended(self.key, *outcome)
            # the fields are there from transaction version 2 on; the schemas of 3.9 do not know them
            returned = (answer.get("ProducerId", -1), answer.get("ProducerEpoch", -1))
            if returned == NOBODY:
                self.added, self.added_groups = set(), set()
                return
            rows[0] |= dict(zip(("returned_producer_id", "returned_producer_epoch"), returned, strict=True))
            self.bench.epochs.moved(self.key, returned, "end_txn")
            self.adopt(returned)

        rows = [{**self.who(), "committed": committed}]
        version = self.spoken.end_txn
        request = Request(step, "EndTxn", version, message, self.coordinator, rows, top_level, answered)
        return self.send(request, self.key, presented, again=again)[0]

    def transaction(self, *places: Partition, records: int = 3, committed: bool = True) -> None:
        """A whole transaction over some partitions; every answer must be a success."""
        for place in places:
            self.must(self.produce(place, records))
        self.must(self.end(committed))

    def must(self, error: str) -> None:
        """Stop the recording at an answer with an error."""
        if error != "NONE":
            raise LabError(f"{self.case}: {self.name!r} was answered {error}")

    def learn(self, cause: str) -> Identity:
        """The current identity from the coordinator, after another client has bumped it."""
        told = describe(self.bench, self.name)
        identity = (told["ProducerId"], told["ProducerEpoch"])
        self.bench.epochs.moved(self.name, identity, cause, aborts=True)
        return identity

    def await_timeout(self) -> None:
        """Wait until the coordinator has aborted the transaction because of its age."""
        await_state(self.bench, self.name, "CompleteAbort")
        self.learn("timeout")

    def _claim(self, presented: Identity) -> Message:
        return {"TransactionalId": self.name, "ProducerId": presented[0], "ProducerEpoch": presented[1]}

    def coordinator(self) -> int:
        """The broker that coordinates the transactional id."""
        return self.bench.coordinator(self.name, transaction=True)
