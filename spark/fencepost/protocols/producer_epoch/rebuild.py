"""The rebuild of producers and transactions: three steps, each spread by the engine over what it replays.

1. Logs of partitions, each for itself.
2. Logs of coordinators (``__transaction_state``), each with the requests of its transactional ids.
3. Where the two meet, by producer id: what the first steps tell it is spread by ``account.pack``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.engines import Rows, on_engine
from fencepost.protocols.producer_epoch import account, decided
from fencepost.protocols.producer_epoch.account import Account, Replayed
from fencepost.protocols.producer_epoch.asked import concerns_coordinators
from fencepost.protocols.producer_epoch.client_events import client_events
from fencepost.protocols.producer_epoch.coordinators import (
    PARTITION,
    Coordinators,
    coordinator_partitions,
    homes,
    replay_coordinators,
)
from fencepost.protocols.producer_epoch.expiration import expirations
from fencepost.protocols.producer_epoch.facts import Facts, facts
from fencepost.protocols.producer_epoch.markers_due import newest_of
from fencepost.protocols.producer_epoch.meeting import meet, newest_markers
from fencepost.protocols.producer_epoch.partitions import Partitions, replay_partitions
from fencepost.protocols.producer_epoch.producer_requests import APIS, producer_requests
from fencepost.protocols.producer_epoch.refusals import asking_connections
from fencepost.protocols.producer_epoch.tables import (
    ADD_PARTITIONS_TO_TXN_STATES,
    ADD_PARTITIONS_TO_TXNS,
    CARRIED_COUNTS,
    CARRIED_IDS,
    CLIENT_EVENTS,
    END_TXN_STATES,
    END_TXNS,
    INIT_PRODUCER_ID_STATES,
    INIT_PRODUCER_IDS,
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
from fencepost.protocols.producer_epoch.verifications import BEGAN, VERIFIED, verified
from fencepost.replay.entities import Entity, bucket_of, with_entity
from fencepost.replay.evidence import Evidence
from fencepost.replay.keys import METADATA_TOPIC, TRANSACTIONS_TOPIC
from fencepost.replay.log_ends import Ends, final_ends
from fencepost.replay.metadata import ClusterMetadata
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

TABLES = (
    LOG_COVERAGE, TRANSACTIONAL_IDS, PRODUCER_STATES, TRANSACTIONS, TRANSACTION_MARKERS,
    PARTITION_TRANSACTIONS, PRODUCER_SNAPSHOTS, LOCAL_BUMPS, PRODUCER_REQUESTS, PRODUCER_FENCINGS,
    INIT_PRODUCER_IDS, INIT_PRODUCER_ID_STATES, END_TXNS, END_TXN_STATES, ADD_PARTITIONS_TO_TXNS,
    ADD_PARTITIONS_TO_TXN_STATES, CLIENT_EVENTS,
)  # fmt: skip

CARRIED = (PARTITION_LOGS, CARRIED_IDS, CARRIED_COUNTS)
_DECIDED = [table for each in decided.TABLES.values() for table in each]
_BY_NAME = {table.name: table for table in (*TABLES, *CARRIED, BEGAN)}
_ACCOUNT = Table(
    "account",
    "What the replays of single logs tell the step after them: account.PACKED.",
    {"bucket": "int", "kind": "string", "rows": "binary"},
    ("bucket", "kind"),
)
_NEWEST = Table(
    "newest",
    "markers_due.NEWEST: what a task of the last step must know of the others'.",
    {
        "cluster": "string", "topic": "string", "partition": "int", "partition_key": "string",
        "name": "string", "prepared_position": "bigint", "marker_position": "bigint",
    },
    ("cluster", "partition_key", "name"),
)  # fmt: skip
_HOMES = pa.schema(
    [
        ("cluster", pa.string()), ("transactional_id", pa.string()), (PARTITION, pa.int32()),
        ("timestamp_ms", pa.int64()),
    ]
)  # fmt: skip
_CONNECTIONS = pa.schema([("connection", pa.string())])
_TIMES = pa.schema([("cluster", pa.string()), ("ms", pa.int64())])

Change = Callable[[pa.Table], pa.Table]
Steps = Iterable[tuple[Table, pa.Table]]


def rebuild(given: Evidence) -> Mapping[str, Rows]:
    """The rows of TABLES, by the table's name."""
    engine, metadata, tolerance_ms = given.engine, given.metadata, given.tolerance_ms
    # no name for the lines themselves: they are not held while their logs are replayed
    requests = engine.keep(
        engine.map(
            engine.scan(REQUESTS, where=[{"api_key": frozenset(APIS)}]),
            partial(producer_requests, metadata=metadata),
            PRODUCER_REQUESTS.arrow_schema,
        )
    )
    quarantine, files = (engine.collect(engine.scan(table)) for table in (QUARANTINE, FILES))
    of_ids = engine.collect(engine.map(requests, verified, VERIFIED))
    asking = set(engine.collect(engine.map(requests, _connections, _CONNECTIONS))["connection"].to_pylist())

    def spread(table: Table, rows: Rows, entity: Entity) -> list[Rows]:
        return [with_entity(engine, table, rows, entity)]

    answers = engine.map(requests, _with_offset, PRODUCER_REQUESTS.arrow_schema)
    by_log = partial(bucket_of, ("cluster", "topic", "partition"), engine.parallelism)
    of_partitions = engine.replay(
        {
            "batches": spread(BATCHES, engine.scan(BATCHES), by_log),
            "records": spread(RECORDS, engine.scan(RECORDS, where=[{"is_control": True}]), by_log),
            "snapshots": spread(PRODUCER_SNAPSHOT_ENTRIES, engine.scan(PRODUCER_SNAPSHOT_ENTRIES), by_log),
            "aborted": spread(ABORTED_TRANSACTIONS, engine.scan(ABORTED_TRANSACTIONS), by_log),
            "answers": spread(PRODUCER_REQUESTS, answers, by_log),
            "before": spread(PARTITION_LOGS, _before(given, PARTITION_LOGS), by_log),
        },
        _of_partitions(
            {
                "quarantine": quarantine,
                "alive": _alive(given),
                "expirations": expirations(metadata),
                "verified": of_ids,
                "next_ms": dict(given.next_ms),
            },
            asking,
            engine.parallelism,
        ),
        [PRODUCER_STATES, LOG_COVERAGE, PRODUCER_SNAPSHOTS, LOCAL_BUMPS, PARTITION_LOGS, BEGAN, _ACCOUNT],
    )

    coordinators = [{"topic": TRANSACTIONS_TOPIC}]
    records = engine.scan(RECORDS, where=coordinators)
    places = engine.collect(engine.map(records, homes, _HOMES))
    with_partition = PRODUCER_REQUESTS.arrow_schema.append(pa.field(PARTITION, pa.int32()))
    placed = partial(_placed, metadata, places)
    sent = [
        engine.map(requests, lambda rows: placed(rows.filter(concerns_coordinators(rows))), with_partition),
        engine.map(of_partitions[BEGAN.name], placed, with_partition),
    ]
    by_shard = partial(bucket_of, ("cluster", "partition"), engine.parallelism)
    by_coordinator = partial(bucket_of, ("cluster", PARTITION), engine.parallelism)
    sent_by_shard = [
        engine.map(
            each,
            lambda rows: rows.append_column("entity", by_coordinator(rows)),
            with_partition.append(pa.field("entity", pa.string())),
        )
        for each in sent
    ]
    wrote = account.rows_of(_collected(given, of_partitions, account.WROTE), account.WROTE)
    cleaned = engine.collect(engine.scan(CLEANED, where=coordinators))
    ends = final_ends(engine.collect(engine.scan(LOG_ENDS, where=coordinators)), metadata, TRANSACTIONS_TOPIC)
    of_coordinators = engine.replay(
        {
            "batches": spread(BATCHES, engine.scan(BATCHES, where=coordinators), by_shard),
            "records": spread(RECORDS, records, by_shard),
            "requests": sent_by_shard,
            "before": spread(CARRIED_IDS, _before(given, CARRIED_IDS), by_shard),
        },
        _of_coordinators(
            {
                "quarantine": quarantine,
                "cleaned": cleaned,
                "wrote": wrote,
                "began": _began(given),
                "next_ms": dict(given.next_ms),
            },
            ends,
            metadata,
            tolerance_ms,
            engine.parallelism,
        ),
        [TRANSACTIONAL_IDS, TRANSACTIONS, *_DECIDED, LOG_COVERAGE, CARRIED_IDS, _ACCOUNT],
    )

    told = [
        each
        for step in (of_partitions, of_coordinators)
        for each in spread(_ACCOUNT, step[_ACCOUNT.name], _bucket)
    ]
    counted = given.before.get(CARRIED_COUNTS.name)
    if counted is not None and counted.num_rows:
        counted = counted.select(account.schema_of(account.COUNTED).names)
        packed = account.pack({account.COUNTED: counted}, engine.parallelism)
        told += spread(_ACCOUNT, on_engine(engine, _ACCOUNT, packed), _bucket)
    whole = account.together(
        _collected(given, each, *account.FACTS) for each in (of_partitions, of_coordinators)
    )
    known = facts(whole, files, metadata)
    newest = engine.collect(engine.replay({"account": told}, _newest(known), [_NEWEST])[_NEWEST.name])
    met = engine.replay(
        {"account": told},
        _meeting(known, newest_of([newest]), tolerance_ms),
        [PARTITION_TRANSACTIONS, TRANSACTION_MARKERS, PRODUCER_FENCINGS, CARRIED_COUNTS],
    )
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


