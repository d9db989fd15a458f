"""Producers with many transactional ids and their coordinator: all that is written about each transaction.

Rounds of waves: in a round each transactional id has one transaction, and those of a wave are open at the
same time. Between two rounds some ids get a new instance, and the old one, which does not know, is refused.
Transactions have version 2 (KIP-890): their end bumps the epoch, and brokers add partitions
for their producers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random

from generate import coordinator_of
from transaction_bytes import (
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    EMPTY,
    ONGOING,
    PREPARE_ABORT,
    PREPARE_COMMIT,
    Value,
    data_batch,
    marker_batch,
    transaction_record,
)
from transaction_files import Files
from transaction_lines import Lines, Requester

WAVE = 20
_WAVE_MS, _PAUSE_MS, _INSTANCE_MS = 48, 400, 5
_VERSION = 2
_EXHAUSTED = 32_000

Place = tuple[str, int]


@dataclass(frozen=True)
class Size:
    """How much to generate. ``logged`` of the transactions, the last ones, are in the request log: the rest
    was rotated away.
    """

    transactions: int
    ids: int
    logged: int


@dataclass(frozen=True)
class Mix:
    """The probability of events in a transaction."""

    aborted: float = 0.03
    two_partitions: float = 0.3
    fenced: float = 0.01  # before it, a new instance takes over the transactional id


@dataclass
class Producer:
    """A transactional id, and its instance that is current."""

    transactional_id: str
    producer_id: int
    places: tuple[Place, ...]
    epoch: int = -1
    requester: Requester = field(default_factory=Requester)

    @property
    def coordinator(self) -> int:
        """The partition of ``__transaction_state`` with its records."""
        return coordinator_of(self.transactional_id)


class Walk:
    """All transactions, in the order of time."""

    def __init__(self, producers: list[Producer], files: Files, start_ms: int, rng: Random, mix: Mix) -> None:
        self._producers, self._files, self._rng, self._mix = producers, files, rng, mix
        self._now, self._connections = start_ms, 0
        self._lines = Lines(files)
        self.count = self.fenced = 0

    @property
    def requests(self) -> int:
        """How many are in the request log."""
        return self._lines.count

    def run(self, size: Size) -> None:
        """Walk."""
        remaining = size.transactions
        self._lines.logged = size.logged >= remaining
        for producer in self._producers:
            self._start(producer)
            self._now += _INSTANCE_MS
        self._lines.flush()
        while remaining:
            self._now += _PAUSE_MS
            for producer in self._producers:
                if self._rng.random() < self._mix.fenced or producer.epoch > _EXHAUSTED:
                    self._take_over(producer)
            # the old instances were refused meanwhile, and a log is in the order of its times
            self._lines.flush()
            self._now += 2 * _PAUSE_MS
            order = self._rng.sample(self._producers, min(remaining, len(self._producers)))
            for at in range(0, len(order), WAVE):
                self._lines.logged = size.logged >= remaining
                wave = order[at : at + WAVE]
                self._wave(wave)
                remaining -= len(wave)
        self._now += _PAUSE_MS

    # --- instances ------------------------------------------------------------------------------------------

    def _start(self, producer: Producer) -> None:
        """A new instance: InitProducerId without an epoch."""
        self._connections += 1
        producer.requester = Requester(f"{producer.transactional_id}-{self._connections}", self._connections)
        producer.epoch += 1
        value = Value(EMPTY, producer.producer_id, producer.epoch, (), self._now + 1, -1, 0)
        offset = self._log(producer, value)
        correlation_id = self._lines.init(producer, self._now)
        if correlation_id is not None:
            self._files.expect_row("init_producer_ids", _request(producer, correlation_id, "NONE", offset))

    def _take_over(self, producer: Producer) -> None:
        old, epoch = producer.requester, producer.epoch
        self._start(producer)
        fenced_position = self._files.next_offset("__transaction_state", producer.coordinator) - 1
        correlation_id = self._lines.end_of_old(producer, old, epoch, self._now + _PAUSE_MS // 2)
        self._now += _INSTANCE_MS
        self.fenced += 1
        if correlation_id is not None:
            self._files.expect_row(
                "producer_fencings",
                {
                    "transactional_id": producer.transactional_id,
                    "producer_id": producer.producer_id,
                    "victim_epoch": epoch,
                    "current_epoch": producer.epoch,
                    "client_id": old.client_id,
                    "fenced_position": fenced_position,
                    "cause": "new_instance",
                },
            )

    # --- transactions ---------------------------------------------------------------------------------------

    def _wave(self, wave: list[Producer]) -> None:
        """The transactions of these producers, all open at the same time."""
        steps = [
            (ms, number, step)
            for number, producer in enumerate(wave)
            for ms, step in self._transaction(producer, self._now + number)
        ]
        steps.sort(key=lambda each: each[:2])
        for _, _, step in steps:
            step()
        self._lines.flush()
        self._now += _WAVE_MS

    def _transaction(self, producer: Producer, begun: int) -> Iterator[tuple[int, Callable[[], None]]]:
        rng, mix = self._rng, self._mix
        places = rng.sample(producer.places, 2 if rng.random() < mix.two_partitions else 1)
        transaction = _Transaction(self, producer, begun, commit=rng.random() >= mix.aborted)
        self.count += 1
        for number, place in enumerate(places):
            ms = begun + 4 * number
            yield ms, _bound(transaction.write, place, ms)
        yield begun + 10, transaction.end
        yield begun + 14, transaction.mark
        yield begun + 15, transaction.complete

    def _log(self, producer: Producer, value: Value) -> int:
        record = transaction_record(producer.transactional_id, value)
        return self._files.append_record("__transaction_state", producer.coordinator, record, value.now_ms)


class _Transaction:
    """One transaction, step by step."""

    def __init__(self, walk: Walk, producer: Producer, begun: int, *, commit: bool) -> None:
        self._walk, self._producer, self._begun, self._commit = walk, producer, begun, commit
        self._epoch = producer.epoch
        self._open_partitions: dict[Place, dict[str, object]] = {}
        self._started = self._prepared = -1

    def write(self, place: Place, ms: int) -> None:
        """Produce to a partition: its broker adds the partition, and writes the batch."""
        walk, producer, files = self._walk, self._producer, self._walk._files
        self._open_partitions[place] = {}
        offset = self._log(ONGOING, ms + 1)
        self._started = offset if self._started < 0 else self._started
        records = walk._rng.randrange(1, 4)
        batch = data_batch(producer.producer_id, self._epoch, 0, records, ms)
        first = files.append(*place, batch, records)
        correlation_id = walk._lines.write(producer, self._epoch, place, first, ms)
        if correlation_id is not None:
            request = _request(producer, correlation_id, "NONE", offset)
            row = {**request, "transaction_partition": _name(place), "client_id": walk._lines.adder}
            files.expect_row("add_partitions_to_txns", row)
        self._open_partitions[place] = {
            "transactional_id": producer.transactional_id,
            "topic": place[0],
            "partition": place[1],
            "producer_id": producer.producer_id,
            "producer_epoch": self._epoch,
            "first_offset": first,
            "last_offset": first + records - 1,
            "records": records,
            "open": False,
            "aborted": not self._commit,
            "marker_epoch": self._epoch + 1,
        }

    def end(self) -> None:
        """EndTxn, which bumps the epoch."""
        producer, ms = self._producer, self._begun + 10
        producer.epoch += 1
        self._prepared = self._log(PREPARE_COMMIT if self._commit else PREPARE_ABORT, ms + 1)
        correlation_id = self._walk._lines.end(producer, self._epoch, ms, commit=self._commit)
        if correlation_id is not None:
            row = _request(producer, correlation_id, "NONE", self._prepared)
            self._walk._files.expect_row("end_txns", row)

    def mark(self) -> None:
        """Write a marker to each partition."""
        files, producer, ms = self._walk._files, self._producer, self._begun + 14
        for place, row in self._open_partitions.items():
            marker = marker_batch(producer.producer_id, producer.epoch, ms, commit=self._commit)
            row["to_position"] = position = files.append(*place, marker, 1)
            files.expect_row("partition_transactions", row)
            marker_row = {
                "transactional_id": producer.transactional_id,
                "transaction_partition": _name(place),
                "producer_epoch": producer.epoch,
                "due_type": "COMMIT" if self._commit else "ABORT",
                "found": 1,
                "wrong": 0,
                "marker_position": position,
                "completed": True,
            }
            files.expect_row("transaction_markers", marker_row)
        self._walk._lines.mark(producer, tuple(self._open_partitions), ms - 1, commit=self._commit)

    def complete(self) -> None:
        """Complete the transaction."""
        producer, partitions, self._open_partitions = self._producer, self._open_partitions, {}
        status = COMPLETE_COMMIT if self._commit else COMPLETE_ABORT
        completed = self._log(status, self._begun + 15)
        row = {
            "transactional_id": producer.transactional_id,
            "partition": producer.coordinator,
            "producer_id": producer.producer_id,
            "producer_epoch": self._epoch,
            "started_position": self._started,
            "prepared_position": self._prepared,
            "completed_position": completed,
            "outcome": "committed" if self._commit else "aborted",
            "transaction_partitions": sorted(_name(place) for place in partitions),
        }
        self._walk._files.expect_row("transactions", row)

    def _log(self, status: int, ms: int) -> int:
        producer = self._producer
        places = tuple(self._open_partitions)
        return self._walk._log(
            producer,
            Value(status, producer.producer_id, producer.epoch, places, ms, self._begun + 1, _VERSION),
        )


def _bound(step: Callable[[Place, int], None], place: Place, ms: int) -> Callable[[], None]:
    return lambda: step(place, ms)


def _name(place: Place) -> str:
    return f"{place[0]}:{place[1]}"


def _request(producer: Producer, correlation_id: int, error: str, offset: int) -> dict[str, object]:
    return {
        "transactional_id": producer.transactional_id,
        "client_id": producer.requester.client_id,
        "correlation_id": correlation_id,
        "error": error,
        "record_offset": offset,
    }
