"""Every table of producers, from what the logs hold."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from fencepost import lake
from fencepost.rebuild import commits as places
from fencepost.rebuild import topics
from fencepost.rebuild.frames import TRANSACTIONS_TOPIC, as_time
from fencepost.rebuild.producers import (
    coordinator,
    fencings,
    initialisations,
    logs,
    partitions,
    requests,
    snapshots,
    transactions,
)
from fencepost.rebuild.records import undecodable_batches


@dataclass(frozen=True)
class Evidence:
    """What the histories of producers start from, decoded."""

    batches: DataFrame  # logs.batches_of_logs
    stretches: DataFrame  # logs.stretches_of_logs
    records: DataFrame  # coordinator.transaction_records
    markers: DataFrame  # partitions.markers
    snapshots: DataFrame  # partitions.snapshots
    aborted: DataFrame  # bronze.aborted_transactions
    files: DataFrame  # bronze.files
    metadata: DataFrame  # topics.metadata
    requests: DataFrame  # bronze.requests
    client_lines: DataFrame  # bronze.client_lines


def evidence(spark: SparkSession, metadata: DataFrame) -> Evidence:
    """Bronze, decoded. ``metadata``: topics.metadata."""
    bronze = spark.table(lake.RECORDS.name)
    batches = logs.batches_of_logs(
        spark.table(lake.BATCHES.name), undecodable_batches(bronze), spark.table(lake.CLEANED.name)
    ).localCheckpoint()
    return Evidence(
        batches,
        logs.stretches_of_logs(batches, spark.table(lake.QUARANTINE.name)).localCheckpoint(),
        coordinator.transaction_records(bronze),
        partitions.markers(bronze),
        partitions.snapshots(spark.table(lake.PRODUCER_SNAPSHOT_ENTRIES.name)),
        spark.table(lake.ABORTED_TRANSACTIONS.name),
        spark.table(lake.FILES.name),
        metadata,
        spark.table(lake.REQUESTS.name),
        spark.table(lake.CLIENT_LINES.name),
    )


def histories(given: Evidence, tolerance_ms: int) -> list[tuple[lake.Table, DataFrame]]:
    """Every table of silver about producers, with its rows."""
    names = topics.created_topics(given.metadata).localCheckpoint()
    asked = requests.requests(given.requests, names).localCheckpoint()

    events = coordinator.events(given.records, given.batches, given.stretches).localCheckpoint()
    pairs = coordinator.granted(asked, events, tolerance_ms).localCheckpoint()
    events = coordinator.with_causes(events, asked, pairs, tolerance_ms).localCheckpoint()
    own_logs = given.batches.where(F.col("topic") == TRANSACTIONS_TOPIC)
    known_until = own_logs.groupBy(*logs.LOG).agg(as_time(F.max("max_timestamp_ms")).alias("last_time"))
    found = transactions.transactions(events, known_until).localCheckpoint()

    appended = partitions.appends(
        logs.of_producers(given.batches), given.markers, given.snapshots, given.stretches
    ).localCheckpoint()
    newest = given.stretches.groupBy(*logs.LOG).agg(F.max("last_offset").alias("last_known"))
    held = partitions.partition_transactions(appended, given.stretches)
    held = partitions.indexed(held, given.aborted, newest).localCheckpoint()
    counts = topics.partition_counts(given.metadata, TRANSACTIONS_TOPIC).localCheckpoint()
    known = transactions.coordinators(events, given.batches, given.stretches, given.files, counts)
    held = transactions.listed(
        held, found, known, transactions.written(asked), tolerance_ms
    ).localCheckpoint()
    states = partitions.producer_states(appended).localCheckpoint()
    ends = transactions.wholeness(given.stretches)

    inits = initialisations.asked_to_initialise(asked, events, counts).localCheckpoint()
    led = pairs.withColumn("coordinator_partition", F.col("partition"))
    leaders = topics.leaders(given.metadata, led, TRANSACTIONS_TOPIC)
    terms = places.terms(initialisations.of_coordinator(own_logs), leaders)
    placed = pairs.unionByName(coordinator.fencing(events)).localCheckpoint()
    candidates = initialisations.candidates(
        inits, events, placed, terms, stretches=given.stretches, tolerance_ms=tolerance_ms
    )
    met = initialisations.states(inits, candidates, events, given.stretches).localCheckpoint()

    refused = fencings.refusals(asked, appended, tolerance_ms).localCheckpoint()
    return [
        (lake.LOG_COVERAGE, logs.log_coverage(given.batches, given.stretches)),
        (lake.TRANSACTIONAL_IDS, coordinator.transactional_ids(events)),
        (lake.PRODUCER_STATES, states),
        (lake.TRANSACTIONS, transactions.silver_transactions(found)),
        (lake.TRANSACTION_MARKERS, transactions.transaction_markers(found, appended, ends)),
        (lake.PARTITION_TRANSACTIONS, held),
        (lake.PRODUCER_SNAPSHOTS, snapshots.producer_snapshots(given.snapshots, states, given.batches)),
        (lake.PRODUCER_REQUESTS, requests.producer_requests(asked)),
        (
            lake.PRODUCER_FENCINGS,
            fencings.producer_fencings(
                fencings.of_transactional(refused, events, found, held, ends),
                fencings.of_idempotent(refused, appended),
            ),
        ),
        (lake.INIT_PRODUCER_IDS, initialisations.init_producer_ids(inits, pairs, met)),
        (lake.INIT_PRODUCER_ID_STATES, met),
        (lake.CLIENT_EVENTS, client_events(given.client_lines)),
    ]


def client_events(lines: DataFrame) -> DataFrame:
    """``silver.client_events``."""
    return lake.align(lines.withColumn("logged_at", as_time(F.col("logged_at_ms"))), lake.CLIENT_EVENTS)
