"""The rebuild of producers and transactions, in three steps that the engine spreads over tasks.

1. Replay the logs of partitions, each alone.
2. Replay the logs of coordinators (``__transaction_state``), each with the requests of its transactional ids.
3. Compare the two by producer id: ``account.pack`` spreads the accounts of the first two steps over tasks.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.engines import Rows
from fencepost.protocols.producer_epoch import (
    account,
    coordinators,
    decided_requests,
    partitions,
    state,
    tasks,
)
from fencepost.protocols.producer_epoch.account import Account
from fencepost.protocols.producer_epoch.arrow import milliseconds
from fencepost.protocols.producer_epoch.client_events import client_events
from fencepost.protocols.producer_epoch.expiration import expirations
from fencepost.protocols.producer_epoch.facts import collect_facts, topics_created_once
from fencepost.protocols.producer_epoch.first_segments import first_segments
from fencepost.protocols.producer_epoch.homes import (
    HOME,
    HOMES,
    PARTITION,
    homes,
    placement_of,
    with_homes,
)
from fencepost.protocols.producer_epoch.marker_senders import writing_markers
from fencepost.protocols.producer_epoch.markers_due import newest_of
from fencepost.protocols.producer_epoch.missing_lines import CLIENTS, clients_of, numbers_of
from fencepost.protocols.producer_epoch.producer_requests import LINE_COLUMNS, producer_requests
from fencepost.protocols.producer_epoch.refusals import connections_refused_produce
from fencepost.protocols.producer_epoch.request_rows import concerns_coordinators
from fencepost.protocols.producer_epoch.request_targets import APIS
from fencepost.protocols.producer_epoch.tables import (
    CLIENT_EVENTS,
    COUNTS,
    ID_STATES,
    LOCAL_BUMPS,
    LOG_COVERAGE,
    LOG_STATES,
    PARTITION_TRANSACTIONS,
    PRODUCER_FENCINGS,
    PRODUCER_REQUESTS,
    PRODUCER_SNAPSHOTS,
    PRODUCER_STATES,
    TRANSACTION_CLOCKS,
    TRANSACTION_MARKERS,
    TRANSACTIONAL_IDS,
    TRANSACTIONS,
    UNLOGGED_ENDS,
)
from fencepost.protocols.producer_epoch.tasks import ACCOUNT, CONNECTION_EPOCHS, NEWEST, of_kinds
from fencepost.protocols.producer_epoch.verifications import BEGAN, VERIFIED, committed, verified
from fencepost.replay.entities import Entity, bucket_of, tuples, with_entity
from fencepost.replay.evidence import Evidence
from fencepost.replay.incarnations import coordinator_logs
from fencepost.replay.keys import METADATA_TOPIC, TRANSACTIONS_TOPIC
from fencepost.replay.line_times import LineTimes
from fencepost.replay.log_ends import log_ends
from fencepost.tables import (
    ABORTED_TRANSACTIONS,
    BATCHES,
    CLEANED,
    CLIENT_LINES,
    FILES,
    LOG_STARTS,
    PRODUCER_SNAPSHOT_ENTRIES,
    QUARANTINE,
    RECORDS,
    REQUEST_IDS,
    REQUESTS,
    Table,
)

_DECIDED = [table for each in decided_requests.TABLES.values() for table in each]
_CONNECTIONS = pa.schema([("connection", pa.string())])
_TIMES = pa.schema([("cluster", pa.string()), ("ms", pa.int64())])
_COORDINATORS = [{"topic": TRANSACTIONS_TOPIC}]


def rebuild(evidence: Evidence) -> Mapping[str, Rows]:
    """The rows of TABLES, by the table's name."""
    engine = evidence.engine
    # the lines themselves have no name, so that they are freed before logs are replayed
    requests = engine.keep(
        engine.map(
            engine.scan(REQUESTS, LINE_COLUMNS, [{"api_key": frozenset(APIS)}]),
            partial(producer_requests, metadata=evidence.metadata),
            PRODUCER_REQUESTS.arrow_schema,
        )
    )
    quarantine, files = (engine.collect(engine.scan(table)) for table in (QUARANTINE, FILES))
    verified_ids = engine.collect(engine.map(requests, verified, VERIFIED))
    partition_rows = _replayed_partitions(evidence, requests, verified_ids, (quarantine, files))
    coordinator_rows = _replayed_coordinators(evidence, requests, verified_ids, partition_rows, quarantine)
    comparison_tables = _compared_logs(evidence, (partition_rows, coordinator_rows), files)
    coverage = engine.union([each[LOG_COVERAGE.name] for each in (partition_rows, coordinator_rows)])
    lines = engine.map(engine.scan(CLIENT_LINES), client_events, CLIENT_EVENTS.arrow_schema)
    return {
        **partition_rows,
        **coordinator_rows,
        **comparison_tables,
        LOG_COVERAGE.name: coverage,
        PRODUCER_REQUESTS.name: requests,
        CLIENT_EVENTS.name: lines,
    }


