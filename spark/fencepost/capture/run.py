"""One capture run: from the configured files to the bronze tables.

What becomes of every file is known first, and noted last. Order is what makes a run repeatable: the rows of
a file, then what is wrong with it, then that it was read. A run killed anywhere is repeated from the same
place; rows that are already there are not added. Of a file that was renamed, rotated or written anew
meanwhile nothing is noted: it is read again.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from fencepost import lake
from fencepost.capture import quarantine, readers
from fencepost.capture.cleaner import note_cleaned
from fencepost.capture.client_logs import find_client_logs
from fencepost.capture.log_dirs import (
    base_offset,
    find_data_files,
    find_internal_files,
    has_no_replicas,
    with_known_topic_ids,
)
from fencepost.capture.plan import Plan, Read, Source
from fencepost.capture.progress import Progress, still_holds
from fencepost.capture.reader import read_planned
from fencepost.capture.request_logs import find_request_logs
from fencepost.capture.rows import OUTCOME, unreadable
from fencepost.lake import (
    ABORTED_TRANSACTIONS,
    BATCHES,
    CLIENT_LINES,
    FILES,
    PRODUCER_SNAPSHOT_ENTRIES,
    RECORDS,
    REQUESTS,
)
from fencepost.settings import Settings

_log = logging.getLogger(__name__)

# The column that tells offsets, of the tables that grow by them.
_OFFSETS = {BATCHES.name: "base_offset", RECORDS.name: "record_offset"}
# A condition for each topic spares more of a large table; one of thousands could not be planned.
_FEW_TOPICS = 32


@dataclass(frozen=True)
class CaptureSummary:
    """What a run added: ``files`` read, rows of each bronze table, lines that say nothing of epochs
    (``skipped``); and how many rows ``bronze.quarantine`` has now."""

    files: int
    batches: int
    records: int
    requests: int
    producer_snapshots: int
    aborted_transactions: int
    client_lines: int
    skipped: int
    quarantined: int


def capture(
    spark: SparkSession, settings: Settings, run_id: str, report: Callable[[str], None] = _log.info
) -> CaptureSummary:
    """Read what is new since the last run into ``bronze``; ``report`` is told of progress, line by line."""
    now = datetime.now(UTC)
    plan = make_plan(settings, Progress(spark))
    size = sum(source.end - source.start for source in plan.sources)
    report(f"{len(plan.sources)} files hold something new ({size / 1e6:.1f} MB)")
    read = (
        read_planned(spark, plan.sources, OUTCOME).where("reason is null").collect() if plan.sources else []
    )
    added = _append_all(spark, plan.sources, read, report)
    faults = _faults(spark, plan.sources, read)
    clusters = [cluster.name for cluster in settings.clusters]
    quarantined = quarantine.update(spark, plan, faults, clusters, run_id=run_id, now=now)
    _note_progress(spark, plan, _unchanged(plan.sources, read), run_id, now)
    note_cleaned(spark, settings.clusters, run_id, now)
    report(f"{quarantined} pieces of evidence are in quarantine")
    return CaptureSummary(
        files=len(plan.sources),
        batches=added[BATCHES.name],
        records=added[RECORDS.name],
        requests=added[REQUESTS.name],
        producer_snapshots=added[PRODUCER_SNAPSHOT_ENTRIES.name],
        aborted_transactions=added[ABORTED_TRANSACTIONS.name],
        client_lines=added[CLIENT_LINES.name],
        skipped=sum(row.skipped for row in read),
        quarantined=quarantined,
    )


def make_plan(settings: Settings, progress: Progress) -> Plan:
    """What is new in the configured files, from where the last run stopped."""
    plan = Plan()
    # Logs in text first: whatever a line read here speaks of, the segments read afterwards hold already.
    # Kafka's own topics last: whatever a partition holds, the coordinator's log knows already.
    for find in (find_client_logs, find_request_logs, find_data_files, find_internal_files):
        # one file may match several patterns
        found: dict[tuple[str, int | None, str], Source] = {}
        for cluster in settings.clusters:
            sources, faults = find(cluster)
            found |= {(cluster.name, source.broker_id, source.file): source for source in sources}
            plan.faults += faults
        for source in with_known_topic_ids(list(found.values())):
            try:
                progress.resume(source, plan)
            except OSError as error:
                plan.faults.append(unreadable(source, error))
    return plan


def _faults(spark: SparkSession, sources: Sequence[Source], read: Sequence[Row]) -> DataFrame | None:
    """Rows of OUTCOME for what is wrong with the sources; None when nothing is."""
    whole = {(row.cluster, row.broker_id, row.kind, row.file) for row in read if not row.faults}
    bad = [source for source in sources if _origin(source) not in whole]
    return read_planned(spark, bad, OUTCOME).where("reason is not null") if bad else None


def _append_all(
    spark: SparkSession, sources: Sequence[Source], read: Sequence[Row], report: Callable[[str], None]
) -> dict[str, int]:
    """Append the rows of every table; gives back how many, by the table's name."""
    found = {(row.cluster, row.broker_id, row.kind, row.file): row for row in read}
    added: dict[str, int] = defaultdict(int)
    for kind, tables in readers.TABLES.items():
        of_kind = [source for source in sources if source.kind == kind]
        for table in tables:
            counted = "records" if table is RECORDS else "entries"
            counts = [(source, row[counted]) for source in of_kind if (row := found.get(_origin(source)))]
            some = [source for source, count in counts if count]
            if some:
                expected = sum(count for _, count in counts)
                added[table.name] = _append(spark, table, some, expected)
                report(f"{table.name}: {added[table.name]} rows are new")
    return added


