"""The rebuild of producers and transactions: three steps, each spread by the engine over what it replays.

1. Logs of partitions, each for itself.
2. Logs of coordinators (``__transaction_state``), each with the requests of its transactional ids.
3. Where the two meet, by producer id: what the first steps tell it is spread by ``account.pack``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.engines import Rows, on_engine
from fencepost.protocols.producer_epoch import account, coordinators, decided_requests, partitions, tasks
from fencepost.protocols.producer_epoch.account import Account
from fencepost.protocols.producer_epoch.client_events import client_events
from fencepost.protocols.producer_epoch.expiration import expirations
from fencepost.protocols.producer_epoch.facts import facts
from fencepost.protocols.producer_epoch.homes import HOMES, PARTITION, homes, newest_homes
from fencepost.protocols.producer_epoch.markers_due import newest_of
from fencepost.protocols.producer_epoch.producer_requests import LINE_COLUMNS, producer_requests
from fencepost.protocols.producer_epoch.refusals import asking_connections
from fencepost.protocols.producer_epoch.request_rows import concerns_coordinators
from fencepost.protocols.producer_epoch.request_targets import APIS
from fencepost.protocols.producer_epoch.tables import (
    CARRIED_COUNTS,
    CARRIED_IDS,
    CLIENT_EVENTS,
    LOCAL_BUMPS,
    LOG_COVERAGE,
    PARTITION_LOGS,
    PARTITION_TRANSACTIONS,
    PRODUCER_FENCINGS,
    PRODUCER_REQUESTS,
    PRODUCER_SNAPSHOTS,
    PRODUCER_STATES,
    TRANSACTION_MARKERS,
    TRANSACTIONAL_IDS,
    TRANSACTIONS,
)
from fencepost.protocols.producer_epoch.tasks import ACCOUNT, NEWEST, WROTE, of_kinds
from fencepost.protocols.producer_epoch.verifications import BEGAN, VERIFIED, committed, verified
from fencepost.replay.entities import Entity, bucket_of, with_entity
from fencepost.replay.evidence import Evidence
from fencepost.replay.keys import METADATA_TOPIC, TRANSACTIONS_TOPIC
from fencepost.replay.log_ends import final_ends
from fencepost.tables import (
    ABORTED_TRANSACTIONS,
    BATCHES,
    CLEANED,
    CLIENT_LINES,
    FILES,
    LOG_ENDS,
    PRODUCER_SNAPSHOT_ENTRIES,
    QUARANTINE,
    RECORDS,
    REQUESTS,
    Table,
)

_DECIDED = [table for each in decided_requests.TABLES.values() for table in each]
_CONNECTIONS = pa.schema([("connection", pa.string())])
_TIMES = pa.schema([("cluster", pa.string()), ("ms", pa.int64())])
_COORDINATORS = [{"topic": TRANSACTIONS_TOPIC}]


def rebuild(given: Evidence) -> Mapping[str, Rows]:
    """The rows of TABLES, by the table's name."""
    engine = given.engine
    # no name for the lines themselves: they are not held while their logs are replayed
    requests = engine.keep(
        engine.map(
            engine.scan(REQUESTS, LINE_COLUMNS, [{"api_key": frozenset(APIS)}]),
            partial(producer_requests, metadata=given.metadata),
            PRODUCER_REQUESTS.arrow_schema,
        )
    )
    quarantine, files = (engine.collect(engine.scan(table)) for table in (QUARANTINE, FILES))
    verified_ids = engine.collect(engine.map(requests, verified, VERIFIED))
    of_partitions = _replayed_partitions(given, requests, verified_ids, quarantine)
    of_coordinators = _replayed_coordinators(given, requests, verified_ids, of_partitions, quarantine)
    met = _met(given, (of_partitions, of_coordinators), files)
    coverage = engine.union([each[LOG_COVERAGE.name] for each in (of_partitions, of_coordinators)])
    lines = engine.map(engine.scan(CLIENT_LINES), client_events, CLIENT_EVENTS.arrow_schema)
    return {
        **of_partitions,
        **of_coordinators,
        **met,
        LOG_COVERAGE.name: coverage,
        PRODUCER_REQUESTS.name: requests,
        CLIENT_EVENTS.name: lines,
    }


