"""The second step: every partition of ``__transaction_state``, as its coordinator replays it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.producer_epoch import request_rows
from fencepost.protocols.producer_epoch.account import Replayed
from fencepost.protocols.producer_epoch.arrow import longs
from fencepost.protocols.producer_epoch.coordinator_evidence import CoordinatorEvidence
from fencepost.protocols.producer_epoch.coordinator_rows import CoordinatorRows
from fencepost.protocols.producer_epoch.forgotten import Forgotten
from fencepost.protocols.producer_epoch.homes import PARTITION, TOPIC_ID
from fencepost.protocols.producer_epoch.id_state import Moment
from fencepost.protocols.producer_epoch.missing_lines import Numbering
from fencepost.protocols.producer_epoch.refusals import Connection, KnownEpoch
from fencepost.protocols.producer_epoch.state import dump_offset, load_ids
from fencepost.protocols.producer_epoch.tables import ID_STATES
from fencepost.protocols.producer_epoch.transaction_state_manager import TransactionStateManager
from fencepost.replay import logs
from fencepost.replay.compaction import checkpoints_of
from fencepost.replay.coordinator_logs import ONLY, UNKNOWN, CoordinatorLogs, Incarnation
from fencepost.replay.garbage_collection import collection_paused
from fencepost.replay.keys import TRANSACTIONS_TOPIC, topic_key
from fencepost.replay.line_times import LineTimes
from fencepost.replay.log_ends import Ends, end_of
from fencepost.replay.metadata import ClusterMetadata
from fencepost.replay.placement import UNTOLD
from fencepost.tables import REQUEST_IDS

Shard = tuple[str, int | None]
"""A cluster and a partition of ``__transaction_state``, None if it is not known."""

LOG = ("cluster", "topic", "partition", "topic_id")

BATCH_COLUMNS = (*LOG, *logs.BATCH_COLUMNS)
"""What is read of ``bronze.batches``."""

RECORD_COLUMNS = (
    *LOG, "base_offset", "leader_epoch", "record_offset", "timestamp_ms", "record_type", "decode_status",
    "is_control", "key", "value",
)  # fmt: skip
"""What is read of ``bronze.records``."""


@dataclass(frozen=True)
class Coordinators:
    """The evidence of some coordinators' logs. Rows of other topics are ignored.

    ``batches``, ``records``, ``quarantine``, ``cleaned``: rows of bronze. ``requests``: rows of
    ``silver.producer_requests`` (request_rows.concerns_coordinators, verifications.committed) and of
    verifications.BEGAN, with the columns homes.HOME.
    ``connection_epochs``: account.CONNECTION_EPOCH of the first step, for the ids of these logs. ``ends``:
    where logs end (log_ends.log_ends). ``states``: rows of ID_STATES;
    ``began``: by cluster and partition_key, the offsets from and to which a log was known where these states
    were dumped. ``dump_ms``: by cluster whose states are dumped, the time (state.dump_offset).
    ``line_times``: what times of lines are worth. ``logs``: by cluster, the incarnations
    of ``__transaction_state``. ``request_ids``: rows of bronze of the ids' clients. ``operated``: cluster and
    producer id of those of which an operator ended a transaction in some partition: nothing asks for
    verifications of others.
    """

    batches: pa.Table
    records: pa.Table
    quarantine: pa.Table
    cleaned: pa.Table
    requests: pa.Table
    connection_epochs: pa.Table
    ends: Ends = field(default_factory=dict)
    states: pa.Table = field(default_factory=ID_STATES.arrow_schema.empty_table)
    began: Mapping[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    dump_ms: Mapping[str, int] = field(default_factory=dict)
    line_times: LineTimes = field(default_factory=LineTimes)
    logs: Mapping[str, CoordinatorLogs] = field(default_factory=dict)
    request_ids: pa.Table = field(default_factory=REQUEST_IDS.arrow_schema.empty_table)
    operated: Collection[tuple[str, int]] = ()

    def logs_of(self, cluster: str) -> CoordinatorLogs:
        """The incarnations of ``__transaction_state`` in a cluster."""
        return self.logs.get(cluster, CoordinatorLogs())

    def numbering_of(self, cluster: str) -> Numbering:
        """The correlation ids of the clients of a cluster."""
        return Numbering(self.request_ids.filter(pc.equal(self.request_ids["cluster"], cluster)))


@collection_paused()
def replay_coordinators(
    coordinators: Coordinators, metadata: Mapping[str, ClusterMetadata], tolerance_ms: int
) -> Replayed:
    """silver.transactional_ids, .transactions, the tables of decided_requests.TABLES, and
    silver.log_coverage of ``__transaction_state``.

    All evidence of a log must be given at once: its rows are those of one (cluster, partition of
    ``__transaction_state``), its requests those with this ``coordinator_partition``, which may be null. The
    account has rows of the kinds LISTED_PARTITION, ANSWERED_TRANSACTION, NAMED_PRODUCER, FENCING and
    COORDINATOR.
    """
    rows = CoordinatorRows()
    found: dict[Shard, list[CoordinatorEvidence]] = {}
    for evidence in _evidence(coordinators):
        cluster, _, partition, _ = evidence.key
        found.setdefault((cluster, partition), []).append(evidence)
    requests = logs.by_log(coordinators.requests, "cluster", PARTITION, TOPIC_ID)
    connection_epochs = _connection_epochs(coordinators.connection_epochs)
    asked = {(cluster, partition) for cluster, partition, _ in requests}
    for shard in sorted(found.keys() | asked, key=str):
        of_metadata = metadata.get(shard[0], ClusterMetadata())
        line_times = coordinators.line_times.of(shard[0])
        epochs, forgotten = connection_epochs.get(shard[0], {}), Forgotten()
        numbering = coordinators.numbering_of(shard[0])
        topic_ids = [topic_id for cluster, partition, topic_id in requests if (cluster, partition) == shard]
        for evidence, of in _with_requests(coordinators, shard, found.get(shard, []), topic_ids):
            own = [request_rows.read_request_rows(requests[*shard, topic_id]) for topic_id in of]
            manager = TransactionStateManager(
                evidence,
                of_metadata,
                list(chain(*own)),
                epochs,
                tolerance_ms,
                line_times=line_times,
                numbering=numbering,
                operated=[ended for cluster, ended in coordinators.operated if cluster == shard[0]],
            )
            manager.add_to(rows, forgotten)
    return rows.replayed()


def _with_requests(
    coordinators: Coordinators,
    shard: Shard,
    found: Sequence[CoordinatorEvidence],
    topic_ids: Sequence[str | None],
) -> Iterator[tuple[CoordinatorEvidence, Sequence[str | None]]]:
    """The logs of a partition, each with those of ``topic_ids`` whose requests it decided; and the rest of
    these, without a log.
    """
    if not coordinators.logs_of(shard[0]).are_several:
        # without a metadata log two logs may be of one incarnation
        *older, newest = found or [_no_log(coordinators, shard, ONLY)]
        yield from ((evidence, ()) for evidence in older)
        yield newest, topic_ids
        return
    captured = {evidence.incarnation.topic_id for evidence in found}
    for evidence in found:
        yield evidence, [each for each in topic_ids if each == evidence.incarnation.topic_id]
    for topic_id in topic_ids:
        if topic_id is None or topic_id not in captured:
            incarnation = UNKNOWN if topic_id == UNTOLD else ONLY
            yield _no_log(coordinators, shard, incarnation), [topic_id]


def _no_log(coordinators: Coordinators, shard: Shard, incarnation: Incarnation) -> CoordinatorEvidence:
    batches, records, quarantine = (
        table.slice(0, 0) for table in (coordinators.batches, coordinators.records, coordinators.quarantine)
    )
    cluster, partition = shard
    key = (cluster, TRANSACTIONS_TOPIC, partition, None)
    return CoordinatorEvidence(key, batches, records, quarantine, (), incarnation)


def _evidence(coordinators: Coordinators) -> Iterable[CoordinatorEvidence]:
    """The evidence of each log, the newest incarnation of a partition last."""
    batches, of_records = logs.by_log(coordinators.batches, *LOG), logs.by_log(coordinators.records, *LOG)
    logs_of_shard, states = [], load_ids(coordinators.states)
    for key, log_batches in batches.items():
        cluster, topic, partition, topic_id = key
        if topic != TRANSACTIONS_TOPIC:
            continue
        incarnation = coordinators.logs_of(cluster).of(topic_id)
        partition_key = topic_key(topic_id, TRANSACTIONS_TOPIC, partition) or ""
        evidence = CoordinatorEvidence(
            (cluster, TRANSACTIONS_TOPIC, partition, partition_key),
            log_batches,
            of_records.get(key, coordinators.records.slice(0, 0)),
            coordinators.quarantine.filter(pc.equal(coordinators.quarantine["cluster"], cluster)),
            checkpoints_of(coordinators.cleaned, (cluster, TRANSACTIONS_TOPIC, topic_id, partition)),
            incarnation,
            end=end_of(coordinators.ends, cluster, partition, is_gone=incarnation.is_gone),
            states=states.get((cluster, partition_key), {}),
            began=coordinators.began.get((cluster, partition_key)),
            dumped_at=_dumped_at(log_batches, coordinators.dump_ms.get(cluster)),
        )
        newest_ms = pc.max(log_batches["max_timestamp_ms"]).as_py()
        logs_of_shard.append((incarnation.number, newest_ms, str(key), evidence))
    return [evidence for *_, evidence in sorted(logs_of_shard, key=lambda each: each[:3])]


def _dumped_at(batches: pa.Table, since_ms: int | None) -> Moment | None:
    base_offset, last_offset, ms = (
        longs(batches[name]) for name in ("base_offset", "last_offset", "max_timestamp_ms")
    )
    offset = dump_offset(base_offset, ms, int(last_offset.max()) + 1, since_ms)
    return None if offset is None or since_ms is None else Moment(offset, since_ms)


def _connection_epochs(rows: pa.Table) -> dict[str, dict[str, dict[Connection, list[KnownEpoch]]]]:
    """The epochs that connections wrote with, by cluster and transactional id ('' for none)."""
    logs_of_shard: dict[str, dict[str, dict[Connection, list[KnownEpoch]]]] = {}
    names = (
        "cluster",
        "transactional_id",
        "broker_id",
        "connection",
        "at_ms",
        "producer_id",
        "producer_epoch",
    )
    for cluster, transactional_id, broker_id, connection, *epoch in zip(
        *(rows[name].to_pylist() for name in names), strict=True
    ):
        of_id = logs_of_shard.setdefault(cluster, {}).setdefault(transactional_id or "", {})
        of_id.setdefault((broker_id, connection), []).append(KnownEpoch(*epoch))
    return logs_of_shard
