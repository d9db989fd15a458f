"""The rebuild of classic groups' rebalances: every coordinator's log is replayed by itself, on any engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.engines import Rows
from fencepost.protocols.ownership_claim.bronze import COORDINATOR_LINES
from fencepost.protocols.ownership_claim.joins import APIS
from fencepost.protocols.ownership_claim.shard import decode_shard, replay_shard
from fencepost.protocols.ownership_claim.tables import TABLES
from fencepost.replay.entities import with_entity
from fencepost.replay.evidence import Evidence
from fencepost.replay.group_coordinator.records import CLASSIC_METADATA
from fencepost.replay.group_coordinator.shards import Placement, shard_name
from fencepost.replay.group_coordinator.spread import Facts, spread
from fencepost.tables import Table

_TOLD = "told"


def rebuild(given: Evidence) -> Mapping[str, Rows]:
    """The rows of TABLES, by the table's name."""
    engine = given.engine
    found = spread(given, APIS, ("file", "position"))
    lines = engine.scan(COORDINATOR_LINES)
    # what is sent to tasks must not name the rows beside it: they are the engine's
    placement = found.placement
    told = with_entity(engine, COORDINATOR_LINES, lines, lambda rows: _shards_of_groups(rows, placement))
    replayed = _replay(found.facts, given.tolerance_ms)
    return engine.replay({**found.rows, _TOLD: [told]}, replayed, TABLES)


def _replay(
    facts: Facts, tolerance_ms: int
) -> Callable[[str, Mapping[str, pa.Table]], Iterable[tuple[Table, pa.Table]]]:
    def run(shard: str, evidence: Mapping[str, pa.Table]) -> Iterable[tuple[Table, pa.Table]]:
        if not _has_classic_groups(evidence):
            return []
        rows = facts.rows_of(shard, {name: each for name, each in evidence.items() if name != _TOLD})
        known = facts.metadata_of(rows.cluster)
        found = replay_shard(decode_shard(rows, evidence[_TOLD]), known, tolerance_ms)
        return [(table, found[table.name]) for table in TABLES]

    return run


def _has_classic_groups(evidence: Mapping[str, pa.Table]) -> bool:
    """Whether anything in a shard speaks of one: a record, a request, or a line of its coordinator."""
    is_classic = pc.equal(evidence["records"]["record_type"], CLASSIC_METADATA)
    return bool(evidence["requests"].num_rows or evidence[_TOLD].num_rows or pc.any(is_classic).as_py())


def _shards_of_groups(rows: pa.Table, placement: Placement) -> pa.Array:
    """The coordinator's log of rows that name a group; null of others."""
    return pa.array(
        [
            None if group is None else shard_name(cluster, placement.partition_of(cluster, group))
            for cluster, group in zip(rows["cluster"].to_pylist(), rows["group_id"].to_pylist(), strict=True)
        ],
        pa.string(),
    )
