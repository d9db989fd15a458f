"""The files of a generated cluster: segments and the files beside them, request logs, a configuration."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import encoding
from consumers import Stored
from controller import Controller, Incarnation
from encoding import uuid_text
from request_lines import Line

_METADATA_ID = b"\0" * 15 + b"\1"
_CONTROLLER_EPOCH = 1
Batch = tuple[int, int, bytes]
"""A batch: leader epoch, number of records, and its bytes without the offset."""


def write_logs(folder: Path, cluster: Controller, stored: Sequence[Stored], offsets: Incarnation) -> int:
    """Write the metadata log, ``__consumer_offsets``, and the leader's log of each live partition; returns
    the number of records that are not of applications.
    """
    for broker_id in cluster.brokers:
        (folder / f"broker-{broker_id}" / "log_dir").mkdir(parents=True)
    metadata = [
        (_CONTROLLER_EPOCH, len(records), encoding.batch(records, ms, control=control, leader_epoch=1))
        for ms, records, control in cluster.batches
    ]
    commits = [(0, 1, commit_batch(each)) for each in sorted(stored, key=lambda each: each.ms)]
    _write_partition(folder, 1, "__cluster_metadata-0", uuid_text(_METADATA_ID), metadata)
    _write_partition(folder, 1, f"{offsets.topic}-0", offsets.topic_id, commits)
    for of in cluster.live.values():
        for number, each in enumerate(of.partitions if of is not offsets else ()):
            written = [
                (epoch, 1, encoding.batch([(None, b"x")], 0, leader_epoch=epoch))
                for epoch in range(len(each.led))
            ]
            _write_partition(folder, each.leader, f"{of.topic}-{number}", of.topic_id, written)
    return sum(count for _, count, _ in metadata) + len(commits)


def commit_batch(each: Stored) -> bytes:
    """The coordinator's batch of a committed offset, without its own offset."""
    record = encoding.commit_record(
        each.group,
        *each.place,
        topic_id=each.raw_id,
        offset=each.offset,
        now_ms=each.ms,
        leader_epoch=each.leader_epoch,
    )
    return encoding.batch([record], each.ms, sequence=0)


def _write_partition(
    folder: Path, broker_id: int, name: str, topic_id: str, batches: Sequence[Batch]
) -> None:
    place = folder / f"broker-{broker_id}" / "log_dir" / name
    place.mkdir()
    offset, data, epochs = 0, bytearray(), dict[int, int]()
    for epoch, count, batch in batches:
        epochs.setdefault(epoch, offset)
        data += encoding.placed(offset, batch)
        offset += count
    entries = "".join(f"{epoch} {start}\n" for epoch, start in epochs.items())
    (place / "00000000000000000000.log").write_bytes(data)
    (place / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}")
    (place / "leader-epoch-checkpoint").write_text(f"0\n{len(epochs)}\n{entries}")


def write_requests(folder: Path, brokers: Sequence[int], lines: Sequence[Line]) -> None:
    """Write each broker's lines, which are in the order of time."""
    files = {each: (folder / f"broker-{each}" / "kafka-request.log").open("w") for each in brokers}
    for line in lines:
        files[line.broker_id].write(line.text())
    for file in files.values():
        file.close()


def configuration(name: str, brokers: Sequence[int]) -> str:
    """``fencepost.toml``."""
    text = f'[[clusters]]\nname = "{name}"\n'
    for broker_id in brokers:
        text += (
            f'\n[[clusters.brokers]]\nid = {broker_id}\nlog_dirs = ["broker-{broker_id}/log_dir"]\n'
            f'request_logs = ["broker-{broker_id}/kafka-request.log*"]\ntimezone = "UTC"\n'
        )
    return text
