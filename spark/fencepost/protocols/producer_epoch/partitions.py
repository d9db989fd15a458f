"""The first step: the replay of every partition that producers write to, from its own log."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.producer_epoch.account import Replayed
from fencepost.protocols.producer_epoch.arrow import Key, Piece, longs, milliseconds, ranks, split
from fencepost.protocols.producer_epoch.expiration import Expiration
from fencepost.protocols.producer_epoch.first_segments import Begins
from fencepost.protocols.producer_epoch.log_state import UNKNOWN_LOG, empty
from fencepost.protocols.producer_epoch.marker_senders import SENT, sent_markers
from fencepost.protocols.producer_epoch.partition_log import BATCH, PartitionEvidence
from fencepost.protocols.producer_epoch.partition_rows import PARTITION, FirstEpochs, PartitionRows
from fencepost.protocols.producer_epoch.producer_state import MARKER_TYPES, NONE
from fencepost.protocols.producer_epoch.sliced_log import SlicedLog
from fencepost.protocols.producer_epoch.snapshots import Snapshots
from fencepost.protocols.producer_epoch.state import load_logs
from fencepost.protocols.producer_epoch.stored_states import STORED
from fencepost.protocols.producer_epoch.tables import LOG_STATES
from fencepost.protocols.producer_epoch.transaction_indexes import ENTRY
from fencepost.protocols.producer_epoch.verifications import VERIFIED, BegunTransactions, of_transactional_ids
from fencepost.replay.keys import METADATA_TOPIC, TRANSACTIONS_TOPIC, topic_key
from fencepost.replay.unreadable import unread_by_log
from fencepost.tables import CLEANED, LOG_STARTS

PIECE_ROWS = 200_000
"""How many batches of producers make one piece of the result."""

_INCARNATION = (*PARTITION, "topic_id")

BATCH_COLUMNS = (*_INCARNATION, *BATCH)
"""What is read of ``bronze.batches``."""

RECORD_COLUMNS = (*_INCARNATION, "base_offset", "leader_epoch", "record_type", "is_control", "value")
"""What is read of ``bronze.records``."""


@dataclass(frozen=True)
class Partitions:
    """The evidence of some partitions' logs. Rows of coordinators' logs and of metadata logs are ignored.

    ``batches``, ``records`` (control records), ``snapshots``, ``aborted``, ``cleaned``, ``quarantine``: rows
    of bronze. ``answers``: rows of ``silver.producer_requests`` that have a ``base_offset``; ``sent``: those
    that wrote markers (marker_senders.writing_markers). ``states``: rows of LOG_STATES. ``alive``: by
    cluster, the last time (ms) at which its metadata log was written. ``expirations``: by cluster, when its
    brokers forget producers. ``verified``: the transactional ids for which verifications.BEGAN is returned.
    ``dump_ms``: by cluster whose states are dumped, the time (state.dump_offset). ``created_once``: cluster
    and name of the topics that were created only once. ``gone``: by cluster, ClusterMetadata.gone.
    ``starts``: rows of ``bronze.log_starts``. ``first_segments``: where logs begin on disk.
    """

    batches: pa.Table
    records: pa.Table
    snapshots: pa.Table
    aborted: pa.Table
    quarantine: pa.Table
    answers: pa.Table
    sent: pa.Table
    tolerance_ms: int
    alive: Mapping[str, int] = field(default_factory=dict)
    verified: pa.Table = field(default_factory=VERIFIED.empty_table)
    expirations: Mapping[str, Expiration] = field(default_factory=dict)
    states: pa.Table = field(default_factory=LOG_STATES.arrow_schema.empty_table)
    dump_ms: Mapping[str, int] = field(default_factory=dict)
    created_once: Collection[tuple[str, str]] = ()
    gone: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    cleaned: pa.Table = field(default_factory=CLEANED.arrow_schema.empty_table)
    starts: pa.Table = field(default_factory=LOG_STARTS.arrow_schema.empty_table)
    first_segments: Begins = field(default_factory=dict)


def replay_partitions(
    partitions: Partitions, refused_connections: Collection[str] = ()
) -> Iterator[Replayed]:
    """silver.producer_states, .log_coverage, .producer_snapshots and .local_bumps of these logs, and
    verifications.BEGAN, in pieces.

    All evidence of a log must be given at once: its rows are those of one (cluster, topic, partition).
    ``refused_connections``: the connections of which fencings need the epochs that they wrote with
    (refusals.connections_refused_produce). The account has rows of the kinds PARTITION_TRANSACTION, MARKER,
    EPOCH, CONNECTION_EPOCH and LOG. Every row is in exactly one piece; a piece has the rows of some
    PIECE_ROWS batches.
    """
    answers = of_transactional_ids(partitions.answers, partitions.verified)
    answered_offsets = {"row": np.arange(answers.num_rows), "base_offset": longs(answers["base_offset"])}
    of_partitions = split(answers, PARTITION, answered_offsets)
    piece = PartitionRows(partitions.answers, partitions.sent, refused_connections, answers)
    for evidence in _evidence(partitions):
        replayed = SlicedLog(evidence)
        snapshots, firsts = Snapshots(replayed, partitions.alive.get(evidence.key[0])), FirstEpochs()
        begun = BegunTransactions(of_partitions.get(evidence.key[:3]))
        for each in replayed.slices():
            if piece.count >= PIECE_ROWS:
                yield piece.replayed()
                piece = PartitionRows(partitions.answers, partitions.sent, refused_connections, answers)
            piece.add(evidence.key, each, snapshots, firsts, begun)
        piece.close(replayed, snapshots, firsts, begun)
    yield piece.replayed()


def _evidence(partitions: Partitions) -> Iterator[PartitionEvidence]:
    rows = _of_partitions(partitions.batches)
    file, names = ranks(rows["file"])
    files = (*names, _NO_FILE)
    columns = {name: file if name == "file" else longs(rows[name]) for name in BATCH}
    batches = split(rows, _INCARNATION, columns)
    markers = _markers(partitions.records)
    entries = partitions.snapshots
    entry_file, entry_files = ranks(entries["file"])
    stored = {name: entry_file if name == "file" else longs(entries[name]) for name in STORED}
    snapshots = split(entries, _INCARNATION, stored)
    aborted = _indexes(partitions.aborted, partitions.quarantine)
    cleaned = split(partitions.cleaned, PARTITION, {"broker_id": longs(partitions.cleaned["broker_id"])})
    answer_columns = {
        "base_offset": longs(partitions.answers["base_offset"]),
        "requested_ms": milliseconds(partitions.answers["requested_at"]),
        "responded_ms": milliseconds(partitions.answers["responded_at"]),
        "broker_id": longs(partitions.answers["broker_id"]),
        "log_start_offset": longs(partitions.answers["log_start_offset"]),
    }
    answers = split(partitions.answers, PARTITION, answer_columns)
    sent = split(partitions.sent, PARTITION, sent_markers(partitions.sent))
    unread, states = unread_by_log(partitions.quarantine), load_logs(partitions.states)
    starts = {
        key: int(each["log_start_offset"].max())
        for key, each in split(
            partitions.starts,
            _INCARNATION,
            {"log_start_offset": longs(partitions.starts["log_start_offset"])},
        ).items()
    }
    for key in sorted(batches.keys() | snapshots.keys() | states.keys(), key=str):
        cluster, topic, partition, topic_id = key
        state = states.get(key, UNKNOWN_LOG)
        yield PartitionEvidence(
            (cluster, topic, partition, topic_key(topic_id, topic, partition) or ""),
            state.stretch.before(batches.get(key, empty(BATCH)), len(names)),
            files,
            markers.get(key, empty(_MARKER)),
            snapshots.get(key, empty(STORED)),
            entry_files,
            aborted.get(key, empty(ENTRY)),
            cleaned.get(key[:3], empty(("broker_id",))),
            unread.get(key[:3], ()),
            answers.get(key[:3], empty(answer_columns)),
            sent.get(key[:3], empty(SENT)),
            partitions.tolerance_ms,
            partitions.expirations.get(cluster, Expiration()),
            topic_id,
            state,
            partitions.dump_ms.get(cluster),
            key[:2] in partitions.created_once,
            partitions.gone.get(cluster, {}).get(topic_id or ""),
            starts.get(key, NONE),
            partitions.first_segments.get(key[:3], 0),
        )


def _of_partitions(batches: pa.Table) -> pa.Table:
    """The batches of partitions that producers write to."""
    topics = batches["topic"].combine_chunks().dictionary_encode()
    others = pc.is_in(topics.dictionary, pa.array([METADATA_TOPIC, TRANSACTIONS_TOPIC]))
    if not pc.any(others).as_py():
        return batches
    return batches.filter(pc.invert(others.take(topics.indices)))


_NO_FILE = "\U0010ffff"
"""Sorts behind all names of files."""

_MARKER = ("base_offset", "leader_epoch", "record_type", "coordinator_epoch")


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


def _indexes(entries: pa.Table, quarantine: pa.Table) -> dict[Key, Piece]:
    """The columns ENTRY of ``bronze.aborted_transactions``."""
    damaged = pc.unique(quarantine["file"].filter(pc.equal(quarantine["kind"], "aborted_index")))
    columns = {name: longs(entries[name]) for name in ENTRY[:-1]}
    columns["is_whole"] = longs(pc.invert(pc.is_in(entries["file"], damaged)))
    return split(entries, _INCARNATION, columns)
