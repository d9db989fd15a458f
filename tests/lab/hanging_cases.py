"""Hanging transactions, made in the realistic way: by a late batch, after its transaction has ended.

A broker that verifies transactional batches refuses such a batch;
``transaction.partition.verification.enable`` is off while they are written.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import tools
from coordinators import await_state, describe
from idempotent import Idempotent
from producer_cases import TIMEOUT_MS, write_marker
from producer_requests import Workbench, note, older
from producers import Producer
from truth import Partition

CASE, PARTITIONS = "hanging", 10
_VERIFY = "transaction.partition.verification.enable"
_SETTLED = ("CompleteCommit", "CompleteAbort", "Empty")


class Account:
    """The rows about hanging transactions; their first offsets come from the answers."""

    def __init__(self, bench: Workbench, case: str) -> None:
        self._bench = bench
        self._case = case
        self._rows: dict[Partition, dict[str, Any]] = {}

    def opened(self, producer: Producer, place: Partition, identity: tuple[int, int], why: str) -> None:
        """The last batch of the producer opened a transaction on the partition."""
        base = next(
            row["base_offset"]
            for row in reversed(self._bench.truth.rows)
            if row["kind"] == "producer" and row["base_offset"] is not None
        )
        self._rows[place] = {
            "kind": "hanging",
            "case": self._case,
            "topic": place[0],
            "partition": place[1],
            "transactional_id": producer.name,
            "producer_id": identity[0],
            "producer_epoch": identity[1],
            "first_offset": base,
            "hanging": why == "hanging",
            "why": why,
        }

    def aborted(self, place: Partition) -> None:
        """Note that an operator has ended it."""
        self._rows[place] |= {"hanging": False, "why": "aborted_by_operator"}

    def write(self) -> None:
        """Add the rows to the ground truth."""
        for row in self._rows.values():
            self._bench.truth.add(row)


@contextmanager
def verification(bench: Workbench, on: bool) -> Iterator[None]:
    """Whether brokers verify, for a while, that transactional batches are part of a transaction."""
    for value in (on, not on):
        bench.cluster.set_broker_config(_VERIFY, str(value).lower())
        time.sleep(1)  # until the broker has read it from the metadata log
        if value == on:
            yield


class Hanging:
    """Makes hanging transactions, lets the coordinator continue, and runs Kafka's own tool."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._account = Account(bench, CASE)
        self._clients: list[Producer] = []

    def make(self) -> None:
        """Late batches of transactions that have ended in every possible way."""
        bench = self._bench
        same = self._producer("same-partition")
        same.transaction((CASE, 0))
        other = self._producer("other-partition")
        stale = other.identity
        other.transaction((CASE, 9))
        aborted = self._producer("operator")
        aborted_by = aborted.identity
        aborted.transaction((CASE, 9))
        by_tool = self._producer("operator-tool")
        by_tool.transaction((CASE, 9))
        two = self._producer("two-partitions")
        two_by = two.identity
        two.transaction((CASE, 9))
        timed_out = self._producer("timed-out", TIMEOUT_MS)
        timed_out_by = timed_out.identity
        timed_out.must(timed_out.produce((CASE, 9)))
        timed_out.await_timeout()
        forgotten = self._forgotten()
        refused = Producer(bench, CASE, f"{CASE}-refused")
        self._clients.append(refused)
        refused.init()
        refused_by = refused.identity
        refused.transaction((CASE, 9))
        for client in (same, other, aborted, by_tool, two, refused):
            await_state(bench, client.name, *_SETTLED)
        # verified: refused, whatever the transaction version
        same.produce((CASE, 0), sequence=3, identity=same.identity, step="late_produce")
        with verification(bench, False):
            if not refused.spoken.adds_partitions:
                # not verified, but from transaction version 2 on the broker adds the partition itself
                refused.produce((CASE, 0), identity=refused_by, step="late_produce")
            self._late(same, (CASE, 0), same.identity, sequence=3)
            self._late(other, (CASE, 1), stale)
            self._late(timed_out, (CASE, 2), timed_out_by)
            self._late(forgotten, (CASE, 3), forgotten.identity)
            self._late(two, (CASE, 4), two_by)
            self._late(two, (CASE, 5), two_by)
            self._late(aborted, (CASE, 6), aborted_by)
            self._late(by_tool, (CASE, 7), by_tool.identity)
        self._go_on(other, timed_out)
        self._operator(aborted, aborted_by)
        (row,) = [row for row in self._rows() if row["partition"] == 7 and row["base_offset"] is not None]
        place = ["--topic", CASE, "--partition", "7", "--start-offset", str(row["base_offset"])]
        tools.transactions(bench.cluster, "abort", *place)
        told: dict[str, Any] = {
            "step": "write_markers",
            "transactional_id": by_tool.name,
            "instance": "operator",
        }
        told |= {"topic": CASE, "partition": 7, "committed": False}
        told |= dict(zip(("producer_id", "producer_epoch"), by_tool.identity, strict=True))
        note(bench, CASE, "WriteTxnMarkers", told)
        self._account.aborted((CASE, 7))

    def leave_open(self) -> None:
        """Two transactions that do not hang: a young one, and one past its timeout that the coordinator
        still has.

        Call it just after the coordinator has checked for transactions to abort.
        """
        bench = self._bench
        late = Producer(bench, CASE, f"{CASE}-late", timeout_ms=TIMEOUT_MS)
        young = Producer(bench, CASE, f"{CASE}-young")
        for partition, (client, why) in enumerate(((late, "late"), (young, "listed")), start=8):
            client.init()
            # the partition of the young one has other transactions on it, of others, which have ended
            client.must(client.produce((CASE, partition)))
            self._account.opened(client, (CASE, partition), client.identity, why)
            self._clients.append(client)
        time.sleep(TIMEOUT_MS / 1000 + 0.2)
        # how late the late one is, only what the coordinator writes next can tell
        after = Producer(bench, CASE, f"{CASE}-after")
        after.init()
        after.transaction((CASE, 9))
        self._clients.append(after)

    def ask(self) -> None:
        """Store the output of ``kafka-transactions.sh find-hanging`` for every broker as
        ``find_hanging.json``.
        """
        bench = self._bench
        bench.truth.oracles["find_hanging.json"] = [
            {"broker_id": broker.broker_id, **tools.find_hanging(bench.cluster, broker.broker_id)}
            for broker in bench.cluster.brokers
        ]
        self._account.write()

    def still_listed(self) -> bool:
        """Whether the late transaction has not been aborted in the meantime."""
        return bool(describe(self._bench, f"{CASE}-late")["TransactionState"] == "Ongoing")

    def close(self) -> None:
        """Close every connection."""
        for client in self._clients:
            client.close()

    def _producer(self, name: str, timeout_ms: int = 600_000) -> Producer:
        """A client that knows nothing of transaction version 2, which makes late batches impossible."""
        spoken = older(self._bench.dialect)
        client = Producer(self._bench, CASE, f"{CASE}-{name}", spoken=spoken, timeout_ms=timeout_ms)
        self._clients.append(client)
        client.init()
        return client

    def _forgotten(self) -> Producer:
        """A producer that the coordinator does not know."""
        nameless = Idempotent(self._bench, CASE, f"{CASE}-nameless")
        nameless.init()
        nameless.close()
        client = Producer(self._bench, CASE, f"{CASE}-forgotten", spoken=older(self._bench.dialect))
        client.adopt(nameless.identity)
        self._clients.append(client)
        return client

    def _late(self, client: Producer, place: Partition, identity: tuple[int, int], sequence: int = 0) -> None:
        client.must(client.produce(place, sequence=sequence, identity=identity, step="late_produce"))
        self._account.opened(client, place, identity, "hanging")

    def _go_on(self, *clients: Producer) -> None:
        """The transactional ids are used again after their hanging transactions: new instances, other
        epochs.
        """
        for client in clients:
            for _ in range(2):
                client.init()
                client.transaction((CASE, 9), records=1)

    def _operator(self, client: Producer, identity: tuple[int, int]) -> None:
        client.must(write_marker(self._bench, CASE, client, (CASE, 6), identity))
        self._account.aborted((CASE, 6))

    def _rows(self) -> list[dict[str, Any]]:
        return [row for row in self._bench.truth.rows if row["kind"] == "producer" and row["case"] == CASE]
