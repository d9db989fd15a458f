"""The rebuild of leader epochs and incarnations: steps that the engine spreads over what each replays.

1. Metadata logs, one for each cluster: here, since all that follows needs them.
2. Logs of partitions, and of ``__consumer_offsets`` the commits, each log for itself.
3. Clients, each with its lines of all brokers.
4. Groups: where commits of logs and of clients meet, and what clients were told to read from.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.capture.plan import SEGMENT
from fencepost.engines import Engine, Rows, on_engine
from fencepost.protocols.leader_epoch import clients, committed_offset_rows, log_rows
from fencepost.protocols.leader_epoch.admin import ADMIN_APIS, AdminRequests, admin_requests
from fencepost.protocols.leader_epoch.broker_fencings import fenced_brokers
from fencepost.protocols.leader_epoch.bronze import LEADER_EPOCH_CHECKPOINTS
from fencepost.protocols.leader_epoch.client_requests import CLIENT_REQUESTS, of_clients
from fencepost.protocols.leader_epoch.clients import replay_clients
from fencepost.protocols.leader_epoch.cluster import ClusterHistory
from fencepost.protocols.leader_epoch.cluster_evidence import ClusterEvidence, cluster_evidence
from fencepost.protocols.leader_epoch.cluster_replay import replay
from fencepost.protocols.leader_epoch.commit_facts import Groups
from fencepost.protocols.leader_epoch.commit_lines import COMMIT_LINES
from fencepost.protocols.leader_epoch.commits import RECORD_COLUMNS, RECORD_TYPES, STORED, stored_offsets
from fencepost.protocols.leader_epoch.committed_offset_rows import committed_offsets
from fencepost.protocols.leader_epoch.controller_fencings import deposed_controllers
from fencepost.protocols.leader_epoch.fencings import REFUSABLE, refused_requests
from fencepost.protocols.leader_epoch.handed_down_batches import READ
from fencepost.protocols.leader_epoch.handed_down_tables import HANDED_BATCHES, HANDED_CLIENTS, TRUNCATED
from fencepost.protocols.leader_epoch.lines import CLIENT_APIS, FETCH, PRODUCE
from fencepost.protocols.leader_epoch.metadata_rows import TABLES as METADATA_TABLES
from fencepost.protocols.leader_epoch.metadata_rows import metadata_rows
from fencepost.protocols.leader_epoch.partition_rows import (
    PartitionEvidence,
    never_captured,
    replay_partitions,
)
from fencepost.protocols.leader_epoch.states import MET_FETCHES, rows_of, states_of
from fencepost.protocols.leader_epoch.tables import (
    FETCH_POSITION_STATES,
    FETCH_POSITIONS,
    LEADER_EPOCH_FENCINGS,
    LEADER_EPOCHS,
    METADATA_COVERAGE,
    PARTITION_EXTENTS,
)
from fencepost.protocols.leader_epoch.truncations import (
    Truncations,
    and_before,
    truncated_replicas,
    truncations,
)
from fencepost.replay.entities import bucket_of, tuples, with_entity
from fencepost.replay.evidence import Evidence
from fencepost.replay.keys import OFFSETS_TOPIC
from fencepost.tables import (
    BATCHES,
    CLEANED,
    FILES,
    QUARANTINE,
    RECORDS,
    REQUEST_IDS,
    REQUESTS,
    Table,
)

_LOGS = pa.schema([("cluster", pa.string()), ("partition_key", pa.string())])

Steps = Iterable[tuple[Table, pa.Table]]


def rebuild(given: Evidence) -> Mapping[str, Rows]:
    """The rows of tables.TABLES, by the table's name."""
    engine = given.engine
    histories = {cluster: replay(log) for cluster, log in given.logs.items()}
    by_admin = admin_requests(engine.collect(_requests(engine, ADMIN_APIS)), histories)
    leaders = {name: each.elected.get(OFFSETS_TOPIC, {}) for name, each in given.metadata.items()}
    cut = _truncated(given)
    of_logs = _partitions(given, histories, truncations(cut, histories))
    logs = engine.collect(engine.map(of_logs[PARTITION_EXTENTS.name], _names_of_logs, _LOGS))
    asked = _requests(engine, CLIENT_APIS)
    of = engine.keep(engine.map(asked, of_clients, CLIENT_REQUESTS.arrow_schema))
    known = cluster_evidence(given, histories, by_admin, of)
    refused = engine.map(
        engine.union([asked, _requests(engine, REFUSABLE.keys() - set(CLIENT_APIS))]),
        partial(refused_requests, known=known),
        LEADER_EPOCH_FENCINGS.arrow_schema,
    )
    # lines are much: they are let go
    del asked
    told = _clients(given, known, of)
    del of
    groups = Groups(known, leaders, given.tolerance_ms)
    met = _groups(given, groups, of_logs[STORED.name], told)
    elsewhere = {
        table.name: engine.map(told[MET_FETCHES.name], partial(_elsewhere, of), table.arrow_schema)
        for table, of in ((FETCH_POSITIONS, rows_of), (FETCH_POSITION_STATES, states_of))
    }
    of_metadata = _metadata(given, histories, by_admin, set(tuples(logs)))
    return {
        **of_logs,
        **told,
        **met,
        **of_metadata,
        **{name: engine.union([met[name], rows]) for name, rows in elsewhere.items()},
        **({TRUNCATED.name: on_engine(engine, TRUNCATED, cut)} if given.continued_clusters else {}),
        METADATA_COVERAGE.name: engine.union(
            [each[METADATA_COVERAGE.name] for each in (of_logs, of_metadata)]
        ),
        LEADER_EPOCHS.name: engine.union([each[LEADER_EPOCHS.name] for each in (of_logs, of_metadata)]),
        LEADER_EPOCH_FENCINGS.name: engine.union([refused, of_metadata[LEADER_EPOCH_FENCINGS.name]]),
    }


