"""What the audit of rebalances of classic groups brings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from fencepost.formats.request_log import every_line
from fencepost.protocols.base import Protocol
from fencepost.protocols.ownership_claim import bronze, tables

if TYPE_CHECKING:
    from fencepost.capture.kinds import Kind
    from fencepost.engines import Rows
    from fencepost.replay.evidence import Evidence


def _rebuild(given: Evidence) -> Mapping[str, Rows]:
    from fencepost.protocols.ownership_claim.rebuild import rebuild

    return rebuild(given)


def _kinds() -> tuple[Kind, ...]:
    from fencepost.protocols.ownership_claim.logs import KINDS

    return KINDS


PROTOCOL = Protocol(
    name="ownership_claim",
    package=Path(__file__).parent,
    tables=tables.TABLES,
    rebuild=_rebuild,
    kinds=_kinds,
    bronze=(bronze.COORDINATOR_LINES, bronze.CONSUMER_LINES),
    requests=dict.fromkeys(("JOIN_GROUP", "SYNC_GROUP", "HEARTBEAT", "LEAVE_GROUP"), every_line),
)
