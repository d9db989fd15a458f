"""The protocol of leader epochs and incarnations of topics: everything that the audit asks of it."""

from __future__ import annotations

from fencepost.protocols.base import Command, Context, Later, Plot, Protocol
from fencepost.protocols.leader_epoch import bronze, offset_epoch, tables
from fencepost.protocols.leader_epoch.capture.lines import REQUESTS
from fencepost.protocols.leader_epoch.stored.arguments import options
from fencepost.reading import SqlFunction

PROTOCOL = Protocol(
    name="leader_epoch",
    tables=tables.TABLES,
    rebuild=Later(f"{__package__}.rebuild:rebuild"),
    states=tables.STATES,
    report=Later(f"{__package__}.report:Incarnations"),
    explain=Later(f"{__package__}.explanation:explain"),
    names=Later(f"{__package__}.explanation:topic_names"),
    shown=("leader_epoch", "start_offset", "batches_start_offset"),
    context=(
        Context(
            "silver.partitions",
            "the partition",
            ("topic", "partition"),
            ("topic_id", "leader", "leader_epoch", "partition_epoch", "isr"),
        ),
    ),
    remedies={"marts.fct_orphaned_offsets": ("commit_id",)},
    plots=(
        Plot(
            "--topic",
            "NAME",
            "a topic, with its incarnations and leaders",
            "topic",
            Later(f"{__package__}.plot.reading:read"),
            Later(f"{__package__}.plot.drawing:picture"),
        ),
    ),
    requests=REQUESTS,
    kinds=Later(f"{__package__}.capture.partition_files:KINDS"),
    bronze=(bronze.PARTITION_FOLDERS, bronze.LEADER_EPOCH_CHECKPOINTS),
    functions=(
        SqlFunction("offset_epoch", offset_epoch.encode, ("int", "int"), "binary"),
        SqlFunction("leader_epoch_of", offset_epoch.leader_epoch_of, ("binary",), "int"),
        SqlFunction("partition_epoch_of", offset_epoch.partition_epoch_of, ("binary",), "int"),
    ),
    commands=(
        Command(
            "offsets",
            "tell which offsets that are stored outside Kafka are safe to seek to",
            options,
            Later(f"{__package__}.stored.command:run"),
        ),
    ),
)