def _of_partitions(
    evidence_of_all: Mapping[str, Any], asking: set[str], buckets: int
) -> Callable[[str, Mapping[str, pa.Table]], Steps]:
    def run(_: str, evidence: Mapping[str, pa.Table]) -> Steps:
        for piece in replay_partitions(Partitions(**evidence, **evidence_of_all), asking):
            yield from _given(piece, buckets)

    return run


def _of_coordinators(
    evidence_of_all: Mapping[str, Any],
    ends: Ends,
    metadata: Mapping[str, ClusterMetadata],
    tolerance_ms: int,
    buckets: int,
) -> Callable[[str, Mapping[str, pa.Table]], Steps]:
    def run(_: str, evidence: Mapping[str, pa.Table]) -> Steps:
        given = Coordinators(**evidence, **evidence_of_all, ends=ends)
        yield from _given(replay_coordinators(given, metadata, tolerance_ms), buckets)

    return run


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


def _newest(known: Facts) -> Callable[[str, Mapping[str, pa.Table]], Steps]:
    def run(_: str, evidence: Mapping[str, pa.Table]) -> Steps:
        yield _NEWEST, newest_markers(account.unpack(evidence["account"]), known)

    return run


def _meeting(
    known: Facts, newest: pa.Table, tolerance_ms: int
) -> Callable[[str, Mapping[str, pa.Table]], Steps]:
    def run(_: str, evidence: Mapping[str, pa.Table]) -> Steps:
        told = account.unpack(evidence["account"])
        yield from _given(meet(told, known, newest, tolerance_ms), 1)

    return run