def _replayed_partitions(
    given: Evidence, requests: Rows, verified_ids: pa.Table, quarantine: pa.Table
) -> Mapping[str, Rows]:
    """The first step."""
    engine = given.engine
    asking = set(engine.collect(engine.map(requests, _connections, _CONNECTIONS))["connection"].to_pylist())
    answers = engine.map(requests, _with_offset, PRODUCER_REQUESTS.arrow_schema)
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
            "answers": spread(PRODUCER_REQUESTS, answers),
            "before": spread(PARTITION_LOGS, _before(given, PARTITION_LOGS)),
        },
        tasks.of_partitions(
            {
                "quarantine": quarantine,
                "alive": _alive(given),
                "expirations": expirations(given.metadata),
                "verified": verified_ids,
                "next_ms": dict(given.next_ms),
            },
            asking,
            engine.parallelism,
        ),
        [PRODUCER_STATES, LOG_COVERAGE, PRODUCER_SNAPSHOTS, LOCAL_BUMPS, PARTITION_LOGS, BEGAN, ACCOUNT],
    )


def _replayed_coordinators(
    given: Evidence,
    requests: Rows,
    verified_ids: pa.Table,
    of_partitions: Mapping[str, Rows],
    quarantine: pa.Table,
) -> Mapping[str, Rows]:
    """The second step: what is about a transactional id goes where its records are."""
    engine, metadata = given.engine, given.metadata
    batches = engine.scan(BATCHES, coordinators.BATCH_COLUMNS, _COORDINATORS)
    records = engine.scan(RECORDS, coordinators.RECORD_COLUMNS, _COORDINATORS)
    known = newest_homes(engine.collect(engine.map(records, homes, HOMES)))
    by_shard: Entity = partial(bucket_of, ("cluster", "partition"), engine.parallelism)
    by_coordinator: Entity = partial(bucket_of, ("cluster", PARTITION), engine.parallelism)

    def spread(table: Table, rows: Rows, columns: tuple[str, ...] = ()) -> list[Rows]:
        return [with_entity(engine, table, rows, by_shard, columns)]

    def placed(rows: pa.Table) -> pa.Table:
        found = tasks.placed(metadata, known, rows)
        return found.append_column("entity", by_coordinator(found))

    def wrote(packed: pa.Table) -> pa.Table:
        found = tasks.wrote(metadata, known, packed)
        return found.append_column("entity", by_coordinator(found))

    entity = pa.field("entity", pa.string())
    with_partition = PRODUCER_REQUESTS.arrow_schema.append(pa.field(PARTITION, pa.int32())).append(entity)
    sent = [
        engine.map(requests, lambda rows: placed(rows.filter(concerns_coordinators(rows))), with_partition),
        engine.map(requests, lambda rows: placed(committed(rows, verified_ids)), with_partition),
        engine.map(of_partitions[BEGAN.name], placed, with_partition),
    ]
    cleaned = engine.collect(engine.scan(CLEANED, where=_COORDINATORS))
    ended = engine.collect(engine.scan(LOG_ENDS, where=_COORDINATORS))
    return engine.replay(
        {
            "batches": spread(BATCHES, batches, coordinators.BATCH_COLUMNS),
            "records": spread(RECORDS, records, coordinators.RECORD_COLUMNS),
            "requests": sent,
            "wrote": [engine.map(of_partitions[ACCOUNT.name], wrote, WROTE.append(entity))],
            "before": spread(CARRIED_IDS, _before(given, CARRIED_IDS)),
        },
        tasks.of_coordinators(
            {
                "quarantine": quarantine,
                "cleaned": cleaned,
                "began": _began(given),
                "next_ms": dict(given.next_ms),
            },
            final_ends(ended, metadata, TRANSACTIONS_TOPIC),
            metadata,
            given.tolerance_ms,
            engine.parallelism,
        ),
        [TRANSACTIONAL_IDS, TRANSACTIONS, *_DECIDED, LOG_COVERAGE, CARRIED_IDS, ACCOUNT],
    )