def _requests(engine: Engine, api_keys: Collection[int]) -> Rows:
    """Rows of ``bronze.requests`` of these APIs."""
    return engine.scan(REQUESTS, where=[{"api_key": frozenset(api_keys)}])


def _names_of_logs(extents: pa.Table) -> pa.Table:
    return extents.select(_LOGS.names)


def _elsewhere(of: Callable[[Table, pa.Table], pa.Table], positions: pa.Table) -> pa.Table:
    """What positions of no group give."""
    return of(MET_FETCHES, positions.filter(pc.is_null(positions["group_id"])))


def _metadata(
    given: Evidence,
    histories: Mapping[str, ClusterHistory],
    by_admin: Mapping[str, AdminRequests],
    captured: set[tuple[str, str]],
) -> Mapping[str, Rows]:
    """What the metadata logs tell by themselves, and leader epochs of logs that nobody captured."""

    def work(cluster: str) -> Iterable[tuple[Table, pa.RecordBatch]]:
        history, by = histories[cluster], by_admin[cluster]
        tables = {table.name: table for table in METADATA_TABLES}
        for name, rows in metadata_rows(cluster, history, by.created, by.removed).items():
            yield from ((tables[name], batch) for batch in rows.to_batches())
        for fenced in (fenced_brokers(cluster, history), deposed_controllers(cluster, history)):
            yield from ((LEADER_EPOCH_FENCINGS, batch) for batch in fenced.to_batches())
        for batch in never_captured(cluster, history, captured).to_batches():
            yield LEADER_EPOCHS, batch

    tables = [*METADATA_TABLES, LEADER_EPOCH_FENCINGS, LEADER_EPOCHS]
    return given.engine.spread(sorted(histories), lambda cluster: iter(list(work(cluster))), tables)


def _truncated(given: Evidence) -> pa.Table:
    """Rows of TRUNCATED."""
    asked = given.engine.scan(REQUESTS, where=[{"api_key": FETCH}])
    found = given.engine.collect(given.engine.map(asked, truncated_replicas, TRUNCATED.arrow_schema))
    return and_before(found, given.before.get(TRUNCATED.name))


