"""PROTOCOL: the audit of lag reports and of the state cleaner of Kafka Streams."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fencepost.capture.plan import REQUEST_LOG
from fencepost.formats.request_log import every_line
from fencepost.protocols.base import Explanation, Plot, Protocol, Verdict
from fencepost.protocols.lag_report import bronze, tables
from fencepost.replay.keys import METADATA_TOPIC, OFFSETS_TOPIC

if TYPE_CHECKING:
    import datetime as dt

    from fencepost.capture.kinds import Kind
    from fencepost.engines import Rows
    from fencepost.reading import Reader
    from fencepost.replay.evidence import Evidence


def _is_about_changelogs(line: bytes) -> bool:
    """Whether a line of ListOffsets or CreateTopics names a changelog of Kafka Streams."""
    return b'-changelog"' in line


def _kinds() -> tuple[Kind, ...]:
    from fencepost.protocols.lag_report.logs import STREAMS_LOGS

    return (STREAMS_LOGS,)


def _rebuild(evidence: Evidence) -> Mapping[str, Rows]:
    from fencepost.protocols.lag_report.rebuild import rebuild

    return rebuild(evidence)


def _report(reader: Reader) -> Callable[[str], list[str]]:
    from fencepost.protocols.lag_report.report import StateDirectories

    return StateDirectories(reader).lines


def _explain(reader: Reader, verdicts: Sequence[Verdict]) -> Mapping[str, Explanation]:
    from fencepost.protocols.lag_report.explanation import explain

    return explain(reader, verdicts)


def _read(
    reader: Reader, name: str, cluster: str | None, start: dt.datetime | None, end: dt.datetime | None
) -> Any:
    from fencepost.protocols.lag_report.plot import reading

    return reading.read(reader, name, cluster, start, end)


def _draw(timeline: Any, kind: str) -> tuple[bytes, str]:
    from fencepost.protocols.lag_report.plot import drawing

    return drawing.picture(timeline, kind)


PROTOCOL = Protocol(
    name="lag_report",
    tables=tables.TABLES,
    rebuild=_rebuild,
    rests_on=frozenset({REQUEST_LOG, OFFSETS_TOPIC, METADATA_TOPIC}),
    kinds=_kinds,
    bronze=(bronze.STREAMS_LINES,),
    requests={
        **dict.fromkeys(("JOIN_GROUP", "SYNC_GROUP"), every_line),
        # the answers from which leaders know the ends of changelogs
        **dict.fromkeys(("LIST_OFFSETS", "CREATE_TOPICS"), _is_about_changelogs),
    },
    report=_report,
    explain=_explain,
    shown=("task_id", "offset_sum", "deleted_by"),
    plots=(
        Plot(
            "--streams-instance",
            "NAME",
            "an instance of Kafka Streams, with its state directories",
            _read,
            _draw,
        ),
    ),
)
