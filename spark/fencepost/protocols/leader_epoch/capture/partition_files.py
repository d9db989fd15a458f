"""Rows from the folders of partitions: the topic id, and the leader epochs in the checkpoint."""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime

import pyarrow as pa

from fencepost.capture.files import content
from fencepost.capture.kinds import Kind
from fencepost.capture.log_dirs import PARTITION_METADATA
from fencepost.capture.plan import Source
from fencepost.capture.rows import OUTCOME, Rows, arrow_rows, outcome_of_content
from fencepost.formats.faults import Fault
from fencepost.formats.partition_files import ENTRY_SCHEMA, read_leader_epochs, topic_id_in
from fencepost.protocols.leader_epoch.bronze import LEADER_EPOCH_CHECKPOINTS, PARTITION_FOLDERS

_NO_ID = "the file names no topic id: copy it again, or see which topic its folder belongs to"


def checkpoint_rows(source: Source) -> Rows:
    """The entries of a ``leader-epoch-checkpoint`` as it is now, and the outcome of reading it."""
    data = content(source.file)
    entries = read_leader_epochs(data)
    batch = entries.rows
    if data and not batch.num_rows and not entries.faults:
        batch = pa.RecordBatch.from_pylist([{"position": 0}], ENTRY_SCHEMA)
    digest = hashlib.sha256(data).hexdigest()
    columns = {name: batch[name] for name in batch.schema.names}
    rows = {**columns, **_replica(source), "topic_id": source.topic_id, "content_digest": digest}
    yield LEADER_EPOCH_CHECKPOINTS, arrow_rows(LEADER_EPOCH_CHECKPOINTS, batch.num_rows, rows)
    yield OUTCOME, outcome_of_content(source, data, batch.num_rows, entries.faults)


def folder_rows(source: Source) -> Rows:
    """The folder that a ``partition.metadata`` lies in, and the outcome of reading it."""
    data = content(source.file)
    topic_id = topic_id_in(data)
    faults = [] if topic_id else [Fault(0, len(data), "bad_record", _NO_ID)]
    count = 1 - len(faults)
    yield PARTITION_FOLDERS, arrow_rows(PARTITION_FOLDERS, count, {**_replica(source), "topic_id": topic_id})
    yield OUTCOME, outcome_of_content(source, data, count, faults)


def _replica(source: Source) -> dict[str, object]:
    return {
        "cluster": source.cluster,
        "broker_id": source.broker_id,
        "topic": source.topic,
        "partition": source.partition,
        "state": source.state,
        "file": source.file,
        "captured_at": datetime.now(UTC),
    }


LEADER_EPOCHS = Kind(
    "leader_epoch_checkpoint",
    checkpoint_rows,
    (LEADER_EPOCH_CHECKPOINTS,),
    file=re.compile("leader-epoch-checkpoint"),
    in_place=True,
)
FOLDERS = Kind(
    "partition_metadata",
    folder_rows,
    (PARTITION_FOLDERS,),
    file=re.compile(re.escape(PARTITION_METADATA)),
    in_place=True,
)
KINDS = (LEADER_EPOCHS, FOLDERS)
