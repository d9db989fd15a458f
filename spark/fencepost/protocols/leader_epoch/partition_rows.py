"""The rows about partitions' logs: the replay of one captured log after the other, and the leader epochs of
logs that were not captured.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.leader_epoch.acknowledged import Answers
from fencepost.protocols.leader_epoch.captured_files import CapturedFiles
from fencepost.protocols.leader_epoch.checkpoints import checkpoints_by_log
from fencepost.protocols.leader_epoch.cluster import ClusterHistory
from fencepost.protocols.leader_epoch.known_batches import as_known
from fencepost.protocols.leader_epoch.log_batches import LogBatches, batches_by_log
from fencepost.protocols.leader_epoch.log_rows import TABLES, LogRows, request_columns
from fencepost.protocols.leader_epoch.metadata_epochs import metadata_epochs
from fencepost.protocols.leader_epoch.partition_logs import (
    LogPlace,
    PartitionLog,
)
from fencepost.protocols.leader_epoch.tables import (
    KNOWN_BATCHES,
    LEADER_EPOCHS,
)
from fencepost.protocols.leader_epoch.truncations import Truncations
from fencepost.replay.arrow_slices import filtered
from fencepost.replay.columns import Columns
from fencepost.replay.garbage_collection import collection_paused
from fencepost.replay.keys import METADATA_TOPIC
from fencepost.replay.logs import by_log
from fencepost.replay.unreadable import unread_by_log


@dataclass(frozen=True)
class PartitionEvidence:
    """Rows of bronze about whole partitions; ``quarantine`` and ``cleaned`` are about all partitions.

    ``files`` is by cluster. ``before``: rows of KNOWN_BATCHES of what is not read. ``in_zookeeper``: the
    clusters that keep their metadata there.
    """

    batches: pa.Table
    checkpoints: pa.Table
    quarantine: pa.Table
    cleaned: pa.Table
    files: Mapping[str, CapturedFiles] = field(default_factory=dict)
    before: pa.Table = field(default_factory=KNOWN_BATCHES.arrow_schema.empty_table)
    truncations: Truncations = field(default_factory=dict)
    answers: Answers = field(default_factory=dict)
    in_zookeeper: Collection[str] = ()


@collection_paused()
def replay_partitions(
    evidence: PartitionEvidence, histories: Mapping[str, ClusterHistory], dumped: Collection[str] = ()
) -> dict[str, pa.Table]:
    """The rows of TABLES; ``histories`` by cluster. ``dumped``: the clusters whose logs are dumped."""
    rows = {table.name: Columns(table) for table in TABLES}
    batches = batches_by_log(as_known(_without_metadata_log(evidence.batches)), evidence.before)
    last_read = {cluster: of.checkpoints for cluster, of in evidence.files.items()}
    checkpoints = checkpoints_by_log(evidence.checkpoints, last_read)
    nothing = LogBatches.of(KNOWN_BATCHES.arrow_schema.empty_table())
    known = [nothing.rows]
    unread, cleaned = (
        unread_by_log(evidence.quarantine),
        by_log(evidence.cleaned, "cluster", "topic", "partition"),
    )
    for key in sorted({*batches, *checkpoints}, key=str):
        place = LogPlace(*key)
        if place.topic == METADATA_TOPIC:
            continue
        cleaned_rows = cleaned.get((place.cluster, place.topic, place.partition))
        log = PartitionLog(
            place,
            batches.get(key, nothing),
            tuple(cleaned_rows["cleaned_to"].to_pylist()) if cleaned_rows else (),
            unread.get((place.cluster, place.topic, place.partition), []),
            evidence.files.get(place.cluster, CapturedFiles()),
        )
        in_zookeeper = place.cluster in evidence.in_zookeeper
        epochs = metadata_epochs(histories.get(place.cluster), place, in_zookeeper=in_zookeeper)
        cut = evidence.truncations.get((place.cluster, place.topic_id or "", place.partition), ())
        names = (place.topic, place.topic_id or "")
        keys = [(place.cluster, name, place.partition) for name in names]
        answers = [evidence.answers[each] for each in keys if each in evidence.answers]
        LogRows(rows, log, epochs, cut, answers).add(checkpoints.get(key, []))
        if place.cluster in dumped:
            known.append(log.dump())
    return {
        **{name: each.to_arrow() for name, each in rows.items()},
        KNOWN_BATCHES.name: pa.concat_tables(known),
    }


def _without_metadata_log(batches: pa.Table) -> pa.Table:
    return filtered(batches, pc.not_equal(batches["topic"], METADATA_TOPIC))


def never_captured(cluster: str, history: ClusterHistory, captured: Collection[tuple[str, str]]) -> pa.Table:
    """Rows of LEADER_EPOCHS of partitions that only the metadata log knows. ``captured``: cluster and
    partition key of each log that was captured.
    """
    rows = Columns(LEADER_EPOCHS)
    for life, partition in history.partitions():
        place = LogPlace(cluster, life.topic or "", *partition.id)
        if (cluster, place.key) in captured:
            continue
        for election in partition.elections:
            rows.add(
                *place.about, election.leader_epoch, election.leader, election.previous_leader,
                election.at.position, election.at.ms, election.how, *(None,) * 10, election.leaders_moved,
                election.failed_log_dir, *request_columns(election), None, True, 0, None, None, None,
            )  # fmt: skip
    return rows.to_arrow()
