"""The rebuild of leader epochs and incarnations, in steps; the engine spreads the last three over tasks.

1. Metadata logs, one for each cluster: in this process, since all that follows needs them.
2. Partitions' logs, each alone, and the commits in each partition of ``__consumer_offsets``.
3. Clients, each with its lines from all brokers.
4. Groups: commits in the logs matched with the requests of clients, and fetches from committed offsets.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.engines import Engine, Rows, on_engine
from fencepost.protocols.leader_epoch import clients, committed_offset_rows, log_rows
from fencepost.protocols.leader_epoch.acknowledged import acknowledged
from fencepost.protocols.leader_epoch.admin import ADMIN_APIS, AdminRequests, admin_requests
from fencepost.protocols.leader_epoch.broker_fencings import fenced_brokers
from fencepost.protocols.leader_epoch.bronze import LEADER_EPOCH_CHECKPOINTS
from fencepost.protocols.leader_epoch.captured_files import captured_files
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
from fencepost.protocols.leader_epoch.known_batches import READ
from fencepost.protocols.leader_epoch.lines import CLIENT_APIS, FETCH, PRODUCE
from fencepost.protocols.leader_epoch.metadata_rows import TABLES as METADATA_TABLES
from fencepost.protocols.leader_epoch.metadata_rows import metadata_rows
from fencepost.protocols.leader_epoch.partition_rows import (
    PartitionEvidence,
    never_captured,
    replay_partitions,
)
from fencepost.protocols.leader_epoch.removals import REMOVAL_APIS, administered_groups, removal_requests
from fencepost.protocols.leader_epoch.shutdowns import shut_down
from fencepost.protocols.leader_epoch.states import MET_FETCHES, rows_of, states_of
from fencepost.protocols.leader_epoch.tables import (
    FETCH_POSITION_STATES,
    FETCH_POSITIONS,
    INSTANCES,
    KNOWN_BATCHES,
    LEADER_EPOCH_FENCINGS,
    LEADER_EPOCHS,
    METADATA_COVERAGE,
    PARTITION_EXTENTS,
    REMOVAL_REQUESTS,
    TRUNCATED,
)
from fencepost.protocols.leader_epoch.truncations import (
    Truncations,
    truncated_replicas,
    truncations,
)
from fencepost.replay.entities import bucket_of, tuples, with_entity
from fencepost.replay.evidence import Evidence
from fencepost.replay.incarnations import coordinator_logs
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


def rebuild(evidence: Evidence) -> Mapping[str, Rows]:
    """The rows of tables.TABLES, by the table's name."""
    engine = evidence.engine
    histories = {cluster: replay(log) for cluster, log in evidence.logs.items()}
    of_admins = engine.collect(_requests(engine, (*ADMIN_APIS, *REMOVAL_APIS)))
    by_admin = admin_requests(of_admins, histories)
    leaders = {name: each.terms(OFFSETS_TOPIC) for name, each in evidence.metadata.items()}
    cut = _truncated(evidence)
    of_logs = _partitions(evidence, histories, truncations(cut, histories))
    logs = engine.collect(engine.map(of_logs[PARTITION_EXTENTS.name], _names_of_logs, _LOGS))
    requests = _requests(engine, CLIENT_APIS)
    client_requests = engine.keep(engine.map(requests, of_clients, CLIENT_REQUESTS.arrow_schema))
    known = cluster_evidence(evidence, histories, by_admin, client_requests)
    refused = engine.map(
        engine.union([requests, _requests(engine, REFUSABLE.keys() - set(CLIENT_APIS))]),
        partial(refused_requests, known=known),
        LEADER_EPOCH_FENCINGS.arrow_schema,
    )
    # free the lines, which take much memory
    del requests
    client_rows = _clients(evidence, known, client_requests)
    del client_requests
    removals = removal_requests(of_admins)
    groups = Groups(known, leaders, administered_groups(removals), evidence.tolerance_ms)
    of_groups = _groups(evidence, groups, of_logs[STORED.name], client_rows)
    without_group = {
        table.name: engine.map(
            client_rows[MET_FETCHES.name], partial(_rows_without_group, make), table.arrow_schema
        )
        for table, make in ((FETCH_POSITIONS, rows_of), (FETCH_POSITION_STATES, states_of))
    }
    of_metadata = _metadata(evidence, histories, by_admin, set(tuples(logs)))
    return {
        **of_logs,
        **client_rows,
        **of_groups,
        **of_metadata,
        **{name: engine.union([of_groups[name], rows]) for name, rows in without_group.items()},
        TRUNCATED.name: on_engine(engine, TRUNCATED, cut),
        METADATA_COVERAGE.name: engine.union(
            [each[METADATA_COVERAGE.name] for each in (of_logs, of_metadata)]
        ),
        LEADER_EPOCHS.name: engine.union([each[LEADER_EPOCHS.name] for each in (of_logs, of_metadata)]),
        REMOVAL_REQUESTS.name: on_engine(engine, REMOVAL_REQUESTS, removals),
        LEADER_EPOCH_FENCINGS.name: engine.union([refused, of_metadata[LEADER_EPOCH_FENCINGS.name]]),
    }


