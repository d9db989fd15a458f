"""The second step: every partition of ``__transaction_state``, as its coordinator replays it.

After org.apache.kafka.coordinator.transaction.TransactionStateManager, which loads one partition's log when
its broker becomes the leader.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.formats.decode import decode
from fencepost.protocols.producer_epoch import account, asked, fencings, init_producer_ids
from fencepost.protocols.producer_epoch.account import Replayed
from fencepost.protocols.producer_epoch.arrow import Key, Rows, split
from fencepost.protocols.producer_epoch.asked import Asked
from fencepost.protocols.producer_epoch.causes import Enders, Pair, granted_pairs
from fencepost.protocols.producer_epoch.coverage import LogKey, begins, is_whole, log_coverage
from fencepost.protocols.producer_epoch.fencings import Connection, Had
from fencepost.protocols.producer_epoch.init_producer_ids import Coordinator, InitRows, States
from fencepost.protocols.producer_epoch.producer_requests import END, INIT
from fencepost.protocols.producer_epoch.transaction_log import TransactionRecord, transaction_records
from fencepost.protocols.producer_epoch.transaction_metadata import TransactionMetadata, Transition
from fencepost.protocols.producer_epoch.transactions import Transaction, transactions
from fencepost.replay.columns import Columns
from fencepost.replay.keys import TRANSACTIONS_TOPIC, coordinator_partition, topic_key
from fencepost.replay.logs import Batches, Log, damaged_batches, unread_pieces
from fencepost.replay.metadata import ClusterMetadata
from fencepost.tables import (
    INIT_PRODUCER_ID_STATES,
    INIT_PRODUCER_IDS,
    LOG_COVERAGE,
    TRANSACTIONAL_IDS,
    TRANSACTIONS,
)

PARTITION = "coordinator_partition"


@dataclass(frozen=True)
class Coordinators:
    """What bronze and the request log hold of some coordinators' logs.

    Rows of ``bronze.batches``, ``.records``, ``.quarantine``, ``.cleaned``; ``requests``: rows of
    ``silver.producer_requests`` (asked.concerns_coordinators) with a column ``coordinator_partition``
    (coordinator_partitions); ``wrote``: what the first step gave (account.WROTE). Rows of other topics are
    left out.
    """

    batches: pa.Table
    records: pa.Table
    quarantine: pa.Table
    cleaned: pa.Table
    requests: pa.Table
    wrote: pa.Table


def homes(records: pa.Table) -> pa.Table:
    """Where transactional ids are, by their records: ``cluster``, ``transactional_id``,
    ``coordinator_partition`` and ``timestamp_ms`` of the newest record there.

    Only needed for clusters whose metadata log does not tell how many partitions the topic has.
    """
    wanted = pc.and_(pc.equal(records["topic"], TRANSACTIONS_TOPIC), pc.equal(records["record_type"], 0))
    rows = records.filter(pc.and_(wanted, pc.equal(records["decode_status"], "known")))
    named = pa.table(
        {
            "cluster": rows["cluster"],
            "transactional_id": decode("TransactionLog", "key", rows["key"]).values.field("transactional_id"),
            PARTITION: rows["partition"],
            "timestamp_ms": rows["timestamp_ms"],
        }
    )
    found = named.group_by(["cluster", "transactional_id", PARTITION]).aggregate([("timestamp_ms", "max")])
    return found.rename_columns(["cluster", "transactional_id", PARTITION, "timestamp_ms"])


def coordinator_partitions(
    requests: pa.Table, metadata: Mapping[str, ClusterMetadata], known: pa.Table | None = None
) -> pa.Array:
    """The partition of ``__transaction_state`` that each row of ``silver.producer_requests`` belongs to.

    Where the id's records are (``known``: homes), else where Kafka would put them; null without either, and
    without a transactional id.
    """
    newest: dict[tuple[str, str], tuple[int, int]] = {}
    if known is not None:
        for cluster, each, partition, ms in zip(*(known[n].to_pylist() for n in _HOMES), strict=True):
            newest[cluster, each] = max(newest.get((cluster, each), (ms, partition)), (ms, partition))
    counts = {name: each.partition_counts.get(TRANSACTIONS_TOPIC) for name, each in metadata.items()}
    places = split(requests, ("cluster", "transactional_id"), {"row": np.arange(requests.num_rows)})
    found: list[int | None] = [None] * requests.num_rows
    for (cluster, transactional_id), rows in places.items():
        if transactional_id is None:
            continue
        count = counts.get(cluster)
        home = newest.get((cluster, transactional_id))
        partition = home[1] if home else coordinator_partition(transactional_id, count) if count else None
        for row in rows["row"].tolist():
            found[row] = partition
    return pa.array(found, pa.int32())


_HOMES = ("cluster", "transactional_id", PARTITION, "timestamp_ms")


def replay_coordinators(
    given: Coordinators, metadata: Mapping[str, ClusterMetadata], tolerance_ms: int
) -> Replayed:
    """silver.transactional_ids, .transactions, .init_producer_ids, .init_producer_id_states, and
    silver.log_coverage of ``__transaction_state``.

    A log is given whole: its rows are those of one (cluster, partition of ``__transaction_state``), the
    requests those with this ``coordinator_partition``, which may be null. The account has rows of kinds
    LISTED, KNOWN, FENCED and COORDINATOR.
    """
    rows = _Tables()
    logs: dict[Key, list[_Evidence]] = {}
    for evidence in _evidence(given):
        logs.setdefault((evidence.key[0], evidence.key[2]), []).append(evidence)
    requests = split(given.requests, ("cluster", PARTITION), {"row": np.arange(given.requests.num_rows)})
    wrote = _wrote(given.wrote)
    for shard in sorted(logs.keys() | requests.keys(), key=str):
        cluster, partition = shard
        sent: list[Asked] = []
        if shard in requests:
            sent = asked.read(given.requests.take(pa.array(requests[shard]["row"])))
        known = metadata.get(cluster, ClusterMetadata())
        # a topic that was made again has logs of its own: requests are about the newest
        *older, newest = logs.get(shard, [_Evidence.nothing(given, cluster, partition)])
        for evidence in older:
            TransactionStateManager(evidence, known, (), {}, tolerance_ms).add_to(rows)
        had = wrote.get(cluster, {})
        TransactionStateManager(newest, known, sent, had, tolerance_ms).add_to(rows)
    return rows.replayed()


@dataclass(frozen=True)
class _Evidence:
    """The rows of one coordinator's log; without a partition key there is none."""

    key: tuple[str, str, int | None, str | None]
    batches: pa.Table
    records: pa.Table
    quarantine: pa.Table
    cleaned_to: Sequence[int]

    @classmethod
    def nothing(cls, given: Coordinators, cluster: str, partition: int | None) -> _Evidence:
        none = (table.slice(0, 0) for table in (given.batches, given.records, given.quarantine))
        return cls((cluster, TRANSACTIONS_TOPIC, partition, None), *none, ())


