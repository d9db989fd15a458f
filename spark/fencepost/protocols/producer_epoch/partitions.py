"""The first step: every partition that producers write to, from its own log."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.producer_epoch.account import Replayed
from fencepost.protocols.producer_epoch.arrow import Key, Piece, longs, milliseconds, ranks, split
from fencepost.protocols.producer_epoch.expiration import Expiration
from fencepost.protocols.producer_epoch.handed_down_logs import following, handed_down_logs
from fencepost.protocols.producer_epoch.partition_log import BATCH, PartitionEvidence, PartitionLog
from fencepost.protocols.producer_epoch.partition_rows import PARTITION, FirstEpochs, PartitionRows
from fencepost.protocols.producer_epoch.slice_transactions import MARKER_TYPES
from fencepost.protocols.producer_epoch.snapshots import Snapshots
from fencepost.protocols.producer_epoch.stored_states import STORED
from fencepost.protocols.producer_epoch.tables import PARTITION_LOGS
from fencepost.protocols.producer_epoch.verifications import VERIFIED, BegunTransactions, answered_to
from fencepost.replay.keys import METADATA_TOPIC, TRANSACTIONS_TOPIC, topic_key
from fencepost.replay.unreadable import UnreadPiece, unread_pieces

PIECE_ROWS = 200_000
"""How many batches of producers make a piece of what is told."""

_INCARNATION = (*PARTITION, "topic_id")

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
    of_partitions = split(answers, PARTITION, columns)
    piece = PartitionRows(given.answers, asking, answers)
    for evidence in _evidence(given):
        replayed = PartitionLog(evidence)
        snapshots, firsts = Snapshots(replayed, given.alive.get(evidence.key[0])), FirstEpochs()
        begun = BegunTransactions(of_partitions.get(evidence.key[:3]))
        for each in replayed.slices():
            if piece.count >= PIECE_ROWS:
                yield piece.replayed()
                piece = PartitionRows(given.answers, asking, answers)
            piece.add(evidence.key, each, snapshots, firsts, begun)
        piece.close(replayed, snapshots, firsts, begun)
    yield piece.replayed()


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
    answers = split(given.answers, PARTITION, answered)
    unread, before = _unread(given.quarantine), handed_down_logs(given.before)
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
