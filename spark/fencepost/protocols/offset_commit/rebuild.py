"""The rebuild of consumer groups: every coordinator's log is replayed separately, on any engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

import pyarrow as pa

from fencepost.engines import Replay, Rows, on_engine
from fencepost.protocols.offset_commit.departures import APIS as DEPARTURE_APIS
from fencepost.protocols.offset_commit.departures import departures
from fencepost.protocols.offset_commit.forgotten_members import COLUMNS, ForgottenMembers
from fencepost.protocols.offset_commit.member_fencings import APIS as MEMBER_APIS
from fencepost.protocols.offset_commit.member_fencings import member_fencings
from fencepost.protocols.offset_commit.replay import GroupCoordinatorShard
from fencepost.protocols.offset_commit.requests import COMMIT_APIS
from fencepost.protocols.offset_commit.shard import APIS, decode_shard
from fencepost.protocols.offset_commit.share_groups.rebuild import share_redeliveries
from fencepost.protocols.offset_commit.tables import (
    COMMIT_CLOCKS,
    COMMIT_STATES,
    COMMITS,
    COVERAGE,
    GROUPS,
    MEMBER_DEPARTURES,
    MEMBER_FENCINGS,
    MEMBERS,
    OWNED_PARTITIONS,
    REVOKED_PARTITIONS,
    SHARE_REDELIVERIES,
    UNLOGGED_COMMITS,
)
from fencepost.replay.evidence import Evidence
from fencepost.replay.garbage_collection import collection_paused, give_back
from fencepost.replay.group_coordinator.group_replays import Facts, GroupReplay
from fencepost.replay.group_coordinator.spread import placement_and_facts, replayed
from fencepost.replay.request_clocks import line_time_rows
from fencepost.replay.silences import silences
from fencepost.tables import REQUESTS, Table

TABLES = (
    GROUPS,
    MEMBERS,
    OWNED_PARTITIONS,
    REVOKED_PARTITIONS,
    COVERAGE,
    COMMITS,
    COMMIT_STATES,
    UNLOGGED_COMMITS,
    COMMIT_CLOCKS,
)


def rebuild(evidence: Evidence) -> Mapping[str, Rows]:
    """The rows of TABLES, MEMBER_FENCINGS, MEMBER_DEPARTURES and SHARE_REDELIVERIES, by the table's name."""
    engine = evidence.engine
    of_all, (placement, facts) = evidence.once(replayed), evidence.once(placement_and_facts)
    rows = {table.name: of_all[table.name] for table in TABLES}
    forgotten = ForgottenMembers()
    if placement.logs:
        rows[MEMBERS.name] = engine.keep(rows[MEMBERS.name])
        columns = MEMBERS.schema_of(COLUMNS)
        members = engine.map(rows[MEMBERS.name], lambda each: each.select(list(COLUMNS)), columns)
        forgotten = ForgottenMembers.of(engine.collect(members), placement)
    # commits are many, and only those of forgotten members are looked for
    apis = {*MEMBER_APIS, *DEPARTURE_APIS, *(COMMIT_APIS if forgotten.last else ())}
    requests = engine.scan(REQUESTS, where=[{"api_key": frozenset(apis)}])
    fencings_of = partial(member_fencings, forgotten=forgotten)
    refused = engine.map(requests, fencings_of, MEMBER_FENCINGS.arrow_schema)
    left = engine.map(requests, departures, MEMBER_DEPARTURES.arrow_schema)
    again = share_redeliveries(evidence)
    findings = [*evidence.line_times.findings, *silences(evidence, facts.unread)]
    of_lines = line_time_rows(COMMIT_CLOCKS, findings)
    clocks = engine.union([rows[COMMIT_CLOCKS.name], on_engine(engine, COMMIT_CLOCKS, of_lines)])
    return {
        **rows,
        COMMIT_CLOCKS.name: clocks,
        MEMBER_FENCINGS.name: refused,
        MEMBER_DEPARTURES.name: left,
        SHARE_REDELIVERIES.name: again,
    }


def group_replay() -> GroupReplay:
    """The replay of each coordinator's log."""
    return GroupReplay(APIS, TABLES, _replay)


def _replay(facts: Facts, tolerance_ms: int) -> Replay:
    def run(shard: str, evidence: Mapping[str, pa.Table]) -> Iterable[tuple[Table, pa.Table]]:
        with collection_paused():
            give_back()
            rows = facts.rows_of(shard, evidence)
            metadata = facts.metadata_of(rows.cluster)
            # a group may have millions of lines: free each form of them as soon as the next one is made
            del evidence
            decoded = decode_shard(rows, metadata.topics)
            del rows
            give_back()
            shard_replay = GroupCoordinatorShard(decoded, metadata, tolerance_ms)
            del decoded
            yield from shard_replay.replay()

    return run