def _replayed_partitions(
    evidence: Evidence, requests: Rows, verified_ids: pa.Table, about_files: tuple[pa.Table, pa.Table]
) -> Mapping[str, Rows]:
    """The first step: the replay of partitions' logs. ``about_files``: rows of ``bronze.quarantine`` and
    ``bronze.files``.
    """
    quarantine, files = about_files
    engine = evidence.engine
    refused_connections = set(
        engine.collect(engine.map(requests, _refused_connections, _CONNECTIONS))["connection"].to_pylist()
    )
    with_offset = partial(_with_offset, evidence.line_times)
    answers = engine.map(requests, with_offset, PRODUCER_REQUESTS.arrow_schema)
    sent = engine.map(requests, writing_markers, PRODUCER_REQUESTS.arrow_schema)
    batches = engine.scan(BATCHES, partitions.BATCH_COLUMNS)
    records = engine.scan(RECORDS, partitions.RECORD_COLUMNS, [{"is_control": True}])
    by_log = partial(bucket_of, ("cluster", "topic", "partition"), engine.parallelism)

    def spread(table: Table, rows: Rows, columns: tuple[str, ...] = ()) -> list[Rows]:
        return [with_entity(engine, table, rows, by_log, columns)]

    return engine.replay(
        {
            "batches": spread(BATCHES, batches, partitions.BATCH_COLUMNS),
            "records": spread(RECORDS, records, partitions.RECORD_COLUMNS),
            "snapshots": spread(PRODUCER_SNAPSHOT_ENTRIES, engine.scan(PRODUCER_SNAPSHOT_ENTRIES)),
            "aborted": spread(ABORTED_TRANSACTIONS, engine.scan(ABORTED_TRANSACTIONS)),
            "cleaned": spread(CLEANED, engine.scan(CLEANED)),
            "answers": spread(PRODUCER_REQUESTS, answers),
            "sent": spread(PRODUCER_REQUESTS, sent),
            "states": spread(LOG_STATES, evidence.state(LOG_STATES)),
        },
        tasks.partitions_task(
            {
                "quarantine": quarantine,
                "alive": _newest_metadata_times(evidence),
                "expirations": expirations(evidence.metadata),
                "verified": verified_ids,
                "dump_ms": dict(evidence.next_ms),
                "tolerance_ms": evidence.tolerance_ms,
                "created_once": topics_created_once(evidence.metadata),
                "gone": {cluster: each.gone for cluster, each in evidence.metadata.items()},
                "starts": engine.collect(engine.scan(LOG_STARTS)),
                "first_segments": first_segments(files),
            },
            refused_connections,
            engine.parallelism,
        ),
        [PRODUCER_STATES, LOG_COVERAGE, PRODUCER_SNAPSHOTS, LOCAL_BUMPS, LOG_STATES, BEGAN, ACCOUNT],
    )


def _replayed_coordinators(
    evidence: Evidence,
    requests: Rows,
    verified_ids: pa.Table,
    partition_rows: Mapping[str, Rows],
    quarantine: pa.Table,
) -> Mapping[str, Rows]:
    """The second step: the replay of coordinators' logs, each in one task with the requests of its ids."""
    engine, metadata = evidence.engine, evidence.metadata
    batches = engine.scan(BATCHES, coordinators.BATCH_COLUMNS, _COORDINATORS)
    records = engine.scan(RECORDS, coordinators.RECORD_COLUMNS, _COORDINATORS)
    logs = {
        cluster: each
        for (cluster, topic), each in evidence.once(coordinator_logs).items()
        if topic == TRANSACTIONS_TOPIC
    }
    placement = placement_of(engine.collect(engine.map(records, homes, HOMES)), metadata, logs)
    by_shard: Entity = partial(bucket_of, ("cluster", "partition"), engine.parallelism)
    by_coordinator: Entity = partial(bucket_of, ("cluster", PARTITION), engine.parallelism)

    def spread(table: Table, rows: Rows, columns: tuple[str, ...] = ()) -> list[Rows]:
        return [with_entity(engine, table, rows, by_shard, columns)]

    def with_home(rows: pa.Table) -> pa.Table:
        rows_with_home = with_homes(placement, rows)
        return rows_with_home.append_column("entity", by_coordinator(rows_with_home))

    def with_connection_epochs(packed: pa.Table) -> pa.Table:
        epochs = tasks.connection_epochs(placement, packed)
        return epochs.append_column("entity", by_coordinator(epochs))

    entity = pa.field("entity", pa.string())
    with_home_columns = pa.schema([*PRODUCER_REQUESTS.arrow_schema, *HOME, entity])
    coordinator_requests = [
        engine.map(
            requests, lambda rows: with_home(rows.filter(concerns_coordinators(rows))), with_home_columns
        ),
        engine.map(requests, lambda rows: with_home(committed(rows, verified_ids)), with_home_columns),
        engine.map(partition_rows[BEGAN.name], with_home, with_home_columns),
    ]
    clients = engine.collect(engine.map(requests, clients_of, CLIENTS)).group_by(CLIENTS.names).aggregate([])
    by_operators = engine.collect(engine.map(partition_rows[ACCOUNT.name], tasks.operated, tasks.OPERATED))
    request_ids = engine.map(
        engine.scan(REQUEST_IDS), partial(numbers_of, clients=clients), REQUEST_IDS.arrow_schema
    )
    cleaned = engine.collect(engine.scan(CLEANED, where=_COORDINATORS))
    return engine.replay(
        {
            "batches": spread(BATCHES, batches, coordinators.BATCH_COLUMNS),
            "records": spread(RECORDS, records, coordinators.RECORD_COLUMNS),
            "requests": coordinator_requests,
            "connection_epochs": [
                engine.map(
                    partition_rows[ACCOUNT.name], with_connection_epochs, CONNECTION_EPOCHS.append(entity)
                )
            ],
            "states": spread(ID_STATES, evidence.state(ID_STATES)),
        },
        tasks.coordinators_task(
            {
                "quarantine": quarantine,
                "cleaned": cleaned,
                "began": state.known_stretches(evidence),
                "logs": logs,
                "dump_ms": dict(evidence.next_ms),
                "line_times": evidence.line_times,
                "request_ids": engine.collect(request_ids),
                "operated": frozenset(tuples(by_operators)),
            },
            log_ends(evidence.log_ends, evidence.high_watermarks, metadata, TRANSACTIONS_TOPIC),
            metadata,
            evidence.tolerance_ms,
            engine.parallelism,
        ),
        [
            *(TRANSACTIONAL_IDS, TRANSACTIONS, UNLOGGED_ENDS, *_DECIDED, LOG_COVERAGE, TRANSACTION_CLOCKS),
            *(ID_STATES, ACCOUNT),
        ],
    )


