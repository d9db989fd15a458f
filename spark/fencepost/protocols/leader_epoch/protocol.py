"""The protocol of leader epochs and incarnations of topics: everything that the audit asks of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fencepost.protocols.base import Command, Explanation, Plot, Protocol, Verdict
from fencepost.protocols.leader_epoch import bronze, handed_down_tables, offset_epoch, tables
from fencepost.protocols.leader_epoch.capture.lines import REQUESTS
from fencepost.protocols.leader_epoch.stored.arguments import options
from fencepost.reading import SqlFunction

if TYPE_CHECKING:
    import datetime as dt
    from argparse import Namespace

    import pyarrow as pa

    from fencepost.capture.kinds import Kind
    from fencepost.engines import Rows
    from fencepost.reading import Reader
    from fencepost.replay.evidence import Evidence


def _rebuild(evidence: Evidence) -> Mapping[str, Rows]:
    from fencepost.protocols.leader_epoch.rebuild import rebuild

    return rebuild(evidence)


def _kinds() -> tuple[Kind, ...]:
    from fencepost.protocols.leader_epoch.capture.partition_files import KINDS

    return KINDS


def _judge_offsets(reader: Reader, arguments: Namespace) -> tuple[pa.Table, bool]:
    from fencepost.protocols.leader_epoch.stored.command import run

    return run(reader, arguments)


def _report(reader: Reader) -> Callable[[str], list[str]]:
    from fencepost.protocols.leader_epoch.report import Incarnations

    return Incarnations(reader).lines


def _explain(reader: Reader, verdicts: Sequence[Verdict]) -> Mapping[str, Explanation]:
    from fencepost.protocols.leader_epoch.explanation import explain

    return explain(reader, verdicts)


def _names(reader: Reader) -> Mapping[str, str]:
    from fencepost.protocols.leader_epoch.explanation import topic_names

    return topic_names(reader)


def _read(
    reader: Reader, name: str, cluster: str | None, start: dt.datetime | None, end: dt.datetime | None
) -> Any:
    from fencepost.protocols.leader_epoch.plot import reading

    return reading.read(reader, name, cluster, start, end)


def _draw(timeline: Any, kind: str) -> tuple[bytes, str]:
    from fencepost.protocols.leader_epoch.plot import drawing

    return drawing.picture(timeline, kind)


PROTOCOL = Protocol(
    name="leader_epoch",
    tables=tables.TABLES,
    rebuild=_rebuild,
    handed_down=handed_down_tables.TABLES,
    report=_report,
    explain=_explain,
    names=_names,
    shown=("leader_epoch", "start_offset", "batches_start_offset"),
    plots=(Plot("--topic", "NAME", "a topic, with its incarnations and leaders", _read, _draw),),
    requests=REQUESTS,
    kinds=_kinds,
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
            _judge_offsets,
        ),
    ),
)
