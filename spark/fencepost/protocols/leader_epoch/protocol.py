"""What the audit of leader epochs and incarnations of topics brings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from fencepost.protocols.base import Command, Protocol, SqlFunction
from fencepost.protocols.leader_epoch import bronze, offset_epoch, tables
from fencepost.protocols.leader_epoch.capture.lines import REQUESTS
from fencepost.protocols.leader_epoch.stored.arguments import options

if TYPE_CHECKING:
    from argparse import Namespace

    import pyarrow as pa

    from fencepost.capture.kinds import Kind
    from fencepost.engines import Rows
    from fencepost.reading import Reader
    from fencepost.replay.evidence import Evidence


def _rebuild(given: Evidence) -> Mapping[str, Rows]:
    from fencepost.protocols.leader_epoch.rebuild import rebuild

    return rebuild(given)


def _kinds() -> tuple[Kind, ...]:
    from fencepost.protocols.leader_epoch.capture.partition_files import KINDS

    return KINDS


def _stored(reader: Reader, arguments: Namespace) -> tuple[pa.Table, bool]:
    from fencepost.protocols.leader_epoch.stored.command import run

    return run(reader, arguments)


PROTOCOL = Protocol(
    name="leader_epoch",
    package=Path(__file__).parent,
    tables=tables.TABLES,
    rebuild=_rebuild,
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
            _stored,
        ),
    ),
)
