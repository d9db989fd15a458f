"""What the audit of Kafka Streams' lag reports and state cleaner brings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fencepost.formats.request_log import every_line
from fencepost.protocols.base import Protocol, Told, Verdict
from fencepost.protocols.lag_report import bronze, tables

if TYPE_CHECKING:
    from fencepost.capture.kinds import Kind
    from fencepost.engines import Rows
    from fencepost.reading import Reader
    from fencepost.replay.evidence import Evidence


def _kinds() -> tuple[Kind, ...]:
    from fencepost.protocols.lag_report.logs import STREAMS_LOGS

    return (STREAMS_LOGS,)


def _rebuild(given: Evidence) -> Mapping[str, Rows]:
    from fencepost.protocols.lag_report.rebuild import rebuild

    return rebuild(given)


def _report(reader: Reader) -> Callable[[str], list[str]]:
    from fencepost.protocols.lag_report.report import StateDirectories

    return StateDirectories(reader).lines


def _tell(reader: Reader, verdicts: Sequence[Verdict]) -> Mapping[str, Told]:
    from fencepost.protocols.lag_report.telling import tell

    return tell(reader, verdicts)


PROTOCOL = Protocol(
    name="lag_report",
    package=Path(__file__).parent,
    tables=tables.TABLES,
    rebuild=_rebuild,
    kinds=_kinds,
    bronze=(bronze.STREAMS_LINES,),
    requests=dict.fromkeys(("JOIN_GROUP", "SYNC_GROUP"), every_line),
    report=_report,
    tell=_tell,
    shown=("task_id", "offset_sum", "deleted_by"),
)
