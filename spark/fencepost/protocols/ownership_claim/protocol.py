"""What the audit of rebalances of classic groups brings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from fencepost.formats.request_log import every_line
from fencepost.protocols.base import Protocol
from fencepost.protocols.ownership_claim import tables

if TYPE_CHECKING:
    from fencepost.engines import Rows
    from fencepost.replay.evidence import Evidence


def _rebuild(given: Evidence) -> Mapping[str, Rows]:
    from fencepost.protocols.ownership_claim.rebuild import rebuild

    return rebuild(given)


PROTOCOL = Protocol(
    name="ownership_claim",
    package=Path(__file__).parent,
    tables=tables.TABLES,
    rebuild=_rebuild,
    requests=dict.fromkeys(("JOIN_GROUP", "SYNC_GROUP", "HEARTBEAT", "LEAVE_GROUP"), every_line),
)
