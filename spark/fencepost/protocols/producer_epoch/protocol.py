"""PROTOCOL: the audit of producer epochs and transactions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fencepost.formats.request_log import every_line
from fencepost.protocols.base import Explanation, Plot, Protocol, Verdict
from fencepost.protocols.producer_epoch import tables

if TYPE_CHECKING:
    import datetime as dt

    from fencepost.engines import Rows
    from fencepost.reading import Reader
    from fencepost.replay.evidence import Evidence


def _rebuild(evidence: Evidence) -> Mapping[str, Rows]:
    from fencepost.protocols.producer_epoch.rebuild import rebuild

    return rebuild(evidence)


def _report(reader: Reader) -> Callable[[str], list[str]]:
    from fencepost.protocols.producer_epoch.report import Producers

    return Producers(reader).lines


def _explain(reader: Reader, verdicts: Sequence[Verdict]) -> Mapping[str, Explanation]:
    from fencepost.protocols.producer_epoch.explanation import explain

    return explain(reader, verdicts)


def _read(
    reader: Reader, name: str, cluster: str | None, start: dt.datetime | None, end: dt.datetime | None
) -> Any:
    from fencepost.protocols.producer_epoch.plot import reading

    return reading.read(reader, name, cluster, start, end)


def _draw(timeline: Any, kind: str) -> tuple[bytes, str]:
    from fencepost.protocols.producer_epoch.plot import drawing

    return drawing.picture(timeline, kind)


PROTOCOL = Protocol(
    name="producer_epoch",
    tables=tables.TABLES,
    clocks=(tables.TRANSACTION_CLOCKS,),
    rebuild=_rebuild,
    handed_down=tables.CARRIED,
    requests=dict.fromkeys(
        (
            "PRODUCE",
            "INIT_PRODUCER_ID",
            "ADD_PARTITIONS_TO_TXN",
            "ADD_OFFSETS_TO_TXN",
            "END_TXN",
            "WRITE_TXN_MARKERS",
            "TXN_OFFSET_COMMIT",
        ),
        every_line,
    ),
    report=_report,
    shown=(
        "transactional_id",
        "producer_id",
        "producer_epoch",
        "transaction_partition",
        "client_id",
        "connection",
        "provided_id",
        "provided_epoch",
        "commit",
        "verify_only",
        "error",
        "returned_id",
        "returned_epoch",
        "first_offset",
        "last_offset",
        "snapshot_offset",
        "again_offset",
        "original_offset",
        "due_type",
        "wrong_type",
        "wrong_client_id",
    ),
    explain=_explain,
    plots=(Plot("--transactional-id", "ID", "a transactional id, with its transactions", _read, _draw),),
)