def _evidence(given: Coordinators) -> Iterable[_Evidence]:
    """Each log's, the newest incarnation of a partition last."""
    batches, records = (
        table.filter(pc.equal(table["topic"], TRANSACTIONS_TOPIC)) for table in (given.batches, given.records)
    )
    place = ("cluster", "partition", "topic_id")
    of_records = split(records, place, {"row": np.arange(records.num_rows)})
    cleaned = given.cleaned.filter(pc.equal(given.cleaned["topic"], TRANSACTIONS_TOPIC))
    found = []
    for key, rows in split(batches, place, {"row": np.arange(batches.num_rows)}).items():
        cluster, partition, topic_id = key
        mine = batches.take(pa.array(rows["row"]))
        own = of_records.get(key, {"row": np.empty(0, dtype=np.int64)})
        here = pc.and_(pc.equal(cleaned["cluster"], cluster), pc.equal(cleaned["partition"], partition))
        evidence = _Evidence(
            (cluster, TRANSACTIONS_TOPIC, partition, topic_key(topic_id, TRANSACTIONS_TOPIC, partition)),
            mine,
            records.take(pa.array(own["row"])),
            given.quarantine.filter(pc.equal(given.quarantine["cluster"], cluster)),
            cleaned.filter(here)["cleaned_to"].to_pylist(),
        )
        found.append((pc.max(mine["max_timestamp_ms"]).as_py(), str(key), evidence))
    return [evidence for _, _, evidence in sorted(found, key=lambda each: each[:2])]


