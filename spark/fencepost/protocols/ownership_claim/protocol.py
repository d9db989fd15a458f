"""PROTOCOL: the audit of rebalances of classic groups."""

from __future__ import annotations

from fencepost.capture.plan import REQUEST_LOG
from fencepost.formats.request_log import every_line
from fencepost.protocols.base import Context, Later, Plot, Protocol
from fencepost.protocols.ownership_claim import bronze, tables
from fencepost.replay.keys import METADATA_TOPIC, OFFSETS_TOPIC

PROTOCOL = Protocol(
    name="ownership_claim",
    tables=tables.TABLES,
    clocks=(tables.SYNC_CLOCKS,),
    rebuild=Later(f"{__package__}.rebuild:rebuild"),
    group_replay=Later(f"{__package__}.rebuild:group_replay"),
    rests_on=frozenset({REQUEST_LOG, OFFSETS_TOPIC, METADATA_TOPIC}),
    kinds=Later(f"{__package__}.logs:KINDS"),
    bronze=(bronze.BROKER_LINES, bronze.CONSUMER_LINES),
    requests=dict.fromkeys(("JOIN_GROUP", "SYNC_GROUP", "HEARTBEAT", "LEAVE_GROUP"), every_line),
    report=Later(f"{__package__}.report:Rebalances"),
    explain=Later(f"{__package__}.explanation:explain"),
    shown=("member_id", "claimed_generation", "contradicted_by"),
    context=(
        Context(
            "silver.group_generations",
            "the group's generations",
            ("group_id",),
            ("generation", "members", "protocol", "leader_client_id", "reason"),
        ),
    ),
    plots=(
        Plot(
            "--rebalances",
            "GROUP",
            "a classic group, with its rebalances and claims",
            "group_id",
            Later(f"{__package__}.plot.reading:read"),
            Later(f"{__package__}.plot.drawing:picture"),
        ),
    ),
)
