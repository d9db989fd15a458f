"""The declaration of the audit of offset-commit fencing: its tables, requests, rebuild, report and plot."""

from __future__ import annotations

from fencepost.capture.plan import REQUEST_LOG
from fencepost.formats.request_log import every_line
from fencepost.protocols.base import Command, Context, Later, Plot, Protocol
from fencepost.protocols.offset_commit import tables
from fencepost.protocols.offset_commit.share_groups import lines as share_groups
from fencepost.protocols.offset_commit.simulation.arguments import options
from fencepost.replay.keys import METADATA_TOPIC, OFFSETS_TOPIC

PROTOCOL = Protocol(
    name="offset_commit",
    tables=(
        tables.GROUPS,
        tables.MEMBERS,
        tables.OWNED_PARTITIONS,
        tables.REVOKED_PARTITIONS,
        tables.COVERAGE,
        tables.COMMITS,
        tables.COMMIT_STATES,
        tables.MEMBER_FENCINGS,
        tables.MEMBER_DEPARTURES,
        tables.SHARE_REDELIVERIES,
        tables.UNLOGGED_COMMITS,
        tables.COMMIT_CLOCKS,
    ),
    clocks=(tables.COMMIT_CLOCKS,),
    unlogged=(tables.UNLOGGED_COMMITS,),
    rebuild=Later(f"{__package__}.rebuild:rebuild"),
    group_replay=Later(f"{__package__}.rebuild:group_replay"),
    rests_on=frozenset({REQUEST_LOG, OFFSETS_TOPIC, METADATA_TOPIC}),
    requests=dict.fromkeys(
        (
            "OFFSET_COMMIT",
            "TXN_OFFSET_COMMIT",
            "OFFSET_FETCH",
            "JOIN_GROUP",
            "SYNC_GROUP",
            "HEARTBEAT",
            "LEAVE_GROUP",
            "CONSUMER_GROUP_HEARTBEAT",
            "STREAMS_GROUP_HEARTBEAT",
            "SHARE_GROUP_HEARTBEAT",
        ),
        every_line,
    )
    | dict.fromkeys(share_groups.APIS.values(), share_groups.tells),
    report=Later(f"{__package__}.report:Commits"),
    explain=Later(f"{__package__}.report:explain"),
    names=Later(f"{__package__}.report:topic_names"),
    context=(
        Context(
            "silver.owned_partitions",
            "who owned the partition",
            ("group_id", "topic", "partition"),
            ("member_id", "pending_revocation", "assignment_epoch", "member_epoch"),
        ),
        Context(
            "silver.group_members",
            "the member",
            ("group_id", "member_id"),
            ("client_id", "state", "member_epoch", "previous_member_epoch"),
        ),
        Context(
            "silver.consumer_groups", "the group", ("group_id",), ("group_epoch", "target_assignment_epoch")
        ),
    ),
    commands=(
        Command(
            "simulate",
            "tell what another fencing policy, or another release of Kafka, would have answered to commits",
            options,
            Later(f"{__package__}.simulation.command:run"),
        ),
    ),
    plots=(
        Plot(
            None,
            "GROUP",
            "a consumer group, with its commits",
            "group_id",
            Later(f"{__package__}.plot.reading:read"),
            Later(f"{__package__}.plot.drawing:picture"),
        ),
    ),
)
