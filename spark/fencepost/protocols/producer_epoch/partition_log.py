"""One partition that producers write to: its log as rows that are appended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from fencepost.protocols.producer_epoch.answer_times import AnswerTimes
from fencepost.protocols.producer_epoch.arrow import UNKNOWN, Longs, Piece
from fencepost.protocols.producer_epoch.expiration import Expiration
from fencepost.protocols.producer_epoch.log_state import UNKNOWN_LOG, LogState
from fencepost.protocols.producer_epoch.marker_senders import Senders, senders
from fencepost.protocols.producer_epoch.producer_state import DATA, MARKER, MARKER_TYPES, NONE
from fencepost.protocols.producer_epoch.state import dump_offset
from fencepost.protocols.producer_epoch.stored_states import stored_states
from fencepost.protocols.producer_epoch.stretches import Stretches
from fencepost.protocols.producer_epoch.transaction_indexes import TransactionIndexes
from fencepost.replay.coverage import LogKey
from fencepost.replay.keys import OFFSETS_TOPIC
from fencepost.replay.logs import Batches, Log
from fencepost.replay.unreadable import UnreadPiece

_SEQUENCES = 2**31
_LOG_APPEND_TIME = 8

BATCH = (
    "base_offset", "last_offset", "leader_epoch", "record_count", "max_timestamp_ms", "file", "position",
    "producer_id", "producer_epoch", "base_sequence", "is_transactional", "is_control", "broker_id",
    "attributes", "size", "crc", "base_timestamp_ms",
)  # fmt: skip
"""What is read of ``bronze.batches``; ``file`` is a place among the names of files."""


@dataclass(frozen=True)
class PartitionEvidence:
    """The evidence of one partition's log, in columns of integers.

    ``batches``: the columns BATCH; their ``file`` is a place in ``files``. ``markers``: ``base_offset``,
    ``leader_epoch``, ``record_type`` and ``coordinator_epoch`` of control records. ``snapshots``: STORED, of
    every replica; their ``file`` is a place in ``snapshot_files``. ``aborted``: transaction_indexes.ENTRY of
    ``.txnindex`` files; ``cleaned``: ``broker_id`` of the replicas that have a checkpoint of the log cleaner.
    ``unread``: pieces of its segments that could not be read. ``answers``: ``base_offset``, ``requested_ms``,
    ``responded_ms`` and ``broker_id`` of answers to Produce. ``sent``: marker_senders.SENT. ``expiration``:
    when brokers forget producers. ``state``: what is known of the log before what is read; the first of
    ``batches`` stand for that. ``dump_ms``: the time that says where its state is dumped (state.dump_offset).
    ``gone_ms``: when the topic was deleted, if it was. ``started``: the offset at which a replica's log began
    when it was captured, if its checkpoint has it. ``first_segment``: the offset of its first segment.
    """

    key: LogKey
    batches: Piece
    files: tuple[str, ...]
    markers: Piece
    snapshots: Piece
    snapshot_files: tuple[str, ...]
    aborted: Piece
    cleaned: Piece
    unread: Sequence[UnreadPiece]
    answers: Piece
    sent: Piece
    tolerance_ms: int
    expiration: Expiration = field(default_factory=Expiration)
    topic_id: str | None = None
    state: LogState = UNKNOWN_LOG
    dump_ms: int | None = None
    is_created_once: bool = False
    gone_ms: int | None = None
    started: int = NONE
    first_segment: int = 0

    def headers(self) -> Batches:
        """The headers of the batches, as Log takes them."""
        columns = {field: self.batches[field] for field in BATCH[:7]}
        return Batches(**columns, files=self.files)


class PartitionLog:
    """The log of one partition."""

    def __init__(self, evidence: PartitionEvidence) -> None:
        self.key = evidence.key
        self.evidence = evidence
        self.log = Log(evidence.headers(), unread=evidence.unread, whole_as_headers=True)
        self._stretches = Stretches.of(self.log)
        self._known = evidence.state.stretch
        self._stretches.complete[:1] |= self._known.is_complete
        self.dump_offset = self._dump_offset()
        self._types, self._coordinators = self._markers()
        self.senders = self._senders()
        # the group coordinator appends all offset commits at sequence 0: UnifiedLog checks sequences of
        # clients
        self._numbered = self.key[1] != OFFSETS_TOPIC
        self._producer_batches = np.flatnonzero(evidence.batches["producer_id"][self.log.rows] >= 0)
        self._starts = stored_states(evidence.snapshots, self._stretches, numbered=self._numbered)
        self.last_offset = int(self.log.last_offset.max()) if len(self.log) else NONE
        self.indexes = TransactionIndexes(
            evidence.aborted, self._aborts(), set(evidence.cleaned["broker_id"].tolist())
        )
        self.answer_times = AnswerTimes(evidence.answers, evidence.state)

    @property
    def dated(self) -> Longs:
        """The time of each batch by the clock of a broker; UNKNOWN where a client set it."""
        if not self._numbered:
            return self.log.max_timestamp_ms
        batches, rows = self.evidence.batches, self.log.rows
        by_broker = (batches["is_control"][rows] == 1) | (batches["attributes"][rows] & _LOG_APPEND_TIME != 0)
        return np.where(by_broker, self.log.max_timestamp_ms, UNKNOWN)

    def asked_ms(self) -> int:
        """When the newest Produce arrived whose batch the log has; UNKNOWN without one. A batch that was sent
        again is answered again, and counts when it was sent first.
        """
        answers = self.evidence.answers
        at = np.flatnonzero(answers["base_offset"] <= self.last_offset)
        order = np.lexsort((answers["requested_ms"][at], answers["base_offset"][at]))
        _, first = np.unique(answers["base_offset"][at][order], return_index=True)
        return int(answers["requested_ms"][at][order][first].max(initial=UNKNOWN))

    def log_start_offset(self) -> int | None:
        """Where the log began when a Produce of it was last answered, or by a replica's checkpoint; None
        without either. An answer may be about another topic of the same name, a checkpoint is not.
        """
        answers, started = self.evidence.answers, self.evidence.started
        if self.evidence.is_created_once:
            answered = answers["log_start_offset"][answers["base_offset"] <= self.last_offset]
            started = max(started, int(answered.max(initial=NONE)))
        return min(started, self.last_offset + 1) if started >= 0 else None

    @property
    def is_unbroken(self) -> bool:
        """Whether the log has no hole from where it is known on."""
        (first, *others) = self.log.stretches
        return not others and first.to_offset is None and not self.evidence.state.stretch.is_broken

    @property
    def is_shortened(self) -> bool:
        """Whether the log is known from where it begins by its broker, which has removed what was before."""
        start = max(self.log_start_offset() or 0, self.evidence.first_segment)
        if not len(self.log):
            return start > 0
        first = self.log.stretches[0]
        return self.is_unbroken and first.number != 0 and first.from_offset <= start

    @property
    def has_producers(self) -> bool:
        """Whether any batch in the log is of a producer with a producer id."""
        return len(self._producer_batches) > 0 or self._known.has_producers == 1

    def _dump_offset(self) -> int | None:
        """The offset at which its state is dumped; None if it is not."""
        if not len(self.log):
            return None
        base_offset, ms = (self.evidence.batches[name] for name in ("base_offset", "max_timestamp_ms"))
        is_read = base_offset >= self._known.to_offset
        end = int(self.log.last_offset.max()) + 1
        return dump_offset(base_offset[is_read], ms[is_read], end, self.evidence.dump_ms)

    def _rows(self, at: Longs) -> dict[str, Longs]:
        """Batches and markers at these places of the log, as rows to append."""
        log, batches = self.log, self.evidence.batches
        rows = log.rows[at]
        sequences = batches["base_sequence"][rows]
        base_offset, last_offset = log.base_offset[at], log.last_offset[at]
        last = np.full_like(sequences, NONE)
        if self._numbered:
            last = np.fmod(sequences + last_offset - base_offset, _SEQUENCES)
        return {
            "producer_id": batches["producer_id"][rows],
            "stretch": log.stretch[at] - (log.stretch[0] if len(log) else 0),
            "kind": np.where(batches["is_control"][rows] == 1, MARKER, DATA),
            "transactional": (batches["is_transactional"][rows] == 1).astype(np.int64),
            "epoch": batches["producer_epoch"][rows],
            "first_sequence": sequences,
            "last_sequence": last,
            "base_offset": base_offset,
            "last_offset": last_offset,
            "opens": base_offset,
            "coordinator_epoch": self._coordinators[at],
            "records": batches["record_count"][rows],
            "timestamp_ms": log.max_timestamp_ms[at],
            "newest_offset": base_offset,
            "marker_type": self._types[at],
            "row": rows,
        }

    def _markers(self) -> tuple[Longs, Longs]:
        """The type (place in MARKER_TYPES) and the coordinator's epoch of each batch that is a marker.

        A control batch whose record could not be read ends a transaction too; its type is UNKNOWN.
        """
        types = np.full(len(self.log), UNKNOWN, dtype=np.int64)
        coordinators = np.full(len(self.log), UNKNOWN, dtype=np.int64)
        markers = self.evidence.markers
        at = self.log.find_all(markers["base_offset"], markers["leader_epoch"])
        is_in_log = at >= 0
        types[at[is_in_log]] = markers["record_type"][is_in_log]
        coordinators[at[is_in_log]] = markers["coordinator_epoch"][is_in_log]
        return types, coordinators

    def _aborts(self) -> set[tuple[int, int]]:
        """Producer id and offset of each ABORT marker."""
        at = np.flatnonzero(self._types == MARKER_TYPES.index("ABORT"))
        producers = self.evidence.batches["producer_id"][self.log.rows[at]]
        return set(zip(producers.tolist(), self.log.base_offset[at].tolist(), strict=True))

    def _senders(self) -> Senders:
        """Who sent each batch that is a marker; UNKNOWN for all other batches."""
        batches, rows = self.evidence.batches, self.log.rows
        at = np.flatnonzero(batches["is_control"][rows] == 1)
        markers = {
            "producer_id": batches["producer_id"][rows[at]],
            "producer_epoch": batches["producer_epoch"][rows[at]],
            "type": self._types[at],
            "coordinator_epoch": self._coordinators[at],
            "timestamp_ms": self.log.max_timestamp_ms[at],
        }
        of_all = Senders(*(np.full(len(rows), UNKNOWN) for _ in Senders._fields))
        of_markers = senders(markers, self.evidence.sent, self.evidence.tolerance_ms)
        for column, values in zip(of_all, of_markers, strict=True):
            column[at] = values
        return of_all
