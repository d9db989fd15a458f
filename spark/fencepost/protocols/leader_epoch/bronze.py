"""Bronze tables read from partitions' folders: the incarnation in each folder, and its leader epochs."""

from __future__ import annotations

from fencepost.tables import Names, Table

_REPLICA = {
    "cluster": "string",
    "broker_id": "int",
    "topic": "string",
    "topic_id": "string",
    "partition": "int",
    # state of the folder: live, delete (its topic is gone, or the replica moved), stray (it does not belong
    # here)
    "state": "string",
}
_READ = {
    "file": "string",
    "captured_at": "timestamp",  # when it was first read
}

PARTITION_FOLDERS = Table(
    "bronze.partition_folders",
    "One row per replica and state of its folder, for folders that have a partition.metadata.",
    {**_REPLICA, **_READ},
    ("cluster", "broker_id", "topic", "topic_id", "partition", "state"),
    ("cluster",),
    is_unread_by_chapters=True,
)

LEADER_EPOCH_CHECKPOINTS = Table(
    "bronze.leader_epoch_checkpoints",
    "One row per entry (EpochEntry) in each captured content of a leader-epoch-checkpoint; one row without "
    "an epoch if the list is empty. A file without a byte, to which nothing was written yet, has no row.",
    {
        **_REPLICA,
        "content_digest": "string",  # of the whole file, which is replaced when an epoch begins or is removed
        "leader_epoch": "int",
        "start_offset": "bigint",
        **_READ,
        "position": "bigint",
    },
    ("cluster", "broker_id", "topic", "topic_id", "partition", "state", "content_digest", "leader_epoch"),
    ("cluster",),
    names={"content_digest": Names.NONE},
    offset_column="start_offset",
    content_column="content_digest",
)
