"""The rebuild of classic groups' rebalances: each coordinator's log is replayed alone, on any engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.engines import Replay, Rows
from fencepost.protocols.ownership_claim.bronze import BROKER_LINES
from fencepost.protocols.ownership_claim.joins import APIS
from fencepost.protocols.ownership_claim.logs import REBALANCE_EVENTS
from fencepost.protocols.ownership_claim.shard import decode_shard, replay_shard
from fencepost.protocols.ownership_claim.tables import TABLES
from fencepost.replay.evidence import Evidence
from fencepost.replay.group_coordinator.group_replays import Facts, GroupReplay, Lines
from fencepost.replay.group_coordinator.records import CLASSIC_METADATA
from fencepost.replay.group_coordinator.spread import replayed
from fencepost.tables import Table


def rebuild(evidence: Evidence) -> Mapping[str, Rows]:
    """The rows of TABLES, by the table's name."""
    rows = evidence.once(replayed)
    return {table.name: rows[table.name] for table in TABLES}


def group_replay() -> GroupReplay:
    """The replay of each coordinator's log."""
    return GroupReplay(
        APIS, TABLES, _replay, ("file", "position"), (Lines(BROKER_LINES, [{"event": REBALANCE_EVENTS}]),)
    )


def _replay(facts: Facts, tolerance_ms: int) -> Replay:
    def run(shard: str, evidence: Mapping[str, pa.Table]) -> Iterable[tuple[Table, pa.Table]]:
        lines = evidence[BROKER_LINES.name]
        if not _has_classic_groups(evidence, lines):
            return []
        rows = facts.rows_of(shard, evidence)
        silver = replay_shard(decode_shard(rows, lines), facts.metadata_of(rows.cluster), tolerance_ms)
        return [(table, silver[table.name]) for table in TABLES]

    return run


def _has_classic_groups(evidence: Mapping[str, pa.Table], lines: pa.Table) -> bool:
    """Whether any record, request or coordinator's line of a shard is about a classic group."""
    is_classic = pc.equal(evidence["records"]["record_type"], CLASSIC_METADATA)
    return bool(evidence["requests"].num_rows or lines.num_rows or pc.any(is_classic).as_py())
