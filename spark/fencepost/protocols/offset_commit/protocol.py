"""The declaration of the audit of offset-commit fencing: its tables, requests, rebuild, report and plot."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fencepost.capture.plan import REQUEST_LOG
from fencepost.formats.request_log import every_line
from fencepost.protocols.base import Explanation, Plot, Protocol, Verdict
from fencepost.protocols.offset_commit import tables
from fencepost.replay.keys import METADATA_TOPIC, OFFSETS_TOPIC

if TYPE_CHECKING:
    import datetime as dt

    from fencepost.engines import Rows
    from fencepost.reading import Reader
    from fencepost.replay.evidence import Evidence


def _rebuild(evidence: Evidence) -> Mapping[str, Rows]:
    from fencepost.protocols.offset_commit.rebuild import rebuild

    return rebuild(evidence)


def _report(reader: Reader) -> Callable[[str], list[str]]:
    from fencepost.protocols.offset_commit.report import Commits

    return Commits(reader).lines


def _explain(reader: Reader, verdicts: Sequence[Verdict]) -> Mapping[str, Explanation]:
    from fencepost.protocols.offset_commit.report import explain

    return explain(reader, verdicts)


def _names(reader: Reader) -> Mapping[str, str]:
    from fencepost.protocols.offset_commit.report import topic_names

    return topic_names(reader)


def _read(
    reader: Reader, name: str, cluster: str | None, start: dt.datetime | None, end: dt.datetime | None
) -> Any:
    from fencepost.protocols.offset_commit.plot import reading

    return reading.read(reader, name, cluster, start, end)


def _draw(timeline: Any, kind: str) -> tuple[bytes, str]:
    from fencepost.protocols.offset_commit.plot import drawing

    return drawing.picture(timeline, kind)


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
        tables.UNLOGGED_COMMITS,
        tables.COMMIT_CLOCKS,
    ),
    clocks=(tables.COMMIT_CLOCKS,),
    unlogged=(tables.UNLOGGED_COMMITS,),
    rebuild=_rebuild,
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
    ),
    report=_report,
    explain=_explain,
    names=_names,
    plots=(Plot(None, "GROUP", "a consumer group, with its commits", _read, _draw),),
)
