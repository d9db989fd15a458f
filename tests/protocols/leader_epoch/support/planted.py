"""Faults that no broker could be made to commit, written into the files of a copy of a real cluster.

Each is one edit; its checksums are right: an audit cannot tell the files from a broker's.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from pathlib import Path

from segments import append, batches_of, metadata_values

from fencepost.replay.keys import METADATA_TOPIC

SEGMENT = f"{0:020}.log"


def _log(folder: Path, partition: str) -> Path:
    return folder / "broker-1" / "log_dir" / partition / SEGMENT


def leader_epochs_begin_again(folder: Path) -> None:
    """A controller that lost records creates a partition that is there, at leader epoch 0."""
    metadata = _log(folder, f"{METADATA_TOPIC}-0")
    (topic,) = metadata_values(metadata, "TopicRecord", name="epochs")
    append(metadata, [each for each in metadata_values(metadata, "PartitionRecord") if topic[-17:-1] in each])


def broker_registers_at_an_old_epoch(folder: Path) -> None:
    """The broker's first registration once more."""
    metadata = _log(folder, f"{METADATA_TOPIC}-0")
    first, *_ = metadata_values(metadata, "RegisterBrokerRecord")
    append(metadata, [first])


def older_incarnation_gets_its_partition_later(folder: Path) -> None:
    """A topic is created twice; the partition of the older one comes after that of the newer."""
    metadata = _log(folder, f"{METADATA_TOPIC}-0")
    topic, *_ = metadata_values(metadata, "TopicRecord", name="stored")
    topic_id = topic[-17:-1]
    partition, *_ = [each for each in metadata_values(metadata, "PartitionRecord") if topic_id in each]
    older, newer = b"older incarnatio", b"newer incarnatio"
    append(
        metadata,
        [topic.replace(topic_id, older)],
        [record.replace(topic_id, newer) for record in (topic, partition)],
        [partition.replace(topic_id, older)],
    )


def deposed_leader_appends(folder: Path) -> None:
    """The first batch of a partition once more at its end, in the leader epoch that it had."""
    segment = _log(folder, "epochs-0")
    data, (first, *_, last) = segment.read_bytes(), batches_of(segment)
    assert first["leader_epoch"] < last["leader_epoch"]
    again = struct.pack(">q", last["last_offset"] + 1) + data[8 : first["size"]]
    segment.write_bytes(data + again)


FAULTS: Mapping[str, Callable[[Path], None]] = {
    "leader_epoch_never_falls": leader_epochs_begin_again,
    "broker_epoch_never_falls": broker_registers_at_an_old_epoch,
    "partition_epoch_grows": older_incarnation_gets_its_partition_later,
    "batch_leader_epochs_in_order": deposed_leader_appends,
}
"""The fault that each definition must see."""