def _wrote(rows: pa.Table) -> dict[str, dict[str, dict[Connection, list[Had]]]]:
    """What connections wrote: by cluster and transactional id ('' for none)."""
    found: dict[str, dict[str, dict[Connection, list[Had]]]] = {}
    names = (
        "cluster",
        "transactional_id",
        "broker_id",
        "connection",
        "at_ms",
        "producer_id",
        "producer_epoch",
    )
    for cluster, transactional_id, broker_id, connection, *had in zip(
        *(rows[name].to_pylist() for name in names), strict=True
    ):
        of_id = found.setdefault(cluster, {}).setdefault(transactional_id or "", {})
        of_id.setdefault((broker_id, connection), []).append(Had(*had))
    return found


class _Tables:
    """The rows of all shards."""

    def __init__(self) -> None:
        self.coverage = Columns(LOG_COVERAGE)
        self.ids = Columns(TRANSACTIONAL_IDS)
        self.transactions = Columns(TRANSACTIONS)
        self.inits = InitRows(Columns(INIT_PRODUCER_IDS), Columns(INIT_PRODUCER_ID_STATES))
        kinds = (account.LISTED, account.KNOWN, account.FENCED, account.COORDINATOR)
        self.told = {kind: Rows(account.schema_of(kind)) for kind in kinds}

    def replayed(self) -> Replayed:
        columns = (self.coverage, self.ids, self.transactions, self.inits.requests, self.inits.states)
        told = {kind: rows.to_arrow() for kind, rows in self.told.items()}
        return Replayed({each.table.name: each.to_arrow() for each in columns}, told)


@dataclass
class _Id:
    """One transactional id: its records, and what was asked for it."""

    records: list[TransactionRecord] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)