def _unchanged(sources: Sequence[Source], read: Sequence[Row]) -> list[Row]:
    """What was read of the files that are still the same, so that all their rows came from them."""
    by_origin = {_origin(source): source for source in sources}
    return [
        row
        for row in read
        if still_holds(
            by_origin[row.cluster, row.broker_id, row.kind, row.file],
            Read(row.file, row.head_digest, row["size"], row.consumed_to),
        )
    ]


def _origin(source: Source) -> tuple[str, int | None, str, str]:
    return source.cluster, source.broker_id, source.kind, source.file


def _append(spark: SparkSession, table: lake.Table, sources: Sequence[Source], expected: int) -> int:
    rows = read_planned(spark, sources, table)
    if table.name not in _OFFSETS:
        within = F.col("cluster").isin(*sorted({source.cluster for source in sources}))
        return lake.append_new(spark, table, rows, within)
    within = _offsets_from(sources, _OFFSETS[table.name])
    once = has_no_replicas(sources)
    if once and spark.table(table.name).where(within).isEmpty():
        lake.align(rows, table).writeTo(table.name).append()
        return expected
    return lake.append_new(spark, table, rows, within, distinct=once)


def _offsets_from(sources: Sequence[Source], column: str) -> Column:
    """The part of a table that the rows of these segments can lie in."""
    first: dict[tuple[str, str | None], int] = {}
    for source in sources:
        topic = (source.cluster, source.topic)
        first[topic] = min(base_offset(source.file), first.get(topic, 1 << 62))
    if len(first) > _FEW_TOPICS:
        topics: dict[str, list[str | None]] = defaultdict(list)
        for cluster, name in first:
            topics[cluster].append(name)
        parts = [
            (F.col("cluster") == cluster) & F.col("topic").isin(*names) for cluster, names in topics.items()
        ]
    else:
        parts = [
            (F.col("cluster") == cluster) & (F.col("topic") == topic) & (F.col(column) >= offset)
            for (cluster, topic), offset in first.items()
        ]
    return reduce(or_, parts)


def _note_progress(spark: SparkSession, plan: Plan, read: Sequence[Row], run_id: str, now: datetime) -> None:
    """Append to ``bronze.files``."""
    columns = [name for name in FILES.columns if name not in ("run_id", "captured_at")]
    rows = [tuple(row[name] for name in columns) for row in read]
    rows += [
        (
            *(source.cluster, source.broker_id, source.kind, source.file),
            *(as_of.head_digest, as_of.size, as_of.consumed_to, 0, 0),
        )
        for source, as_of in plan.known
    ]
    if rows:
        spark.createDataFrame([(*row, run_id, now) for row in rows], FILES.ddl).writeTo(FILES.name).append()