def _requests(engine: Engine, api_keys: Collection[int]) -> Rows:
    """Rows of ``bronze.requests`` of these APIs."""
    return engine.scan(REQUESTS, where=[{"api_key": frozenset(api_keys)}])


def _names_of_logs(extents: pa.Table) -> pa.Table:
    return extents.select(_LOGS.names)


def _rows_without_group(make: Callable[[Table, pa.Table], pa.Table], positions: pa.Table) -> pa.Table:
    """The rows that ``make`` makes of fetch positions that come from no group's committed offset."""
    return make(MET_FETCHES, positions.filter(pc.is_null(positions["group_id"])))


def _metadata(
    evidence: Evidence,
    histories: Mapping[str, ClusterHistory],
    by_admin: Mapping[str, AdminRequests],
    captured: set[tuple[str, str]],
) -> Mapping[str, Rows]:
    """Rows from the metadata logs alone, among them the leader epochs of partitions' logs that were not
    captured.
    """

    shutdowns = shut_down(evidence.engine)

    def work(cluster: str) -> Iterable[tuple[Table, pa.RecordBatch]]:
        history, by = histories[cluster], by_admin[cluster]
        tables = {table.name: table for table in METADATA_TABLES}
        for name, rows in metadata_rows(cluster, history, by.created, by.removed).items():
            yield from ((tables[name], batch) for batch in rows.to_batches())
        fenced_of = fenced_brokers(cluster, history, shutdowns.get(cluster, frozenset()))
        for fenced in (fenced_of, deposed_controllers(cluster, history)):
            yield from ((LEADER_EPOCH_FENCINGS, batch) for batch in fenced.to_batches())
        for batch in never_captured(cluster, history, captured).to_batches():
            yield LEADER_EPOCHS, batch

    tables = [*METADATA_TABLES, LEADER_EPOCH_FENCINGS, LEADER_EPOCHS]
    return evidence.engine.spread(sorted(histories), lambda cluster: iter(list(work(cluster))), tables)


def _truncated(evidence: Evidence) -> pa.Table:
    """Rows of TRUNCATED, each once."""
    engine = evidence.engine
    fetches = engine.scan(REQUESTS, where=[{"api_key": FETCH}])
    read = engine.map(fetches, truncated_replicas, TRUNCATED.arrow_schema)
    rows = engine.collect(engine.union([evidence.state(TRUNCATED), read]))
    return rows.group_by(rows.column_names, use_threads=False).aggregate([])


