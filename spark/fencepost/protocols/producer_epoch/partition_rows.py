"""The rows of partitions' logs: those of silver and those of the account."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.producer_epoch import account
from fencepost.protocols.producer_epoch.account import Account, Replayed
from fencepost.protocols.producer_epoch.arrow import (
    UNKNOWN,
    CodedTexts,
    ColumnBuffer,
    Longs,
    Piece,
    longs,
    milliseconds,
    nullable,
    split,
)
from fencepost.protocols.producer_epoch.local_bumps import add_local_bumps, bumped
from fencepost.protocols.producer_epoch.partition_slice import PartitionSlice, first_of_each
from fencepost.protocols.producer_epoch.producer_state import CAUSES, MARKER_TYPES
from fencepost.protocols.producer_epoch.slice_states import producer_states
from fencepost.protocols.producer_epoch.slice_transactions import markers, partition_transactions
from fencepost.protocols.producer_epoch.sliced_log import SlicedLog
from fencepost.protocols.producer_epoch.snapshots import Snapshots
from fencepost.protocols.producer_epoch.state import dump_log
from fencepost.protocols.producer_epoch.tables import (
    LOCAL_BUMPS,
    LOG_COVERAGE,
    LOG_STATES,
    PRODUCER_SNAPSHOTS,
    PRODUCER_STATES,
)
from fencepost.protocols.producer_epoch.verifications import BEGAN, BegunTransactions, began
from fencepost.replay.columns import Columns
from fencepost.replay.coverage import LogKey, log_coverage

PARTITION = ("cluster", "topic", "partition")
_LOG = (*PARTITION, "partition_key")


class FirstEpochs:
    """When the producers of one log that have no transactions first wrote with each of their epochs."""

    def __init__(self) -> None:
        self._in_transactions = np.empty(0, dtype=np.int64)
        self._firsts: list[Piece] = []

    def add(self, partition_slice: PartitionSlice) -> None:
        self._in_transactions = np.union1d(self._in_transactions, partition_slice.in_transactions())
        firsts = partition_slice.first_epochs()
        idempotent = ~np.isin(firsts["producer_id"], self._in_transactions)
        self._firsts.append({name: column[idempotent] for name, column in firsts.items()})

    def columns(self) -> Piece:
        if not self._firsts:
            return first_of_each(*(np.empty(0, dtype=np.int64) for _ in range(3)))
        ids, epochs, ms = (
            np.concatenate([partition_slice[name] for partition_slice in self._firsts])
            for name in ("producer_id", "producer_epoch", "first_ms")
        )
        idempotent = ~np.isin(ids, self._in_transactions)
        return first_of_each(ids[idempotent], epochs[idempotent], ms[idempotent])


class PartitionRows:
    """The rows of slices and of whole logs, gathered until there are enough for a piece."""

    def __init__(
        self, answers: pa.Table, sent: pa.Table, refused_connections: Collection[str], verified: pa.Table
    ) -> None:
        kinds = (account.PARTITION_TRANSACTION, account.MARKER, account.EPOCH, account.LOG)
        self.count = 0
        self._states = ColumnBuffer(PRODUCER_STATES.arrow_schema)
        self._coverage, self._snapshots = Columns(LOG_COVERAGE), Columns(PRODUCER_SNAPSHOTS)
        self._local_bumps, self._log_states = Columns(LOCAL_BUMPS), Columns(LOG_STATES)
        self._kinds = {kind: ColumnBuffer(account.schema_of(kind)) for kind in kinds}
        self._senders = sent.select(["client_id", "connection"])
        self._refused_answers = answers.filter(
            pc.is_in(answers["connection"], pa.array(sorted(refused_connections), pa.string()))
        )
        columns = {
            "row": np.arange(self._refused_answers.num_rows),
            "base_offset": longs(self._refused_answers["base_offset"]),
        }
        self._refused_by_partition = split(self._refused_answers, PARTITION, columns)
        self._connection_epochs: list[tuple[Longs, Longs, Longs]] = []
        self._verified = verified
        self._began = [(np.empty(0, dtype=np.int64),) * 3]

    def add(
        self,
        log: LogKey,
        partition_slice: PartitionSlice,
        snapshots: Snapshots,
        firsts: FirstEpochs,
        begun_transactions: BegunTransactions,
    ) -> None:
        """Add the rows of a slice."""
        key = dict(zip(_LOG, log, strict=True))
        rows, transactions, ends = (
            producer_states(partition_slice),
            partition_transactions(partition_slice),
            markers(partition_slice),
        )
        snapshots.compare(rows)
        firsts.add(partition_slice)
        begun_transactions.add(transactions)
        causes, types = CodedTexts(rows["cause"], CAUSES), CodedTexts(ends["type"], MARKER_TYPES)
        self.count += len(rows["producer_id"])
        self._states.add(len(rows["producer_id"]), {**key, **rows, "cause": causes})
        self._kinds[account.PARTITION_TRANSACTION].add(
            len(transactions["producer_id"]), {**key, **transactions}
        )
        who = self._senders.take(nullable(ends["sent_row"], pa.int64()))
        sender = {name: who[name].combine_chunks() for name in who.column_names}
        self._kinds[account.MARKER].add(len(ends["producer_id"]), {**key, **ends, **sender, "type": types})
        refused = self._refused_by_partition.get(log[:3])
        if refused:
            ids, epochs = partition_slice.epochs_of_batches(refused["base_offset"])
            is_known = ids != UNKNOWN
            self._connection_epochs.append((refused["row"][is_known], ids[is_known], epochs[is_known]))

    def close(
        self,
        replayed: SlicedLog,
        snapshots: Snapshots,
        firsts: FirstEpochs,
        begun_transactions: BegunTransactions,
    ) -> None:
        """Add the rows that need the whole log, when all its slices have been added."""
        key = dict(zip(_LOG, replayed.key, strict=True))
        epochs = firsts.columns()
        self._kinds[account.EPOCH].add(len(epochs["producer_id"]), {**key, **epochs})
        snapshots.add_to(self._snapshots)
        add_local_bumps(replayed, self._local_bumps)
        if replayed.dump_offset is not None:
            state = replayed.state_at(replayed.dump_offset, bumped(replayed, replayed.dump_offset))
            if state is not None:
                cluster, topic, partition, _ = replayed.key
                self._log_states.add(cluster, topic, replayed.evidence.topic_id, partition, dump_log(state))
        self._began.append(begun_transactions.columns())
        if replayed.has_producers:
            log_key = (*replayed.key, replayed.log_start_offset())
            log_coverage(self._coverage, log_key, replayed.log, replayed.dated, replayed.evidence.gone_ms)
        if len(replayed.log):
            unbroken, shortened = replayed.is_unbroken, replayed.is_shortened
            whole = unbroken and replayed.log.stretches[0].number == 0
            times = {"dated_ms": int(replayed.dated.max()), "asked_ms": replayed.asked_ms()}
            known = {name: ms for name, ms in times.items() if ms != UNKNOWN}
            known["end_offset"] = replayed.last_offset + 1
            self._kinds[account.LOG].add(
                1, {**key, "unbroken": unbroken, "whole": whole, "shortened": shortened, **known}
            )

    def replayed(self) -> Replayed:
        """All rows added so far."""
        tables = {
            PRODUCER_STATES.name: self._states.to_arrow(),
            LOG_COVERAGE.name: self._coverage.to_arrow(),
            PRODUCER_SNAPSHOTS.name: self._snapshots.to_arrow(),
            LOCAL_BUMPS.name: self._local_bumps.to_arrow(),
            LOG_STATES.name: self._log_states.to_arrow(),
            # for all logs at once: each `take` costs a copy of every column, however few rows it takes
            BEGAN.name: began(self._verified, *map(np.concatenate, zip(*self._began, strict=True))),
        }
        return Replayed(tables, self._account())

    def _account(self) -> Account:
        kinds = {kind: rows.to_arrow() for kind, rows in self._kinds.items()}
        kinds[account.CONNECTION_EPOCH] = self._epochs_of_connections()
        return kinds

    def _epochs_of_connections(self) -> pa.Table:
        schema = account.schema_of(account.CONNECTION_EPOCH)
        if not self._connection_epochs:
            return schema.empty_table()
        at, ids, epochs = (np.concatenate(pieces) for pieces in zip(*self._connection_epochs, strict=True))
        refused = self._refused_answers.take(pa.array(at))
        columns = {name: refused[name] for name in ("cluster", "broker_id", "connection", "transactional_id")}
        columns["producer_id"] = nullable(ids, pa.int64())
        columns["producer_epoch"] = nullable(epochs, pa.int32())
        columns["at_ms"] = nullable(milliseconds(refused["responded_at"]), pa.int64())
        return pa.table([columns[field.name] for field in schema], schema=schema)
