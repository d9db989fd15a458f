"""The first step: every partition that producers write to, from its own log."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.producer_epoch import account
from fencepost.protocols.producer_epoch.account import Account, Replayed
from fencepost.protocols.producer_epoch.arrow import (
    UNKNOWN,
    Gathered,
    Key,
    Longs,
    Named,
    Piece,
    longs,
    milliseconds,
    nullable,
    ranks,
    split,
)
from fencepost.protocols.producer_epoch.expiration import Expiration
from fencepost.protocols.producer_epoch.local_bumps import add_local_bumps, bumped
from fencepost.protocols.producer_epoch.log_before import following, logs_before
from fencepost.protocols.producer_epoch.partition_log import (
    BATCH,
    PartitionEvidence,
    PartitionLog,
)
from fencepost.protocols.producer_epoch.partition_slice import MARKER_TYPES, PartitionSlice, first_of_each
from fencepost.protocols.producer_epoch.producer_state import CAUSES
from fencepost.protocols.producer_epoch.snapshots import Snapshots
from fencepost.protocols.producer_epoch.stored_states import STORED
from fencepost.protocols.producer_epoch.tables import (
    LOCAL_BUMPS,
    LOG_COVERAGE,
    PARTITION_LOGS,
    PRODUCER_SNAPSHOTS,
    PRODUCER_STATES,
)
from fencepost.protocols.producer_epoch.verifications import BEGAN, VERIFIED, Began, answered_to, began
from fencepost.replay.columns import Columns
from fencepost.replay.coverage import LogKey, log_coverage
from fencepost.replay.keys import METADATA_TOPIC, TRANSACTIONS_TOPIC, topic_key
from fencepost.replay.logs import UnreadPiece, unread_pieces

PIECE_ROWS = 200_000
"""How many batches of producers make a piece of what is told."""

_PARTITION = ("cluster", "topic", "partition")
_INCARNATION = (*_PARTITION, "topic_id")
_LOG = (*_PARTITION, "partition_key")

BATCH_COLUMNS = (*_INCARNATION, *BATCH)
"""What is read of ``bronze.batches``."""

RECORD_COLUMNS = (*_INCARNATION, "base_offset", "leader_epoch", "record_type", "is_control", "value")
"""What is read of ``bronze.records``."""


@dataclass(frozen=True)
class Partitions:
    """What bronze and the request log hold of some partitions' logs.

    Rows of ``bronze.batches``, ``.records`` (control records), ``.producer_snapshots``,
    ``.aborted_transactions``, ``.quarantine``; ``answers``: rows of ``silver.producer_requests`` that have a
    ``base_offset``; ``before``: rows of PARTITION_LOGS that an earlier chapter gave. Rows of coordinators'
    and metadata logs are left out. ``alive``: by cluster, when its brokers wrote anything for the last time,
    as far as their own logs tell (ms). ``expirations``: by cluster, when its brokers forget producers.
    ``verified``: the transactional ids of which verifications.BEGAN is wanted. ``next_ms``: by cluster that
    has a next chapter, since when that reads logs.
    """

    batches: pa.Table
    records: pa.Table
    snapshots: pa.Table
    aborted: pa.Table
    quarantine: pa.Table
    answers: pa.Table
    alive: Mapping[str, int] = field(default_factory=dict)
    verified: pa.Table = field(default_factory=VERIFIED.empty_table)
    expirations: Mapping[str, Expiration] = field(default_factory=dict)
    before: pa.Table = field(default_factory=PARTITION_LOGS.arrow_schema.empty_table)
    next_ms: Mapping[str, int] = field(default_factory=dict)


def replay_partitions(given: Partitions, asking: Collection[str] = ()) -> Iterator[Replayed]:
    """silver.producer_states, .log_coverage, .producer_snapshots, .local_bumps of the logs given, in pieces;
    and verifications.BEGAN.

    A log is given whole: its rows are those of one (cluster, topic, partition). ``asking``: the connections
    of which the fencings need to know what they wrote (refusals.asking_connections). The account has rows of
    kinds HELD, MARKER, EPOCH, WROTE and LOG. Every row of a table, or of a kind, is in one piece; a piece
    has as much as some PIECE_ROWS batches tell.
    """
    answers = answered_to(given.answers, given.verified)
    columns = {"row": np.arange(answers.num_rows), "base_offset": longs(answers["base_offset"])}
    of_partitions = split(answers, _PARTITION, columns)
    piece = _Rows(given.answers, asking, answers)
    for evidence in _evidence(given):
        replayed = PartitionLog(evidence)
        snapshots, firsts = Snapshots(replayed, given.alive.get(evidence.key[0])), _FirstEpochs()
        begun = Began(of_partitions.get(evidence.key[:3]))
        for each in replayed.slices():
            if piece.count >= PIECE_ROWS:
                yield piece.replayed()
                piece = _Rows(given.answers, asking, answers)
            piece.add(evidence.key, each, snapshots, firsts, begun)
        piece.close(replayed, snapshots, firsts, begun)
    yield piece.replayed()


class _FirstEpochs:
    """When the producers of one log that have no transactions first wrote with each epoch."""

    def __init__(self) -> None:
        self._in_transactions = np.empty(0, dtype=np.int64)
        self._firsts: list[Piece] = []

    def add(self, of: PartitionSlice) -> None:
        self._in_transactions = np.union1d(self._in_transactions, of.in_transactions())
        firsts = of.first_epochs()
        idempotent = ~np.isin(firsts["producer_id"], self._in_transactions)
        self._firsts.append({name: column[idempotent] for name, column in firsts.items()})

    def columns(self) -> Piece:
        if not self._firsts:
            return first_of_each(*(np.empty(0, dtype=np.int64) for _ in range(3)))
        ids, epochs, ms = (
            np.concatenate([each[name] for each in self._firsts])
            for name in ("producer_id", "producer_epoch", "first_ms")
        )
        idempotent = ~np.isin(ids, self._in_transactions)
        return first_of_each(ids[idempotent], epochs[idempotent], ms[idempotent])


class _Rows:
    """What slices and whole logs tell, gathered until it is enough for a piece."""

    def __init__(self, answers: pa.Table, asking: Collection[str], verified: pa.Table) -> None:
        kinds = (account.HELD, account.MARKER, account.EPOCH, account.LOG)
        self.count = 0
        self._states = Gathered(PRODUCER_STATES.arrow_schema)
        self._coverage, self._snapshots = Columns(LOG_COVERAGE), Columns(PRODUCER_SNAPSHOTS)
        self._local_bumps, self._before = Columns(LOCAL_BUMPS), Columns(PARTITION_LOGS)
        self._kinds = {kind: Gathered(account.schema_of(kind)) for kind in kinds}
        self._asked = answers.filter(pc.is_in(answers["connection"], pa.array(sorted(asking), pa.string())))
        columns = {"row": np.arange(self._asked.num_rows), "base_offset": longs(self._asked["base_offset"])}
        self._questions = split(self._asked, _PARTITION, columns)
        self._wrote: list[tuple[Longs, Longs, Longs]] = []
        self._verified = verified
        self._began = [(np.empty(0, dtype=np.int64),) * 3]

    def add(
        self, log: LogKey, each: PartitionSlice, snapshots: Snapshots, firsts: _FirstEpochs, begun: Began
    ) -> None:
        """Take a slice."""
        key = dict(zip(_LOG, log, strict=True))
        rows, held, markers = each.producer_states(), each.held(), each.markers()
        snapshots.compare(rows)
        firsts.add(each)
        begun.add(held)
        causes, types = Named(rows["cause"], CAUSES), Named(markers["type"], MARKER_TYPES)
        self.count += len(rows["producer_id"])
        self._states.add(len(rows["producer_id"]), {**key, **rows, "cause": causes})
        self._kinds[account.HELD].add(len(held["producer_id"]), {**key, **held})
        self._kinds[account.MARKER].add(len(markers["producer_id"]), {**key, **markers, "type": types})
        asked = self._questions.get(log[:3])
        if asked:
            ids, epochs = each.wrote(asked["base_offset"])
            there = ids != UNKNOWN
            self._wrote.append((asked["row"][there], ids[there], epochs[there]))

    def close(self, replayed: PartitionLog, snapshots: Snapshots, firsts: _FirstEpochs, begun: Began) -> None:
        """Take what a log tells when all of it was seen."""
        key = dict(zip(_LOG, replayed.key, strict=True))
        epochs = firsts.columns()
        self._kinds[account.EPOCH].add(len(epochs["producer_id"]), {**key, **epochs})
        snapshots.add_to(self._snapshots)
        add_local_bumps(replayed, self._local_bumps)
        if replayed.evidence.next_ms is not None:
            at_cut = replayed.at_cut(bumped(replayed))
            if at_cut is not None:
                cluster, topic, partition, _ = replayed.key
                self._before.add(cluster, topic, replayed.evidence.topic_id, partition, at_cut.packed())
        self._began.append(begun.columns())
        if replayed.has_producers:
            log_coverage(self._coverage, replayed.key, replayed.log, replayed.dated)
        if len(replayed.log):
            (first, *others) = replayed.log.stretches
            unbroken = not others and first.to_offset is None
            before = replayed.evidence.before
            unbroken &= before is None or not before.stretch.is_broken
            whole = unbroken and first.number == 0
            self._kinds[account.LOG].add(1, {**key, "unbroken": unbroken, "whole": whole})

    def replayed(self) -> Replayed:
        """All of it."""
        tables = {
            PRODUCER_STATES.name: self._states.to_arrow(),
            LOG_COVERAGE.name: self._coverage.to_arrow(),
            PRODUCER_SNAPSHOTS.name: self._snapshots.to_arrow(),
            LOCAL_BUMPS.name: self._local_bumps.to_arrow(),
            PARTITION_LOGS.name: self._before.to_arrow(),
            # of all logs at once: taking rows costs a copy of each column, however few they are
            BEGAN.name: began(self._verified, *map(np.concatenate, zip(*self._began, strict=True))),
        }
        return Replayed(tables, self._account())

    def _account(self) -> Account:
        kinds = {kind: rows.to_arrow() for kind, rows in self._kinds.items()}
        kinds[account.WROTE] = self._wrote_by_connections()
        return kinds

    def _wrote_by_connections(self) -> pa.Table:
        schema = account.schema_of(account.WROTE)
        if not self._wrote:
            return schema.empty_table()
        at, ids, epochs = (np.concatenate(columns) for columns in zip(*self._wrote, strict=True))
        asked = self._asked.take(pa.array(at))
        given = {name: asked[name] for name in ("cluster", "broker_id", "connection", "transactional_id")}
        given["producer_id"] = nullable(ids, pa.int64())
        given["producer_epoch"] = nullable(epochs, pa.int32())
        given["at_ms"] = nullable(milliseconds(asked["responded_at"]), pa.int64())
        return pa.table([given[field.name] for field in schema], schema=schema)


def _evidence(given: Partitions) -> Iterator[PartitionEvidence]:
    rows = _of_partitions(given.batches)
    file, files = ranks(rows["file"])
    columns = {name: file if name == "file" else longs(rows[name]) for name in BATCH}
    batches = split(rows, _INCARNATION, columns)
    markers = _markers(given.records)
    entries = given.snapshots
    entry_file, entry_files = ranks(entries["file"])
    stored = {name: entry_file if name == "file" else longs(entries[name]) for name in STORED}
    snapshots = split(entries, _INCARNATION, stored)
    aborted = split(given.aborted, _INCARNATION, {name: longs(given.aborted[name]) for name in _ABORTED})
    answered = {
        "base_offset": longs(given.answers["base_offset"]),
        "responded_ms": milliseconds(given.answers["responded_at"]),
        "broker_id": longs(given.answers["broker_id"]),
    }
    answers = split(given.answers, _PARTITION, answered)
    unread, before = _unread(given.quarantine), logs_before(given.before)
    for key in sorted(batches.keys() | snapshots.keys() | before.keys(), key=str):
        cluster, topic, partition, topic_id = key
        yield PartitionEvidence(
            (cluster, topic, partition, topic_key(topic_id, topic, partition) or ""),
            following(batches.get(key, _none(BATCH)), before.get(key), len(files)),
            (*files, _NO_FILE) if before else files,
            markers.get(key, _none(_MARKER)),
            snapshots.get(key, _none(STORED)),
            entry_files,
            aborted.get(key, _none(_ABORTED)),
            unread.get(key[:3], ()),
            answers.get(key[:3], _none(answered)),
            given.expirations.get(cluster, Expiration()),
            topic_id,
            before.get(key),
            given.next_ms.get(cluster),
        )


def _of_partitions(batches: pa.Table) -> pa.Table:
    """The batches of partitions that producers write to."""
    topics = batches["topic"].combine_chunks().dictionary_encode()
    others = pc.is_in(topics.dictionary, pa.array([METADATA_TOPIC, TRANSACTIONS_TOPIC]))
    if not pc.any(others).as_py():
        return batches
    return batches.filter(pc.invert(others.take(topics.indices)))


_NO_FILE = "\U0010ffff"
"""Behind all names of files."""

_MARKER = ("base_offset", "leader_epoch", "record_type", "coordinator_epoch")
_ABORTED = ("broker_id", "segment_offset", "producer_id", "first_offset")


def _none(names: Collection[str]) -> Piece:
    return {name: np.empty(0, dtype=np.int64) for name in names}


def _markers(records: pa.Table) -> dict[Key, Piece]:
    """The end markers among the control records, as PartitionEvidence has them."""
    ends = pc.and_(
        pc.is_in(records["record_type"], pa.array(range(len(MARKER_TYPES)), pa.int32())),
        pc.greater_equal(pc.binary_length(records["value"]), 6),
    )
    rows = records.filter(pc.and_(records["is_control"], ends))
    # EndTransactionMarker: int16 version, int32 coordinator epoch
    epochs = b"".join(value[2:6] for value in rows["value"].to_pylist())
    columns = {name: longs(rows[name]) for name in _MARKER[:3]}
    columns["coordinator_epoch"] = np.frombuffer(epochs, dtype=">i4").astype(np.int64)
    return split(rows, _INCARNATION, columns)


def _unread(quarantine: pa.Table) -> dict[Key, list[UnreadPiece]]:
    found: dict[Key, list[UnreadPiece]] = {}
    for (cluster,), rows in split(quarantine, ("cluster",), {"at": np.arange(quarantine.num_rows)}).items():
        for piece in unread_pieces(quarantine.take(pa.array(rows["at"]))):
            found.setdefault((cluster, piece.topic, piece.partition), []).append(piece)
    return found