def _partitions(
    given: Evidence, histories: Mapping[str, ClusterHistory], cut: Truncations
) -> Mapping[str, Rows]:
    engine = given.engine
    quarantine, cleaned, files = (engine.collect(engine.scan(each)) for each in (QUARANTINE, CLEANED, FILES))
    consumed = _consumed_to(files)
    entity = partial(bucket_of, ("cluster", "topic", "partition"), engine.parallelism)
    of_offsets = [{"topic": OFFSETS_TOPIC, "record_type": RECORD_TYPES}]
    records = engine.scan(RECORDS, RECORD_COLUMNS, of_offsets)
    names = {table.name: table for table in (*log_rows.TABLES, HANDED_BATCHES, STORED)}
    goes_on, nothing = given.continued_clusters, HANDED_BATCHES.arrow_schema.empty_table()

    def run(_: str, evidence: Mapping[str, pa.Table]) -> Steps:
        of_logs = (evidence["batches"], evidence["checkpoints"], quarantine, cleaned, consumed)
        logs = PartitionEvidence(*of_logs, evidence.get("before", nothing), cut)
        for name, rows in replay_partitions(logs, histories, goes_on).items():
            yield names[name], rows
        commits = evidence.get("commits", evidence["batches"])
        yield STORED, stored_offsets(commits, evidence["records"], quarantine, cleaned)

    evidence = {
        "batches": [with_entity(engine, BATCHES, engine.scan(BATCHES, READ), entity, READ)],
        "records": [with_entity(engine, RECORDS, records, entity, RECORD_COLUMNS)],
        "checkpoints": [
            with_entity(engine, LEADER_EPOCH_CHECKPOINTS, engine.scan(LEADER_EPOCH_CHECKPOINTS), entity)
        ],
    }
    if given.before:
        # with what compaction left before the chapter: offsets that groups had then
        left = engine.scan(BATCHES, READ, [{"topic": OFFSETS_TOPIC}])
        evidence["commits"] = [with_entity(engine, BATCHES, left, entity, READ)]
    if (before := given.handed_down(HANDED_BATCHES)) is not None:
        evidence["before"] = [with_entity(engine, HANDED_BATCHES, before, entity)]
    return engine.replay(evidence, run, list(names.values()))


def _clients(given: Evidence, known: Mapping[str, ClusterEvidence], asked: Rows) -> Mapping[str, Rows]:
    engine = given.engine
    names = {table.name: table for table in clients.TABLES}
    produced = engine.scan(REQUESTS, list(clients.PRODUCERS.columns), [{"api_key": PRODUCE}])
    producers = engine.map(produced, clients.producers_of, clients.PRODUCERS.arrow_schema)
    entity = partial(bucket_of, ("cluster", "client_id"), engine.parallelism)

    def run(_: str, evidence: Mapping[str, pa.Table]) -> Steps:
        of = (evidence["requests"], evidence["ids"], evidence["producers"])
        for name, rows in replay_clients(*of, known, evidence.get("before")).items():
            yield names[name], rows

    evidence = {
        "requests": [with_entity(engine, CLIENT_REQUESTS, asked, entity)],
        "ids": [with_entity(engine, REQUEST_IDS, engine.scan(REQUEST_IDS), entity)],
        "producers": [with_entity(engine, clients.PRODUCERS, producers, entity)],
    }
    if (before := given.handed_down(HANDED_CLIENTS)) is not None:
        evidence["before"] = [with_entity(engine, HANDED_CLIENTS, before, entity)]
    return engine.replay(evidence, run, list(names.values()))


def _groups(given: Evidence, groups: Groups, stored: Rows, told: Mapping[str, Rows]) -> Mapping[str, Rows]:
    engine = given.engine
    entity = partial(bucket_of, ("cluster", "group_id"), engine.parallelism)

    def of_groups(rows: pa.Table) -> pa.Table:
        return rows.filter(pc.is_valid(rows["group_id"]))

    positions = engine.map(told[MET_FETCHES.name], of_groups, MET_FETCHES.arrow_schema)

    def run(_: str, evidence: Mapping[str, pa.Table]) -> Steps:
        yield from committed_offsets(groups, evidence["stored"], evidence["asked"], evidence["positions"])

    asked = told[COMMIT_LINES.name]
    evidence = {
        "stored": [with_entity(engine, STORED, stored, entity)],
        "asked": [with_entity(engine, COMMIT_LINES, asked, entity)],
        "positions": [with_entity(engine, MET_FETCHES, positions, entity)],
    }
    return engine.replay(evidence, run, list(committed_offset_rows.TABLES))


def _consumed_to(files: pa.Table) -> dict[str, dict[tuple[int, str], int]]:
    """By cluster, how far the newest run read each (broker, segment)."""
    rows = files.filter(pc.equal(files["kind"], SEGMENT)).sort_by("captured_at")
    found: dict[str, dict[tuple[int, str], int]] = {}
    columns = (rows[name].to_pylist() for name in ("cluster", "broker_id", "file", "consumed_to"))
    for cluster, broker_id, file, consumed_to in zip(*columns, strict=True):
        found.setdefault(cluster, {})[broker_id, file] = consumed_to
    return found
