"""Bronze tables read from partitions' folders: the incarnation in each folder, and its leader epochs."""

from __future__ import annotations

from fencepost.tables import Table

_REPLICA = {
    "cluster": "string",
    "broker_id": "int",
    "topic": "string",
    "topic_id": "string",
    "partition": "int",
    # of the folder: live, delete (the topic is gone, or the replica moved), stray (it should not be here)
    "state": "string",
}
_READ = {
    "file": "string",
    "captured_at": "timestamp",  # when it was first read
}

PARTITION_FOLDERS = Table(
    "bronze.partition_folders",
    "One row per replica and state of its folder, of folders with a partition.metadata.",
    {**_REPLICA, **_READ},
    ("cluster", "broker_id", "topic", "topic_id", "partition", "state"),
    ("cluster",),
)

LEADER_EPOCH_CHECKPOINTS = Table(
    "bronze.leader_epoch_checkpoints",
    "One row per entry of a leader-epoch-checkpoint (EpochEntry), of each content it was found with; one row "
    "without an epoch for an empty list. A file without a byte, to which nothing was written, has no row.",
    {
        **_REPLICA,
        "content_digest": "string",  # of the whole file: it is replaced whenever an epoch begins or goes
        "leader_epoch": "int",
        "start_offset": "bigint",
        **_READ,
        "position": "bigint",
    },
    ("cluster", "broker_id", "topic", "topic_id", "partition", "state", "content_digest", "leader_epoch"),
    ("cluster",),
    offset_column="start_offset",
)
