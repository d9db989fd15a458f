"""PROTOCOL: the audit of rebalances of classic groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fencepost.capture.plan import REQUEST_LOG
from fencepost.formats.request_log import every_line
from fencepost.protocols.base import Explanation, Plot, Protocol, Verdict
from fencepost.protocols.ownership_claim import bronze, tables
from fencepost.replay.keys import METADATA_TOPIC, OFFSETS_TOPIC

if TYPE_CHECKING:
    import datetime as dt

    from fencepost.capture.kinds import Kind
    from fencepost.engines import Rows
    from fencepost.reading import Reader
    from fencepost.replay.evidence import Evidence


def _rebuild(evidence: Evidence) -> Mapping[str, Rows]:
    from fencepost.protocols.ownership_claim.rebuild import rebuild

    return rebuild(evidence)


def _kinds() -> tuple[Kind, ...]:
    from fencepost.protocols.ownership_claim.logs import KINDS

    return KINDS


def _report(reader: Reader) -> Callable[[str], list[str]]:
    from fencepost.protocols.ownership_claim.report import Rebalances

    return Rebalances(reader).lines


def _explain(reader: Reader, verdicts: Sequence[Verdict]) -> Mapping[str, Explanation]:
    from fencepost.protocols.ownership_claim.explanation import explain

    return explain(reader, verdicts)


def _read(
    reader: Reader, name: str, cluster: str | None, start: dt.datetime | None, end: dt.datetime | None
) -> Any:
    from fencepost.protocols.ownership_claim.plot import reading

    return reading.read(reader, name, cluster, start, end)


def _draw(timeline: Any, kind: str) -> tuple[bytes, str]:
    from fencepost.protocols.ownership_claim.plot import drawing

    return drawing.picture(timeline, kind)


PROTOCOL = Protocol(
    name="ownership_claim",
    tables=tables.TABLES,
    clocks=(tables.SYNC_CLOCKS,),
    rebuild=_rebuild,
    rests_on=frozenset({REQUEST_LOG, OFFSETS_TOPIC, METADATA_TOPIC}),
    kinds=_kinds,
    bronze=(bronze.COORDINATOR_LINES, bronze.CONSUMER_LINES),
    requests=dict.fromkeys(("JOIN_GROUP", "SYNC_GROUP", "HEARTBEAT", "LEAVE_GROUP"), every_line),
    report=_report,
    explain=_explain,
    shown=("member_id", "claimed_generation", "contradicted_by"),
    plots=(Plot("--rebalances", "GROUP", "a classic group, with its rebalances and claims", _read, _draw),),
)