def _given(replayed: Replayed, buckets: int) -> Steps:
    yield from ((_BY_NAME[name], rows) for name, rows in replayed.tables.items())
    if replayed.account:
        yield _ACCOUNT, account.pack(replayed.account, buckets)


def _collected(given: Evidence, found: Mapping[str, Rows], *kinds: str) -> Account:
    """The rows of some kinds in what a step told, here."""
    chosen = given.engine.map(found[_ACCOUNT.name], partial(_of_kinds, kinds), _ACCOUNT.arrow_schema)
    return account.unpack(given.engine.collect(chosen))


def _of_kinds(kinds: tuple[str, ...], packed: pa.Table) -> pa.Table:
    return packed.filter(pc.is_in(packed["kind"], pa.array(kinds)))


def _bucket(packed: pa.Table) -> pa.Array:
    return packed["bucket"].cast(pa.string())


def _connections(requests: pa.Table) -> pa.Table:
    return pa.table({"connection": pa.array(sorted(asking_connections(requests)), pa.string())})


def _with_offset(requests: pa.Table) -> pa.Table:
    return requests.filter(pc.greater_equal(requests["base_offset"], 0))


def _placed(metadata: Mapping[str, ClusterMetadata], places: pa.Table, requests: pa.Table) -> pa.Table:
    """The requests, each with the partition of ``__transaction_state`` that its transactional id is in."""
    return requests.append_column(PARTITION, coordinator_partitions(requests, metadata, places))
