"""One capture run: from the configured files to the bronze tables.

Order is what makes a run repeatable: the rows of a file first, then what is wrong with it, and that it was
read last. A run killed anywhere is repeated from the same place; rows that are already there are not added.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from fencepost import lake
from fencepost.capture import quarantine
from fencepost.capture.cleaner import note_cleaned
from fencepost.capture.log_dirs import base_offset, find_segments, has_no_replicas, with_known_topic_ids
from fencepost.capture.plan import SEGMENT, Plan, Source
from fencepost.capture.progress import Progress
from fencepost.capture.reader import OUTCOME, PlannedSource, read_planned, unreadable
from fencepost.capture.request_logs import RequestLogSource, find_request_logs
from fencepost.capture.segments import SegmentSource
from fencepost.lake import BATCHES, FILES, RECORDS, REQUESTS
from fencepost.settings import Settings

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CaptureSummary:
    """What a run added: ``files`` read, rows of each bronze table, lines of APIs without epochs
    (``skipped``); and how many rows ``bronze.quarantine`` has now."""

    files: int
    batches: int
    records: int
    requests: int
    skipped: int
    quarantined: int


def capture(
    spark: SparkSession, settings: Settings, run_id: str, report: Callable[[str], None] = _log.info
) -> CaptureSummary:
    """Read what is new since the last run into ``bronze``; ``report`` is told of progress, line by line."""
    now = datetime.now(UTC)
    plan = make_plan(settings, Progress(spark))
    segments = [source for source in plan.sources if source.kind == SEGMENT]
    logs = [source for source in plan.sources if source.kind != SEGMENT]
    size = sum(source.end - source.start for source in plan.sources)
    report(f"{len(segments)} segments and {len(logs)} request logs hold something new ({size / 1e6:.1f} MB)")
    batches = records = requests = 0
    if segments:
        once = has_no_replicas(segments)
        batches = _append(spark, BATCHES, segments, _offsets_from(segments, "base_offset"), distinct=once)
        records = _append(spark, RECORDS, segments, _offsets_from(segments, "record_offset"), distinct=once)
        report(f"{batches} batches with {records} records are new")
    if logs:
        requests = _append(spark, REQUESTS, logs, _of_clusters(logs), distinct=False)
        report(f"{requests} requests are new")
    outcome = _outcome(spark, segments, logs).persist()
    try:
        faults = outcome.where(F.col("reason").isNotNull())
        clusters = [cluster.name for cluster in settings.clusters]
        quarantined = quarantine.update(spark, plan, faults, clusters, run_id=run_id, now=now)
        skipped = _note_progress(spark, plan, outcome, run_id, now)
    finally:
        outcome.unpersist()
    note_cleaned(spark, settings.clusters, run_id, now)
    report(f"{quarantined} pieces of evidence are in quarantine")
    return CaptureSummary(len(plan.sources), batches, records, requests, skipped, quarantined)


def make_plan(settings: Settings, progress: Progress) -> Plan:
    """What is new in the configured files, from where the last run stopped."""
    plan = Plan()
    # Request logs first: whatever a line read here speaks of, the segments read afterwards hold already.
    for find in (find_request_logs, find_segments):
        # one file may match several patterns
        found: dict[tuple[str, int, str], Source] = {}
        for cluster in settings.clusters:
            for broker in cluster.brokers:
                sources, faults = find(cluster.name, broker)
                found |= {(cluster.name, broker.id, source.file): source for source in sources}
                plan.faults += faults
        for source in with_known_topic_ids(list(found.values())):
            try:
                progress.resume(source, plan)
            except OSError as error:
                plan.faults.append(unreadable(source, error))
    return plan


def _append(
    spark: SparkSession, table: lake.Table, sources: Sequence[Source], within: Column, *, distinct: bool
) -> int:
    kind: type[PlannedSource] = RequestLogSource if table is REQUESTS else SegmentSource
    return lake.append_new(spark, table, read_planned(spark, kind, sources, table), within, distinct=distinct)


def _offsets_from(sources: Sequence[Source], column: str) -> Column:
    """The part of a table that the rows of these segments can lie in."""
    first: dict[tuple[str, str | None], int] = {}
    for source in sources:
        topic = (source.cluster, source.topic)
        first[topic] = min(base_offset(source.file), first.get(topic, 1 << 62))
    return reduce(
        or_,
        [
            (F.col("cluster") == cluster) & (F.col("topic") == topic) & (F.col(column) >= offset)
            for (cluster, topic), offset in first.items()
        ],
    )


def _of_clusters(sources: Sequence[Source]) -> Column:
    return F.col("cluster").isin(*sorted({source.cluster for source in sources}))


def _outcome(spark: SparkSession, segments: Sequence[Source], logs: Sequence[Source]) -> DataFrame:
    parts = [
        read_planned(spark, kind, sources, OUTCOME)
        for kind, sources in ((SegmentSource, segments), (RequestLogSource, logs))
        if sources
    ]
    return reduce(DataFrame.unionByName, parts) if parts else spark.createDataFrame([], OUTCOME.ddl)


def _note_progress(spark: SparkSession, plan: Plan, outcome: DataFrame, run_id: str, now: datetime) -> int:
    """Append to ``bronze.files``; gives back the skipped lines."""
    read = outcome.where(F.col("reason").isNull())
    known = spark.createDataFrame(
        [
            (
                *(source.cluster, source.broker_id, source.kind, source.file),
                *(as_of.head_digest, as_of.size, as_of.consumed_to, 0, 0),
            )
            for source, as_of in plan.known
        ],
        ", ".join(
            f"{name} {kind}" for name, kind in FILES.columns.items() if name not in ("run_id", "captured_at")
        ),
    )
    if plan.sources or plan.known:
        rows = read.select(known.columns).unionByName(known)
        rows = rows.withColumns({"run_id": F.lit(run_id), "captured_at": F.lit(now)})
        lake.align(rows, FILES).writeTo(FILES.name).append()
    return int(read.agg(F.coalesce(F.sum("skipped"), F.lit(0))).collect()[0][0])