class TransactionStateManager:
    """One coordinator's log with the requests of its transactional ids."""

    def __init__(
        self,
        evidence: _Evidence,
        metadata: ClusterMetadata,
        sent: Sequence[Asked],
        wrote: Mapping[str, Mapping[Connection, Sequence[Had]]],
        tolerance_ms: int,
    ) -> None:
        self._tolerance_ms = tolerance_ms
        self._wrote = wrote
        self._cluster, _, self._partition, partition_key = evidence.key
        self._ids: dict[str, _Id] = {}
        self._unnamed: list[Asked] = []
        for each in sent:
            if each.transactional_id is None:
                self._unnamed.append(each)
            else:
                self._ids.setdefault(each.transactional_id, _Id()).asked.append(each)
        self._coordinator: Coordinator | None = None
        if partition_key is not None and self._partition is not None:
            key = (self._cluster, TRANSACTIONS_TOPIC, self._partition, partition_key)
            self._coordinator = self._load(evidence, key, metadata)
        self._fencing: dict[str, Pair] = {}

    def _load(self, evidence: _Evidence, key: LogKey, metadata: ClusterMetadata) -> Coordinator:
        pieces = [
            piece
            for piece in unread_pieces(evidence.quarantine)
            if (piece.topic, piece.partition) == (TRANSACTIONS_TOPIC, key[2])
        ]
        log = Log(
            Batches.of(evidence.batches),
            damaged=damaged_batches(evidence.records),
            cleaned_to=evidence.cleaned_to,
            unread=pieces,
        )
        for record in transaction_records(evidence.records, log):
            self._ids.setdefault(record.transactional_id, _Id()).records.append(record)
        for each in self._ids.values():
            each.pairs = granted_pairs(asked.granted(each.asked), each.records, self._tolerance_ms)
        pairs = (pair for each in self._ids.values() for pair in each.pairs)
        leaders = _leaders(metadata.leaders(TRANSACTIONS_TOPIC, key[2]), pairs)
        return Coordinator(key, log, leaders)

    def add_to(self, rows: _Tables) -> None:
        """Replay every transactional id, and add what comes of it."""
        coordinator = self._coordinator
        if coordinator is not None:
            log = coordinator.log
            log_coverage(rows.coverage, coordinator.key, log)
            known_ms = int(log.max_timestamp_ms.max())
            since_ms = None if log.base is None else log.base.ms
            fact = (is_whole(log), since_ms, known_ms)
            cluster, *place = coordinator.key
            rows.told[account.COORDINATOR].add(cluster, None, *place, *fact)
        for transactional_id, each in sorted(self._ids.items()):
            transitions = self._replay(each)
            found = transactions(transitions)
            if coordinator is not None:
                _add_history(rows, coordinator, transitions, found)
                ids = {t.record.producer_id for t in transitions if t.record.producer_id is not None}
                for producer_id in sorted(ids):
                    rows.told[account.KNOWN].add(self._cluster, producer_id, transactional_id, *fact)
            self._add_inits(rows, each, transitions)
            self._add_fencings(rows, transactional_id, each, transitions, found)
        for refusal in fencings.refusals(self._unnamed, self._wrote.get("", {}), self._tolerance_ms):
            fencings.add_idempotent(rows.told[account.FENCED], self._cluster, refusal)

    def _replay(self, each: _Id) -> list[Transition]:
        moves = [sent for sent in each.asked if sent.api_key in (INIT, END)]
        metadata = TransactionMetadata(Enders(moves, self._tolerance_ms))
        inits = {pair.record.offset: pair.asked for pair in each.pairs if pair.sure}
        return [
            metadata.replay(record, None if record.based else inits.get(record.offset))
            for record in each.records
        ]

    def _add_inits(self, rows: _Tables, each: _Id, transitions: Sequence[Transition]) -> None:
        inits = init_producer_ids.decided(each.asked)
        if not inits:
            return
        placed: dict[str, list[Pair]] = {}
        for pair in [*each.pairs, *_fencing(transitions)]:
            placed.setdefault(pair.asked.request_id, []).append(pair)
        init_producer_ids.add_rows(
            rows.inits,
            inits,
            placed,
            each.pairs,
            States(transitions, self._tolerance_ms),
            self._coordinator,
            cluster=self._cluster,
            partition=self._partition,
        )

    def _add_fencings(
        self,
        rows: _Tables,
        transactional_id: str,
        each: _Id,
        transitions: Sequence[Transition],
        found: Sequence[Transaction],
    ) -> None:
        wrote = self._wrote.get(transactional_id, {})
        refused = fencings.refusals(each.asked, wrote, self._tolerance_ms)
        if not refused:
            return
        log = None if self._coordinator is None else self._coordinator.log
        history, flying = fencings.Fences(transitions, log), fencings.OpenTransactions(found, log)
        for refusal in refused:
            fencing = history.of(refusal)
            if fencing is not None:
                fencings.add_fencing(rows.told[account.FENCED], self._cluster, fencing, flying)


def _leaders(elected: Mapping[int, int], pairs: Iterable[Pair]) -> dict[int, int | None]:
    """Who led the log, by leader epoch: whoever answered a request whose record is in it, else as elected."""
    answered: dict[int, set[int]] = {}
    for pair in pairs:
        if pair.sure:
            answered.setdefault(pair.record.leader_epoch, set()).add(pair.asked.broker_id)
    found: dict[int, int | None] = dict(elected)
    found.update({epoch: next(iter(each)) for epoch, each in answered.items() if len(each) == 1})
    return found