def _partitions(
    evidence: Evidence, histories: Mapping[str, ClusterHistory], cut: Truncations
) -> Mapping[str, Rows]:
    engine = evidence.engine
    quarantine, cleaned, files = (engine.collect(engine.scan(each)) for each in (QUARANTINE, CLEANED, FILES))
    captured, answers = captured_files(files), acknowledged(engine, histories)
    entity = partial(bucket_of, ("cluster", "topic", "partition"), engine.parallelism)
    of_offsets = [{"topic": OFFSETS_TOPIC, "record_type": RECORD_TYPES}]
    records = engine.scan(RECORDS, RECORD_COLUMNS, of_offsets)
    names = {table.name: table for table in (*log_rows.TABLES, KNOWN_BATCHES, STORED)}
    dumped, in_zookeeper = frozenset(evidence.next_ms), evidence.in_zookeeper
    coordinators = {
        cluster: each
        for (cluster, topic), each in evidence.once(coordinator_logs).items()
        if topic == OFFSETS_TOPIC
    }

    def run(_: str, inputs: Mapping[str, pa.Table]) -> Steps:
        of_logs = (inputs["batches"], inputs["checkpoints"], quarantine, cleaned, captured)
        logs = PartitionEvidence(*of_logs, inputs["before"], cut, answers, in_zookeeper)
        for name, rows in replay_partitions(logs, histories, dumped).items():
            yield names[name], rows
        commits = inputs.get("commits", inputs["batches"])
        yield STORED, stored_offsets(commits, inputs["records"], quarantine, cleaned, coordinators)

    inputs = {
        "batches": [with_entity(engine, BATCHES, engine.scan(BATCHES, READ), entity, READ)],
        "records": [with_entity(engine, RECORDS, records, entity, RECORD_COLUMNS)],
        "checkpoints": [
            with_entity(engine, LEADER_EPOCH_CHECKPOINTS, engine.scan(LEADER_EPOCH_CHECKPOINTS), entity)
        ],
        "before": [with_entity(engine, KNOWN_BATCHES, evidence.state(KNOWN_BATCHES), entity)],
    }
    if evidence.before:
        # including what compaction left: the offsets that groups had before
        left = engine.scan(BATCHES, READ, [{"topic": OFFSETS_TOPIC}])
        inputs["commits"] = [with_entity(engine, BATCHES, left, entity, READ)]
    return engine.replay(inputs, run, list(names.values()))


def _clients(evidence: Evidence, known: Mapping[str, ClusterEvidence], requests: Rows) -> Mapping[str, Rows]:
    engine = evidence.engine
    names = {table.name: table for table in clients.TABLES}
    produced = engine.scan(REQUESTS, list(clients.PRODUCERS.columns), [{"api_key": PRODUCE}])
    producers = engine.map(produced, clients.producers_of, clients.PRODUCERS.arrow_schema)
    entity = partial(bucket_of, ("cluster", "client_id"), engine.parallelism)

    def run(_: str, inputs: Mapping[str, pa.Table]) -> Steps:
        rows_of_clients = (inputs["requests"], inputs["ids"], inputs["producers"])
        for name, rows in replay_clients(*rows_of_clients, known, inputs["before"]).items():
            yield names[name], rows

    inputs = {
        "requests": [with_entity(engine, CLIENT_REQUESTS, requests, entity)],
        "ids": [with_entity(engine, REQUEST_IDS, engine.scan(REQUEST_IDS), entity)],
        "producers": [with_entity(engine, clients.PRODUCERS, producers, entity)],
        "before": [with_entity(engine, INSTANCES, evidence.state(INSTANCES), entity)],
    }
    return engine.replay(inputs, run, list(names.values()))


def _groups(
    evidence: Evidence, groups: Groups, stored: Rows, client_rows: Mapping[str, Rows]
) -> Mapping[str, Rows]:
    engine = evidence.engine
    entity = partial(bucket_of, ("cluster", "group_id"), engine.parallelism)

    def of_groups(rows: pa.Table) -> pa.Table:
        return rows.filter(pc.is_valid(rows["group_id"]))

    positions = engine.map(client_rows[MET_FETCHES.name], of_groups, MET_FETCHES.arrow_schema)

    def run(_: str, inputs: Mapping[str, pa.Table]) -> Steps:
        yield from committed_offsets(groups, inputs["stored"], inputs["asked"], inputs["positions"])

    commits = client_rows[COMMIT_LINES.name]
    inputs = {
        "stored": [with_entity(engine, STORED, stored, entity)],
        "asked": [with_entity(engine, COMMIT_LINES, commits, entity)],
        "positions": [with_entity(engine, MET_FETCHES, positions, entity)],
    }
    return engine.replay(inputs, run, list(committed_offset_rows.TABLES))
