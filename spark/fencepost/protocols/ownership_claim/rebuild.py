"""The rebuild of classic groups' rebalances: each coordinator's log is replayed alone, on any engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.engines import Rows
from fencepost.protocols.ownership_claim.bronze import BROKER_LINES
from fencepost.protocols.ownership_claim.joins import APIS
from fencepost.protocols.ownership_claim.logs import REBALANCE_EVENTS
from fencepost.protocols.ownership_claim.shard import decode_shard, replay_shard
from fencepost.protocols.ownership_claim.tables import TABLES
from fencepost.replay.entities import with_entity
from fencepost.replay.evidence import Evidence
from fencepost.replay.group_coordinator.records import CLASSIC_METADATA
from fencepost.replay.group_coordinator.shards import shard_name
from fencepost.replay.group_coordinator.spread import Facts, spread
from fencepost.replay.placement import Placement
from fencepost.tables import Table

_COORDINATOR_LINES = "coordinator_lines"


def rebuild(evidence: Evidence) -> Mapping[str, Rows]:
    """The rows of TABLES, by the table's name."""
    engine = evidence.engine
    group_evidence = spread(evidence, APIS, ("file", "position"))
    lines = engine.scan(BROKER_LINES, where=[{"event": REBALANCE_EVENTS}])
    # a function that is sent to tasks must not refer to the engine's rows in the same object
    placement = group_evidence.placement
    coordinator_lines = with_entity(
        engine, BROKER_LINES, lines, lambda rows: _shards_of_groups(rows, placement)
    )
    replayed = _replay(group_evidence.facts, evidence.tolerance_ms)
    return engine.replay({**group_evidence.rows, _COORDINATOR_LINES: [coordinator_lines]}, replayed, TABLES)


def _replay(
    facts: Facts, tolerance_ms: int
) -> Callable[[str, Mapping[str, pa.Table]], Iterable[tuple[Table, pa.Table]]]:
    def run(shard: str, rows_by_kind: Mapping[str, pa.Table]) -> Iterable[tuple[Table, pa.Table]]:
        if not _has_classic_groups(rows_by_kind):
            return []
        rows = facts.rows_of(
            shard, {name: each for name, each in rows_by_kind.items() if name != _COORDINATOR_LINES}
        )
        metadata = facts.metadata_of(rows.cluster)
        silver = replay_shard(decode_shard(rows, rows_by_kind[_COORDINATOR_LINES]), metadata, tolerance_ms)
        return [(table, silver[table.name]) for table in TABLES]

    return run


def _has_classic_groups(rows_by_kind: Mapping[str, pa.Table]) -> bool:
    """Whether any record, request or coordinator's line of a shard is about a classic group."""
    is_classic = pc.equal(rows_by_kind["records"]["record_type"], CLASSIC_METADATA)
    return bool(
        rows_by_kind["requests"].num_rows
        or rows_by_kind[_COORDINATOR_LINES].num_rows
        or pc.any(is_classic).as_py()
    )


def _shards_of_groups(rows: pa.Table, placement: Placement) -> pa.Array:
    """The coordinator's log of each row's group; null without a group or a time."""
    columns = (rows[name].to_pylist() for name in ("cluster", "group_id", "broker_id", "logged_at_ms"))
    return pa.array(
        [
            None
            if group is None or ms is None
            else shard_name(cluster, *placement.home_of(cluster, group, broker_id, ms, ms))
            for cluster, group, broker_id, ms in zip(*columns, strict=True)
        ],
        pa.string(),
    )
