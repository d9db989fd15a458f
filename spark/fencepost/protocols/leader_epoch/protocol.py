"""What the audit of leader epochs and incarnations of topics brings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from fencepost.protocols.base import Protocol
from fencepost.protocols.leader_epoch import bronze, tables
from fencepost.protocols.leader_epoch.capture.lines import REQUESTS

if TYPE_CHECKING:
    from fencepost.capture.kinds import Kind
    from fencepost.engines import Rows
    from fencepost.replay.evidence import Evidence


def _rebuild(given: Evidence) -> Mapping[str, Rows]:
    from fencepost.protocols.leader_epoch.rebuild import rebuild

    return rebuild(given)


def _kinds() -> tuple[Kind, ...]:
    from fencepost.protocols.leader_epoch.capture.partition_files import KINDS

    return KINDS


PROTOCOL = Protocol(
    name="leader_epoch",
    package=Path(__file__).parent,
    tables=tables.TABLES,
    rebuild=_rebuild,
    requests=REQUESTS,
    kinds=_kinds,
    bronze=(bronze.PARTITION_FOLDERS, bronze.LEADER_EPOCH_CHECKPOINTS),
)
