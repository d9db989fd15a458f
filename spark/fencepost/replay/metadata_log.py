"""A cluster's metadata log as a sequence of pieces: records that become visible together, and holes.

It is read as by Kafka's MetadataLoader and MetadataBatchLoader: a batch at a time; the records of a
transaction (KIP-868) when it ends, those of an aborted one never. A controller that replays an abort does
the same. In one case MetadataBatchLoader differs: if more records follow an abort in its batch, it applies
the aborted records too. With a controller of 4.3 these can only be bootstrap records. A snapshot is the
whole image at its offset; it is used if the log before it is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.formats.decode import decode
from fencepost.replay.keys import METADATA_TOPIC
from fencepost.replay.logs import Batches, Log
from fencepost.replay.metadata_records import (
    ABORT_TRANSACTION,
    BEGIN_TRANSACTION,
    END_TRANSACTION,
    ZK_MIGRATION_STATE,
    MetadataRecord,
    Snapshot,
    metadata_records,
)
from fencepost.replay.unreadable import damaged_batches, unread_pieces

_BRACKETS = (BEGIN_TRANSACTION, END_TRANSACTION, ABORT_TRANSACTION)
_NEVER_MIGRATED = 0
"""ZkMigrationState.NONE."""
_LEADER_CHANGE = 2


@dataclass(frozen=True, slots=True)
class Commit:
    """Records that became visible together at an offset; those of a snapshot are the whole image."""

    position: int
    ms: int | None
    records: tuple[MetadataRecord, ...]
    is_snapshot: bool = False


@dataclass(frozen=True, slots=True)
class Hole:
    """Offsets are missing from ``position`` on; ``ms`` is the newest time before."""

    position: int
    ms: int | None


Piece = Commit | Hole


@dataclass(frozen=True, slots=True)
class ControllerTerm:
    """The batches of one leader of the metadata log. ``controller_id``: None if none of them names it. ``ms``
    and ``last_ms`` are the times of the first and the last batch.
    """

    position: int
    ms: int
    last_ms: int
    epoch: int
    controller_id: int | None


@dataclass(frozen=True)
class MetadataLog:
    """One cluster's metadata log: its ``pieces`` in order.

    ``known_to`` is the offset after the last one read, ``known_ms`` the newest time in the log.
    ``from_beginning``: it begins with offset 0, and the cluster had no metadata before: it was not migrated
    from ZooKeeper (``is_migrated``).
    """

    pieces: tuple[Piece, ...] = ()
    terms: tuple[ControllerTerm, ...] = ()
    known_to: int = 0
    known_ms: int | None = None
    from_beginning: bool = False
    is_migrated: bool = False

    @classmethod
    def of_records(cls, records: Iterable[MetadataRecord]) -> MetadataLog:
        """A log from offset 0 on in which each record became visible alone."""
        ordered = sorted(records, key=lambda each: (each.offset, each.timestamp_ms))
        pieces = tuple(Commit(each.offset, each.timestamp_ms, (each,)) for each in ordered)
        if not pieces:
            return cls()
        return cls(pieces, (), pieces[-1].position + 1, pieces[-1].ms, True)


def metadata_log(
    batches: pa.Table, records: pa.Table, quarantine: pa.Table, snapshots: Iterable[Snapshot] = ()
) -> MetadataLog:
    """The metadata log in rows of ``bronze.batches``, ``.records`` and ``.quarantine`` of one cluster.

    Rows of other logs are left out, and so are batches that a later controller overwrote.
    """
    batches, records = (rows.filter(pc.equal(rows["topic"], METADATA_TOPIC)) for rows in (batches, records))
    log = Log(
        Batches.of(batches),
        damaged=damaged_batches(records),
        unread=[piece for piece in unread_pieces(quarantine) if piece.topic == METADATA_TOPIC],
    )
    return assemble(log, _by_batch(records), snapshots, tuple(_terms(log, records)))


def assemble(
    log: Log,
    of_batch: Mapping[tuple[int, int], Sequence[MetadataRecord]],
    snapshots: Iterable[Snapshot] = (),
    terms: tuple[ControllerTerm, ...] = (),
) -> MetadataLog:
    """The metadata log from its batches (``log``); ``of_batch``: (base offset, leader epoch) ->
    the records.
    """
    by_offset = {each.offset: each for each in sorted(snapshots, key=lambda s: (s.offset, s.epoch))}
    pieces: list[Piece] = []
    newest = max((stretch.last_offset + 1 for stretch in log.stretches), default=0)
    for stretch in log.stretches:
        end = stretch.last_offset + 1
        whole = stretch.number == 0
        usable = [] if whole else [at for at in by_offset if stretch.from_offset <= at <= end]
        if not whole and not pieces:
            pieces.append(Hole(0, None))
        within = log.stretch == stretch.number
        commits = list(_commits(log, within.nonzero()[0].tolist(), of_batch))
        if usable:
            commits = _from_snapshot(by_offset[min(usable)], commits)
        pieces += commits
        if stretch.to_offset is not None:
            pieces.append(Hole(stretch.to_offset, stretch.last_ms))
    later = [at for at in by_offset if at > newest]
    if later:
        # no file of the log reaches the newest snapshot: from there on only the snapshot is known
        if not pieces or not isinstance(pieces[-1], Hole):
            pieces.append(Hole(newest, log.stretches[-1].last_ms if log.stretches else None))
        pieces.append(_commit_of(by_offset[max(later)]))
        newest = max(later)
    times = [piece.ms for piece in pieces if piece.ms is not None]
    times += [stretch.newest_ms for stretch in log.stretches]
    is_migrated = any(
        record.type == ZK_MIGRATION_STATE and record.fields["zk_migration_state"] != _NEVER_MIGRATED
        for piece in pieces
        if isinstance(piece, Commit)
        for record in piece.records
    )
    from_beginning = bool(log.stretches) and log.stretches[0].number == 0 and not is_migrated
    return MetadataLog(tuple(pieces), terms, newest, max(times, default=None), from_beginning, is_migrated)


def _from_snapshot(snapshot: Snapshot, commits: list[Commit]) -> list[Commit]:
    """The commits with the snapshot in its place; none of them lies on both sides of it."""
    before = [each for each in commits if each.position < snapshot.offset]
    after = [each for each in commits if each.position >= snapshot.offset]
    ms = next((each.ms for each in reversed(before)), snapshot.ms)
    return [*before, _commit_of(snapshot, ms), *after]


def _commit_of(snapshot: Snapshot, ms: int | None = None) -> Commit:
    # it is the image right before its offset, at which other records may have become visible
    before = max(snapshot.offset - 1, 0)
    return Commit(before, snapshot.ms if ms is None else ms, snapshot.records, True)


def _commits(
    log: Log, places: Sequence[int], of_batch: Mapping[tuple[int, int], Sequence[MetadataRecord]]
) -> Iterator[Commit]:
    """The records of each batch, and those of each transaction at its end; a transaction without an end is
    not visible yet.
    """
    batches = [(at, of_batch.get((int(log.base_offset[at]), int(log.leader_epoch[at])), ())) for at in places]
    brackets = (record.type for _, records in batches for record in records if record.type in _BRACKETS)
    # if the first of these records ends a transaction, all records before it belong to that transaction
    cut = next(brackets, BEGIN_TRANSACTION) != BEGIN_TRANSACTION
    transaction: list[MetadataRecord] | None = [] if cut else None
    for at, records in batches:
        visible: list[MetadataRecord] = []
        for record in records:
            if record.type == BEGIN_TRANSACTION:
                transaction = []
            elif record.type == ABORT_TRANSACTION:
                transaction = None
            elif record.type == END_TRANSACTION:
                visible += transaction or ()
                transaction = None
            else:
                (visible if transaction is None else transaction).append(record)
        if visible:
            yield Commit(int(log.base_offset[at]), int(log.max_timestamp_ms[at]), tuple(visible))


def _terms(log: Log, records: pa.Table) -> Iterator[ControllerTerm]:
    changes = records.filter(
        pc.and_(
            records["is_control"], pc.equal(records["record_type"], pa.scalar(_LEADER_CHANGE, pa.int32()))
        )
    )
    leaders: dict[int, int | None] = {}
    values = decode("LEADER_CHANGE", "value", changes["value"]).values.to_pylist() if changes.num_rows else []
    for epoch, value in zip(changes["leader_epoch"].to_pylist(), values, strict=True):
        if value is not None:
            leaders[epoch] = value["leader_id"]
    for term in log.terms(leaders):
        yield ControllerTerm(term.begins, term.first_ms, term.last_ms, term.leader_epoch, term.led_by)


def _by_batch(records: pa.Table) -> dict[tuple[int, int], list[MetadataRecord]]:
    records_of: dict[tuple[int, int], list[MetadataRecord]] = {}
    for (base, epoch), record in metadata_records(records, ("base_offset", "leader_epoch")):
        records_of.setdefault((base, epoch), []).append(record)
    return records_of