def _compared_logs(
    evidence: Evidence, steps: tuple[Mapping[str, Rows], ...], files: pa.Table
) -> Mapping[str, Rows]:
    """The last step: the comparison of partitions' logs with coordinators' logs."""
    engine = evidence.engine
    by_bucket = partial(_bucket_of_counts, engine.parallelism)
    compared = {
        "account": [with_entity(engine, ACCOUNT, step[ACCOUNT.name], _bucket) for step in steps],
        "counts": [with_entity(engine, COUNTS, evidence.state(COUNTS), by_bucket)],
    }
    whole = account.concatenate(_collected(evidence, each, *account.FACTS) for each in steps)
    facts = collect_facts(whole, files, evidence.metadata, evidence.log_ends, evidence.in_zookeeper)
    newest = engine.collect(
        engine.replay({**compared}, tasks.newest_markers_task(facts, evidence.tolerance_ms), [NEWEST])[
            NEWEST.name
        ]
    )
    return engine.replay(
        {**compared},
        tasks.comparison_task(facts, newest_of([newest]), evidence.tolerance_ms),
        [PARTITION_TRANSACTIONS, TRANSACTION_MARKERS, PRODUCER_FENCINGS, COUNTS],
    )


def _newest_metadata_times(evidence: Evidence) -> dict[str, int]:
    """By cluster, the newest time (ms) of its metadata log, to which controllers write every second."""
    batches = evidence.engine.scan(
        BATCHES, ("cluster", "max_timestamp_ms"), where=[{"topic": METADATA_TOPIC}]
    )
    newest = evidence.engine.collect(evidence.engine.map(batches, _newest_of_each, _TIMES))
    pairs = zip(newest["cluster"].to_pylist(), newest["ms"].to_pylist(), strict=True)
    # the rows of a cluster may come from several pieces: sorted, the newest time comes last and is kept
    return dict(sorted(pairs))


def _newest_of_each(batches: pa.Table) -> pa.Table:
    newest = batches.group_by("cluster").aggregate([("max_timestamp_ms", "max")])
    return newest.select(["cluster", "max_timestamp_ms_max"]).rename_columns(_TIMES.names)


def _collected(evidence: Evidence, tables: Mapping[str, Rows], *kinds: str) -> Account:
    """The rows of some kinds in the account of a step, collected in this process."""
    packed = evidence.engine.map(tables[ACCOUNT.name], partial(of_kinds, kinds), ACCOUNT.arrow_schema)
    return account.unpack(evidence.engine.collect(packed))


def _bucket(packed: pa.Table) -> pa.Array:
    return packed["bucket"].cast(pa.string())


def _bucket_of_counts(buckets: int, counts: pa.Table) -> pa.Array:
    return pa.array(account.buckets_of(counts, buckets)).cast(pa.string())


def _refused_connections(requests: pa.Table) -> pa.Table:
    return pa.table({"connection": pa.array(sorted(connections_refused_produce(requests)), pa.string())})


def _with_offset(line_times: LineTimes, requests: pa.Table) -> pa.Table:
    """The answers with an offset. One of a time that passed twice does not say when its batch was written."""
    answers = requests.filter(pc.greater_equal(requests["base_offset"], 0))
    if not line_times:
        return answers
    columns = (
        answers["cluster"].to_pylist(),
        answers["broker_id"].to_pylist(),
        *(milliseconds(answers[name]).tolist() for name in ("requested_at", "responded_at")),
    )
    is_steady = [line_times.of(cluster).is_steady(*times) for cluster, *times in zip(*columns, strict=True)]
    return answers.filter(pa.array(is_steady, pa.bool_()))
