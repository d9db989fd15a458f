"""Players who write: transactional and idempotent producers, and operators who interfere with them."""

from __future__ import annotations

from typing import Any

from brokers import kafka_uuid
from plays.calls import CONCURRENT, NOT_YET, Answer, Calls, codes
from plays.knowledge import Member, Producer, World
from plays.script import Setting, Step
from record_batch import Batch

OPERATOR = "ops-laptop"
_FENCED = {47, 49, 90}
_PATIENT = NOT_YET | CONCURRENT
_FENCE_TIMEOUT_MS = 30_000  # Admin.fenceProducers presents the timeout of its own requests


class Producers:
    """Steps of producers. ``x`` is a transactional id, or the name of an idempotent producer (``i...``)."""

    def __init__(self, calls: Calls, world: World, setting: Setting) -> None:
        self.calls, self.world, self.setting = calls, world, setting

    def _producer(self, step: Step) -> tuple[Producer, str]:
        who = self.world.producers.setdefault((step["x"], step["inst"]), Producer())
        return who, f"{step['x']}-{'ab'[step['inst']]}"

    def _call(
        self, who: Producer, client: str, api: str, version: int, message: dict[str, Any], **how: Any
    ) -> Answer | None:
        """As ``Calls.call``; a producer that is fenced begins anew before its next transaction."""
        answer = self.calls.call(client, api, version, message, retry=_PATIENT, **how)
        who.fenced |= bool(_FENCED & set(codes(answer or {})))
        return answer

    def do_init(self, step: Step) -> None:
        who, client = self._producer(step)
        if step["give"] == "keep" and who.producer_id >= 0 and not who.fenced:
            return
        fresh = step["give"] in ("fresh", "keep") or who.producer_id < 0
        presented = (-1, -1) if fresh else who.identity(step["give"])
        answer = self._init(client, step["x"], step["timeout"], presented)
        if answer is not None and answer["ErrorCode"] == 0:
            who.move(answer["ProducerId"], answer["ProducerEpoch"])

    def _init(
        self, client: str, x: str, timeout: int, presented: tuple[int, int], by: str = "client"
    ) -> Answer | None:
        name = x if x.startswith("x") else None
        pid, epoch = presented
        message = {
            "TransactionalId": name,
            "TransactionTimeoutMs": timeout,
            "ProducerId": pid,
            "ProducerEpoch": epoch,
        }
        to = ("transaction", name) if name else ("any",)
        return self.calls.call(
            client, "InitProducerId", 4, message, to, retry=_PATIENT, pid=pid, epoch=epoch, by=by
        )

    def do_fence(self, step: Step) -> None:
        """Admin.fenceProducers, by an admin client with the default client id or with one of its own."""
        self._init(step["admin"], step["x"], _FENCE_TIMEOUT_MS, (-1, -1), by="operator")

    def do_add(self, step: Step) -> None:
        who, client = self._producer(step)
        pid, epoch = who.identity(step["epoch"])
        topics = [{"Name": step["topic"], "Partitions": [step["p"]]}]
        message = {
            "V3AndBelowTransactionalId": step["x"],
            "V3AndBelowProducerId": pid,
            "V3AndBelowProducerEpoch": epoch,
            "V3AndBelowTopics": topics,
        }
        self._call(
            who, client, "AddPartitionsToTxn", 3, message, to=("transaction", step["x"]), pid=pid, epoch=epoch
        )

    def do_write(self, step: Step) -> None:
        who, client = self._producer(step)
        if who.producer_id < 0:
            return
        if step["epoch"] == "bump":  # an idempotent producer raises its epoch itself
            who.move(who.producer_id, who.epoch + 1)
        pid, epoch = who.identity("current" if step["epoch"] == "bump" else step["epoch"])
        key = (pid, epoch, self.world.topic_id(step["topic"], "?"), step["p"])
        expected = self.world.sequences.get(key, 0)
        first = {"next": expected, "gap": expected + 2, "again": max(expected - step["n"], 0), "zero": 0}[
            step["seq"]
        ]
        txn = step["x"] if step["x"].startswith("x") else None
        batch = Batch([b"v"] * step["n"], pid, epoch, first, bool(txn))
        answer = self._produce(
            client, step, 11 if step["old"] else 13, batch, txn, pid=pid, epoch=epoch, sequence=first
        )
        who.fenced |= bool(_FENCED & set(codes(answer or {})))
        if answer is not None and 0 in codes(answer):
            self.world.sequences[key] = max(first + step["n"], expected)

    def do_fill(self, step: Step) -> None:
        self._produce("filler", step, 13 if step["by"] == "id" else 11, Batch([b"f"] * step["n"]))

    def _produce(
        self, client: str, step: Step, version: int, batch: Batch, txn: str | None = None, **knows: Any
    ) -> Answer | None:
        version = version if self.setting.is_new else min(version, 11)
        topic_id = self.world.topic_id(step["topic"], kafka_uuid())
        name = {"TopicId": topic_id} if version >= 13 else {"Name": step["topic"]}
        data = [{**name, "PartitionData": [{"Index": step["p"], "Records": batch.encode()}]}]
        message = {"TransactionalId": txn, "Acks": -1, "TimeoutMs": 9000, "TopicData": data}
        to = ("partition", step["topic"], step["p"])
        knows |= {"topic": step["topic"], "p": step["p"], "txn": txn, "topic_id": topic_id, "n": step["n"]}
        return self.calls.call(client, "Produce", version, message, to, retry=_PATIENT, **knows)

    def do_offsets(self, step: Step) -> None:
        """Offsets of a group in the transaction, with the metadata of a member or without."""
        who, client = self._producer(step)
        member = self.world.member(step["g"], step["m"]) if step["m"] else Member("")
        pid, epoch = who.identity("current")
        if pid < 0:
            return
        knows = {"pid": pid, "epoch": epoch}
        if step["old"]:
            added = {
                "TransactionalId": step["x"],
                "ProducerId": pid,
                "ProducerEpoch": epoch,
                "GroupId": step["g"],
            }
            self._call(who, client, "AddOffsetsToTxn", 3, added, to=("transaction", step["x"]), **knows)
        generation = {"current": member.epoch, "stale": max(member.epoch - 1, 0), "none": -1}[step["gen"]]
        partition = {"PartitionIndex": step["p"], "CommittedOffset": step["off"], "CommittedMetadata": ""}
        message = {
            "TransactionalId": step["x"],
            "GroupId": step["g"],
            "ProducerId": pid,
            "ProducerEpoch": epoch,
            "GenerationIdOrMemberEpoch": generation,
            "MemberId": "" if generation < 0 else member.id,
            "GroupInstanceId": None,
            "Topics": [{"Name": step["topic"], "Partitions": [partition]}],
        }
        self._call(
            who, client, "TxnOffsetCommit", 3 if step["old"] else 5, message, to=("group", step["g"]), **knows
        )

    def do_end(self, step: Step) -> None:
        """EndTxn of the producer, or of ``other``: a connection that recovers its transactions."""
        who, client = self._producer(step)
        pid, epoch = who.identity(step["epoch"])
        if pid < 0:
            return
        sender = f"{step['x']}-recovery" if step["other"] else client
        message = {
            "TransactionalId": step["x"],
            "ProducerId": pid,
            "ProducerEpoch": epoch,
            "Committed": step["commit"],
        }
        version, to = 4 if step["old"] else 5, ("transaction", step["x"])
        answer = self._call(who, sender, "EndTxn", version, message, to=to, pid=pid, epoch=epoch)
        moved = answer is not None and answer["ErrorCode"] == 0 and answer.get("ProducerId", -1) >= 0
        if answer is not None and moved and not step["old"] and not step["other"]:
            who.move(answer["ProducerId"], answer["ProducerEpoch"])

    def do_marker(self, step: Step) -> None:
        """An operator's marker, as kafka-transactions.sh abort writes one: the tool looks up the coordinator
        epoch of the producer's last marker there, and a leader refuses a lower one.
        """
        who, _ = self._producer(step)
        pid, epoch = who.identity(step["epoch"])
        if pid < 0:
            return
        topics = [{"Name": step["topic"], "PartitionIndexes": [step["p"]]}]
        marker = {
            "ProducerId": pid,
            "ProducerEpoch": epoch,
            "TransactionResult": step["commit"],
            "Topics": topics,
        }
        message = {"Markers": [{**marker, "CoordinatorEpoch": step.get("coordinator", -1)}]}
        to = ("partition", step["topic"], step["p"])
        self.calls.call(OPERATOR, "WriteTxnMarkers", 1, message, to, pid=pid, epoch=epoch, x=step["x"])
