"""PROTOCOL: the audit of lag reports and of the state cleaner of Kafka Streams."""

from __future__ import annotations

from fencepost.capture.plan import REQUEST_LOG
from fencepost.formats.request_log import every_line
from fencepost.protocols.base import Later, Plot, Protocol
from fencepost.protocols.lag_report import bronze, tables
from fencepost.replay.keys import METADATA_TOPIC, OFFSETS_TOPIC


def _is_about_changelogs(line: bytes) -> bool:
    """Whether a line of ListOffsets or CreateTopics names a changelog of Kafka Streams."""
    return b'-changelog"' in line


PROTOCOL = Protocol(
    name="lag_report",
    tables=tables.TABLES,
    rebuild=Later(f"{__package__}.rebuild:rebuild"),
    rests_on=frozenset({REQUEST_LOG, OFFSETS_TOPIC, METADATA_TOPIC}),
    kinds=Later(f"{__package__}.logs:KINDS"),
    bronze=(bronze.STREAMS_LINES,),
    requests={
        **dict.fromkeys(("JOIN_GROUP", "SYNC_GROUP"), every_line),
        # the answers from which leaders know the ends of changelogs
        **dict.fromkeys(("LIST_OFFSETS", "CREATE_TOPICS"), _is_about_changelogs),
    },
    report=Later(f"{__package__}.report:StateDirectories"),
    explain=Later(f"{__package__}.explanation:explain"),
    shown=("task_id", "offset_sum", "deleted_by"),
    plots=(
        Plot(
            "--streams-instance",
            "NAME",
            "an instance of Kafka Streams, with its state directories",
            "instance",
            Later(f"{__package__}.plot.reading:read"),
            Later(f"{__package__}.plot.drawing:picture"),
        ),
    ),
)