def _fencing(transitions: Iterable[Transition]) -> list[Pair]:
    """The InitProducerId requests that made a Prepare record.

    They are answered CONCURRENT_TRANSACTIONS once the record is written.
    """
    return [
        Pair(each.by, each.record, sure=True)
        for each in transitions
        if each.record.prepares and each.by is not None and each.by.api_key == INIT
    ]


def _add_history(
    rows: _Tables, coordinator: Coordinator, transitions: Sequence[Transition], found: Sequence[Transaction]
) -> None:
    stretches = {stretch.number: stretch for stretch in coordinator.log.stretches}
    for at, transition in enumerate(transitions):
        record = transition.record
        stretch = stretches[record.stretch]
        if transition.hidden and not record.based:
            start = begins(coordinator.log, stretch)
            if start < record.offset:
                _add_hidden(rows.ids, coordinator.key, record, start)
        if record.tombstone:
            continue
        following = transitions[at + 1].record if at + 1 < len(transitions) else None
        if following is not None and following.stretch == record.stretch:
            end, end_ms = following.offset, following.timestamp_ms
        else:
            end, end_ms = stretch.to_offset, None if stretch.to_offset is None else stretch.last_ms
        if end is None or record.offset < end:
            _add_state(rows.ids, coordinator.key, transition, end, end_ms)
    known_ms = int(coordinator.log.max_timestamp_ms.max())
    for transaction in found:
        is_last = stretches[transaction.stretch].to_offset is None
        _add_transaction(rows, coordinator.key, transaction, known_ms, is_last)


def _add_hidden(rows: Columns, key: LogKey, record: TransactionRecord, start: int) -> None:
    """An id whose past is hidden has a row of nulls from where its stretch begins."""
    nothing = [None] * (len(TRANSACTIONAL_IDS.columns) - len(key) - 5)
    rows.add(*key, record.transactional_id, *nothing, start, record.offset, None, record.timestamp_ms)


def _add_state(
    rows: Columns, key: LogKey, transition: Transition, end: int | None, end_ms: int | None
) -> None:
    record, last = transition.record, transition.last
    by = transition.by if transition.cause is not None else None
    rows.add(
        *key,
        record.transactional_id,
        record.status,
        record.producer_id,
        record.producer_epoch,
        record.previous_producer_id,
        record.next_producer_id,
        None if last is None else last.epoch,
        record.leader_epoch,
        record.transaction_version,
        record.timeout_ms,
        record.partitions,
        record.started_ms,
        transition.cause,
        None if by is None else by.request_id,
        None if by is None else by.client_id,
        None if by is None else by.connection,
        record.offset,
        end,
        record.timestamp_ms,
        end_ms,
    )


def _add_transaction(rows: _Tables, key: LogKey, of: Transaction, known_ms: int, is_last: bool) -> None:
    start, prepare, complete = of.start, of.prepare, of.complete
    outcome = of.outcome(is_last)
    late: bool | None = None if outcome is None else False
    if outcome == "open" and of.newest.timeout_ms is not None:
        late = known_ms - of.started_ms > of.newest.timeout_ms
    rows.transactions.add(
        *key,
        start.transactional_id,
        start.producer_id,
        start.producer_epoch,
        start.offset,
        prepare and prepare.offset,
        complete and complete.offset,
        of.started_ms,
        prepare and prepare.timestamp_ms,
        complete and complete.timestamp_ms,
        outcome,
        of.abort_cause,
        of.transaction_version,
        of.newest.timeout_ms,
        of.newest.partitions,
        late,
        known_ms,
    )
    listed: list[Any] = [
        start.producer_epoch,
        prepare and prepare.producer_epoch,
        prepare and prepare.leader_epoch,
        of.due_type,
        prepare and prepare.offset,
        complete and complete.offset,
        prepare and prepare.timestamp_ms,
    ]
    cluster, *place = key
    for name in of.newest.partitions:
        head = (cluster, start.producer_id, *place, of.stretch, start.transactional_id, name)
        rows.told[account.LISTED].add(*head, *listed)