def _met(given: Evidence, steps: tuple[Mapping[str, Rows], ...], files: pa.Table) -> Mapping[str, Rows]:
    """The last step."""
    engine = given.engine
    told = [with_entity(engine, ACCOUNT, step[ACCOUNT.name], _bucket) for step in steps]
    counted = given.before.get(CARRIED_COUNTS.name)
    if counted is not None and counted.num_rows:
        counted = counted.select(account.schema_of(account.COUNTED).names)
        packed = account.pack({account.COUNTED: counted}, engine.parallelism)
        told.append(with_entity(engine, ACCOUNT, on_engine(engine, ACCOUNT, packed), _bucket))
    whole = account.together(_collected(given, each, *account.FACTS) for each in steps)
    known = facts(whole, files, given.metadata)
    newest = engine.collect(engine.replay({"account": told}, tasks.newest(known), [NEWEST])[NEWEST.name])
    return engine.replay(
        {"account": told},
        tasks.meeting(known, newest_of([newest]), given.tolerance_ms),
        [PARTITION_TRANSACTIONS, TRANSACTION_MARKERS, PRODUCER_FENCINGS, CARRIED_COUNTS],
    )


def _began(given: Evidence) -> dict[tuple[str, str], tuple[int, int]]:
    """From where to where an earlier chapter knew coordinators' logs."""
    rows = given.before.get(LOG_COVERAGE.name, LOG_COVERAGE.arrow_schema.empty_table())
    known = rows.filter(pc.and_(rows["covered"], pc.equal(rows["topic"], TRANSACTIONS_TOPIC)))
    names = ("cluster", "partition_key", "from_position", "last_position")
    columns = zip(*(known[name].to_pylist() for name in names), strict=True)
    # of several the last one goes on
    return {(cluster, log): (begins, ends) for cluster, log, begins, ends in sorted(columns)}


def _before(given: Evidence, table: Table) -> Rows:
    """What an earlier chapter gave of a table of CARRIED."""
    return on_engine(given.engine, table, given.before.get(table.name, table.arrow_schema.empty_table()))


def _alive(given: Evidence) -> dict[str, int]:
    """By cluster, the newest time of its metadata log: controllers write one record or more a second."""
    batches = given.engine.scan(BATCHES, ("cluster", "max_timestamp_ms"), where=[{"topic": METADATA_TOPIC}])
    newest = given.engine.collect(given.engine.map(batches, _newest_of_each, _TIMES))
    pairs = zip(newest["cluster"].to_pylist(), newest["ms"].to_pylist(), strict=True)
    # a cluster may come in several pieces: the newest stands last
    return dict(sorted(pairs))


def _newest_of_each(batches: pa.Table) -> pa.Table:
    found = batches.group_by("cluster").aggregate([("max_timestamp_ms", "max")])
    return found.select(["cluster", "max_timestamp_ms_max"]).rename_columns(_TIMES.names)


def _collected(given: Evidence, found: Mapping[str, Rows], *kinds: str) -> Account:
    """The rows of some kinds in what a step told, here."""
    chosen = given.engine.map(found[ACCOUNT.name], partial(of_kinds, kinds), ACCOUNT.arrow_schema)
    return account.unpack(given.engine.collect(chosen))


def _bucket(packed: pa.Table) -> pa.Array:
    return packed["bucket"].cast(pa.string())


def _connections(requests: pa.Table) -> pa.Table:
    return pa.table({"connection": pa.array(sorted(asking_connections(requests)), pa.string())})


def _with_offset(requests: pa.Table) -> pa.Table:
    return requests.filter(pc.greater_equal(requests["base_offset"], 0))
