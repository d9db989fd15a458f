"""A cluster's metadata log as a sequence of what becomes visible together, and of what is missing.

As Kafka's MetadataLoader and MetadataBatchLoader read it: a batch at a time, the records of a transaction
(KIP-868) when it ends, those of an aborted one never. So does a controller that replays an abort; where more
records follow it in its batch, MetadataBatchLoader takes along what was aborted, which with a controller of
4.3 can only be bootstrap records. A snapshot is the whole image at its offset; one is taken where the log
before it is missing.
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
    MetadataRecord,
    Snapshot,
    metadata_records,
)
from fencepost.replay.unreadable import damaged_batches, unread_pieces

_BRACKETS = (BEGIN_TRANSACTION, END_TRANSACTION, ABORT_TRANSACTION)
_LEADER_CHANGE = 2


@dataclass(frozen=True, slots=True)
class Commit:
    """Records that became visible together at an offset; a snapshot's are all that there is."""

    position: int
    ms: int | None
    records: tuple[MetadataRecord, ...]
    is_snapshot: bool = False


@dataclass(frozen=True, slots=True)
class Hole:
    """Offsets from ``position`` on are missing; ``ms`` is the newest time before."""

    position: int
    ms: int | None


Piece = Commit | Hole


@dataclass(frozen=True, slots=True)
class ControllerTerm:
    """The batches of one leader of the metadata log: ``controller_id`` None where none of them tells it.

    ``ms`` and ``last_ms`` are the times of the first and the last one.
    """

    position: int
    ms: int
    last_ms: int
    epoch: int
    controller_id: int | None


@dataclass(frozen=True)
class MetadataLog:
    """One cluster's metadata log: ``pieces`` in its order.

    ``known_to`` is the first offset behind the last one read, ``known_ms`` the newest time in it;
    ``from_beginning``: it begins with offset 0, so that nothing was there before.
    """

    pieces: tuple[Piece, ...] = ()
    terms: tuple[ControllerTerm, ...] = ()
    known_to: int = 0
    known_ms: int | None = None
    from_beginning: bool = False

    @classmethod
    def of_records(cls, records: Iterable[MetadataRecord]) -> MetadataLog:
        """A log from offset 0 on in which each record was visible by itself."""
        ordered = sorted(records, key=lambda each: (each.offset, each.timestamp_ms))
        pieces = tuple(Commit(each.offset, each.timestamp_ms, (each,)) for each in ordered)
        if not pieces:
            return cls()
        return cls(pieces, (), pieces[-1].position + 1, pieces[-1].ms, True)


def metadata_log(
    batches: pa.Table, records: pa.Table, quarantine: pa.Table, snapshots: Iterable[Snapshot] = ()
) -> MetadataLog:
    """From rows of ``bronze.batches``, ``.records`` and ``.quarantine`` of one cluster.

    Rows of other logs are left out, and batches that a later controller wrote over.
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
    """A log whose batches are known, with the records of each by (base offset, leader epoch)."""
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
        # no file of the log reaches the newest snapshot, which is all that is known from there on
        if not pieces or not isinstance(pieces[-1], Hole):
            pieces.append(Hole(newest, log.stretches[-1].last_ms if log.stretches else None))
        pieces.append(_commit_of(by_offset[max(later)]))
        newest = max(later)
    known = [piece.ms for piece in pieces if piece.ms is not None]
    known += [stretch.newest_ms for stretch in log.stretches]
    begins = bool(log.stretches) and log.stretches[0].number == 0
    return MetadataLog(tuple(pieces), terms, newest, max(known, default=None), begins)


def _from_snapshot(snapshot: Snapshot, commits: list[Commit]) -> list[Commit]:
    """The commits with the snapshot in its place; None of them lies across it."""
    before = [each for each in commits if each.position < snapshot.offset]
    after = [each for each in commits if each.position >= snapshot.offset]
    ms = next((each.ms for each in reversed(before)), snapshot.ms)
    return [*before, _commit_of(snapshot, ms), *after]


def _commit_of(snapshot: Snapshot, ms: int | None = None) -> Commit:
    # it is what was so right before its offset, where other records may have become visible
    before = max(snapshot.offset - 1, 0)
    return Commit(before, snapshot.ms if ms is None else ms, snapshot.records, True)


def _commits(
    log: Log, places: Sequence[int], of_batch: Mapping[tuple[int, int], Sequence[MetadataRecord]]
) -> Iterator[Commit]:
    """A batch's records, or a transaction's at its end; one without an end is not visible yet."""
    batches = [(at, of_batch.get((int(log.base_offset[at]), int(log.leader_epoch[at])), ())) for at in places]
    brackets = (record.type for _, records in batches for record in records if record.type in _BRACKETS)
    # what is before the end of a transaction whose beginning is missing is of that transaction
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
    found: dict[tuple[int, int], list[MetadataRecord]] = {}
    for (base, epoch), record in metadata_records(records, ("base_offset", "leader_epoch")):
        found.setdefault((base, epoch), []).append(record)
    return found
