"""A cluster's metadata log as a sequence of what becomes visible together, and of what is missing.

As Kafka's MetadataLoader and MetadataBatchLoader read it: a batch at a time, the records of a transaction
(KIP-868) when it ends, those of an aborted one never. So does a controller that replays an abort; where more
records follow it in its batch, MetadataBatchLoader takes along what was aborted, which with a controller of
4.3 can only be bootstrap records. A snapshot is the whole image at its offset; one is taken where the log
before it is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.formats.decode import decode
from fencepost.replay.keys import METADATA_TOPIC
from fencepost.replay.logs import Batches, Log, by_log, damaged_batches, unread_pieces

NAMES = {
    0: "RegisterBrokerRecord",
    1: "UnregisterBrokerRecord",
    2: "TopicRecord",
    3: "PartitionRecord",
    4: "ConfigRecord",
    5: "PartitionChangeRecord",
    7: "FenceBrokerRecord",
    8: "UnfenceBrokerRecord",
    9: "RemoveTopicRecord",
    17: "BrokerRegistrationChangeRecord",
    23: "BeginTransactionRecord",
    24: "EndTransactionRecord",
    25: "AbortTransactionRecord",
    28: "ClearElrRecord",
}
"""The records that are replayed, by their apiKey."""

(
    REGISTER_BROKER, UNREGISTER_BROKER, TOPIC, PARTITION, CONFIG, PARTITION_CHANGE, FENCE_BROKER,
    UNFENCE_BROKER, REMOVE_TOPIC, BROKER_CHANGE, BEGIN_TRANSACTION, END_TRANSACTION, ABORT_TRANSACTION,
    CLEAR_ELR,
) = NAMES  # fmt: skip
_BRACKETS = (BEGIN_TRANSACTION, END_TRANSACTION, ABORT_TRANSACTION)
_LEADER_CHANGE = 2
_DAMAGED = ("malformed", "unknown_version")


@dataclass(frozen=True, slots=True)
class MetadataRecord:
    """One record of the metadata log; ``fields`` by Kafka's names in snake_case."""

    offset: int
    timestamp_ms: int
    type: int
    fields: Mapping[str, Any]

    @property
    def name(self) -> str:
        """What Kafka calls its type."""
        return NAMES[self.type]


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


@dataclass(frozen=True)
class Snapshot:
    """A ``.checkpoint`` file: the image before ``offset``; ``ms`` None where it does not tell its time.

    ``read`` gives its records, when they are asked for: of many snapshots few are.
    """

    offset: int
    epoch: int
    ms: int | None
    read: Callable[[], tuple[MetadataRecord, ...]] = tuple

    @cached_property
    def records(self) -> tuple[MetadataRecord, ...]:
        """What the image has."""
        return self.read()


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


def snapshots(rows: pa.Table) -> list[Snapshot]:
    """From rows of ``bronze.metadata_snapshots`` of one cluster; one with a damaged record is left out.

    Replicas may have written the same image in another order: one of them is taken.
    """
    found = []
    for (offset, epoch), of in sorted(by_log(rows, "snapshot_offset", "snapshot_epoch").items(), key=str):
        digest = min(of["content_digest"].to_pylist())
        one = of.filter(pc.equal(of["content_digest"], digest))
        if pc.any(pc.is_in(one["decode_status"], pa.array(_DAMAGED))).as_py():
            continue
        times = pc.filter(one["timestamp_ms"], pc.invert(one["is_control"]))
        found.append(Snapshot(int(str(offset)), int(str(epoch)), pc.max(times).as_py(), partial(_read, one)))
    return found


def _read(rows: pa.Table) -> tuple[MetadataRecord, ...]:
    return tuple(record for _, record in metadata_records(rows))


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


def metadata_records(
    rows: pa.Table, key: tuple[str, ...] = ()
) -> list[tuple[tuple[Any, ...], MetadataRecord]]:
    """The records that are replayed (NAMES), decoded, by offset.

    Each comes with its ``key``. ``rows`` have ``record_offset``, ``record_type``, ``decode_status`` and
    ``value`` as in ``bronze.records``.
    """
    known = pc.equal(rows["decode_status"], "known")
    rows = rows.filter(pc.and_(known, pc.is_in(rows["record_type"], pa.array(NAMES, pa.int32()))))
    found = []
    for number, name in NAMES.items():
        of_type = rows.filter(pc.equal(rows["record_type"], number))
        if not of_type.num_rows:
            continue
        values = decode(name, "value", of_type["value"]).values.to_pylist()
        times = of_type["timestamp_ms"].to_pylist()
        keys = zip(*(of_type[each].to_pylist() for each in key), strict=True) if key else [()] * len(values)
        found += [
            (of, MetadataRecord(offset, ms, number, value))
            for of, offset, ms, value in zip(
                keys, of_type["record_offset"].to_pylist(), times, values, strict=True
            )
            if value is not None
        ]
    return sorted(found, key=lambda each: (each[1].offset, each[1].timestamp_ms))
