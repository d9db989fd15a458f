"""What the audit of leader epochs and incarnations of topics brings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from fencepost.protocols.base import Protocol
from fencepost.protocols.leader_epoch import tables

if TYPE_CHECKING:
    from fencepost.engines import Rows
    from fencepost.replay.evidence import Evidence


def _rebuild(given: Evidence) -> Mapping[str, Rows]:
    from fencepost.protocols.leader_epoch.rebuild import rebuild

    return rebuild(given)


PROTOCOL = Protocol(
    name="leader_epoch",
    package=Path(__file__).parent,
    tables=tables.TABLES,
    rebuild=_rebuild,
)
