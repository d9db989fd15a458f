"""One rebuild: reads bronze, replaces the tables of silver."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import partial

from pyspark.sql import DataFrame, SparkSession

from fencepost import lake
from fencepost.rebuild import commits as places
from fencepost.rebuild import (
    groups,
    lives,
    members,
    outcome,
    ownership,
    records,
    requests,
    states,
    stretches,
    topics,
    transactions,
    unwritten,
)
from fencepost.rebuild.frames import OFFSETS_TOPIC
from fencepost.rebuild.producers import histories as producers
from fencepost.settings import Settings

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Evidence:
    """What a rebuild starts from, decoded: see the functions that give each frame for its columns."""

    batches: DataFrame  # batches_in_stretches
    stretches: DataFrame  # stretches.STRETCHES
    group_records: DataFrame  # frames.GROUP_RECORD
    commit_records: DataFrame  # records.COMMIT_RECORD
    markers: DataFrame  # transactions.markers
    metadata: DataFrame  # topics.metadata
    releases: DataFrame  # topics.RELEASES
    requests: DataFrame  # bronze.requests


def rebuild(spark: SparkSession, settings: Settings, run_id: str) -> dict[str, int]:
    """Rebuild every history of silver from bronze; each table is replaced whole, in one commit.

    Gives back how many rows each table holds, by name. Running it again on the same bronze gives the same
    tables.
    """
    counts: dict[str, int] = {}
    given = evidence(spark, settings)
    of_producers = producers.evidence(spark, given.metadata)
    for tables in (
        histories(given, settings.clock_tolerance_ms),
        producers.histories(of_producers, settings.clock_tolerance_ms),
    ):
        for table, rows in tables:
            lake.replace(spark, table, rows)
            counts[table.name] = spark.table(table.name).count()
            log.info("%s: %d rows", table.name, counts[table.name], extra={"run_id": run_id})
    return counts


def evidence(spark: SparkSession, settings: Settings) -> Evidence:
    """Bronze, decoded."""
    bronze = spark.table(lake.RECORDS.name)
    of_groups = partial(stretches.of_coordinators, topic=OFFSETS_TOPIC)
    batches = stretches.batches_in_stretches(
        stretches.whole_batches(
            of_groups(spark.table(lake.BATCHES.name)), of_groups(records.undecodable_batches(bronze))
        ).drop("topic", "topic_id", "broker_id"),
        of_groups(spark.table(lake.CLEANED.name)),
    ).localCheckpoint()
    return Evidence(
        batches,
        stretches.stretches(
            batches, of_groups(stretches.unread_pieces(spark.table(lake.QUARANTINE.name)))
        ).localCheckpoint(),
        records.group_records(bronze),
        records.commit_records(bronze),
        transactions.markers(bronze, batches),
        topics.metadata(bronze).localCheckpoint(),
        topics.releases(spark, settings),
        spark.table(lake.REQUESTS.name),
    )


def histories(given: Evidence, tolerance_ms: int) -> list[tuple[lake.Table, DataFrame]]:
    """Every table of silver about groups, with its rows."""
    stored = stretches.in_stretches(given.commit_records, given.batches).localCheckpoint()
    names = topics.topics(given.metadata, stored).localCheckpoint()
    events = lives.events(given.group_records, given.batches, given.stretches).localCheckpoint()
    steps = members.member_steps(events, names).localCheckpoint()
    owned = ownership.ownership(steps).localCheckpoint()
    revoked = ownership.revocations(steps).localCheckpoint()
    epochs = groups.group_epochs(events).localCheckpoint()
    written = stored.where("not tombstone and not based")
    simple = groups.simple_groups(stored.where("not tombstone"), events)

    asked = requests.commits(given.requests, names)
    asked = places.coordinators(
        asked, events, stored, topics.partition_counts(given.metadata)
    ).localCheckpoint()
    pairs = places.record_pairs(asked, written, tolerance_ms).localCheckpoint()
    leaders = topics.leaders(given.metadata, pairs).localCheckpoint()
    terms = places.terms(given.batches, leaders)
    candidates = (
        places.accepted_candidates(pairs, events)
        .unionByName(places.refused_candidates(asked, events, terms, given.stretches, tolerance_ms))
        .localCheckpoint()
    )
    found = states.answers(states.questions(asked, candidates), events, steps, owned, revoked)
    met = unwritten.in_memory(
        outcome.states_met(asked, candidates, found).localCheckpoint(),
        events,
        given.requests,
        leaders,
        tolerance_ms,
    )
    met = outcome.commit_states(met, topics.broker_rules(given.metadata, given.releases)).localCheckpoint()
    became = transactions.outcomes(stored, given.markers, given.stretches).localCheckpoint()
    commits = outcome.offset_commits(
        asked, outcome.records_of(pairs), candidates, met, events
    ).localCheckpoint()
    commits = outcome.with_outcomes(
        commits,
        became,
        *transactions.of_commits(commits, became, given.markers, candidates, tolerance_ms),
    )
    return [
        (lake.GROUPS, groups.consumer_groups(epochs, simple)),
        (lake.MEMBERS, members.group_members(steps, epochs)),
        (lake.OWNED_PARTITIONS, ownership.owned_partitions(owned, names)),
        (lake.REVOKED_PARTITIONS, ownership.revoked_partitions(revoked, steps)),
        (lake.COVERAGE, groups.coverage(events, simple)),
        (lake.COMMITS, commits),
        (lake.COMMIT_STATES, lake.align(met, lake.COMMIT_STATES)),
    ]
