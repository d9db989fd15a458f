"""One capture run: from the configured files to the bronze tables.

What becomes of every file is known first, and noted last. Order is what makes a run repeatable: the rows of
a file, then what is wrong with it, then that it was read. A run killed anywhere is repeated from the same
place; rows that are already there are not added. Of a file that was renamed, rotated or written anew
meanwhile nothing is noted: it is read again.
"""

from __future__ import annotations

import dataclasses
import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.capture import quarantine, readers
from fencepost.capture.cleaner import note_cleaned
from fencepost.capture.log_dirs import base_offset, has_no_replicas, with_known_topic_ids
from fencepost.capture.plan import Fault, Plan, Read, Source, bundles
from fencepost.capture.progress import Progress, still_holds
from fencepost.capture.rows import OUTCOME, unreadable
from fencepost.engines import Engine
from fencepost.lake import AtLeast, Where
from fencepost.settings import Settings
from fencepost.tables import (
    ABORTED_TRANSACTIONS,
    BATCHES,
    CLIENT_LINES,
    FILES,
    PRODUCER_SNAPSHOT_ENTRIES,
    RECORDS,
    REQUESTS,
    Table,
)

_log = logging.getLogger(__name__)

# The column that tells offsets, of the tables that grow by them.
_OFFSETS = {BATCHES.name: "base_offset", RECORDS.name: "record_offset"}
# A condition for each topic spares more of a large table; one of thousands could not be planned.
_FEW_TOPICS = 32
_FAULT = tuple(field.name for field in dataclasses.fields(Fault))


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


Outcome = dict[str, Any]
"""A row of OUTCOME."""


def capture(
    settings: Settings,
    catalog: Catalog,
    engine_for: Callable[[int, str], Engine],
    run_id: str,
    report: Callable[[str], None] = _log.info,
) -> CaptureSummary:
    """Read what is new since the last run into ``bronze``; ``report`` is told of progress, line by line.

    ``engine_for`` gives the engine for so many bytes of evidence (and what they are).
    """
    now = datetime.now(UTC)
    plan = make_plan(settings, Progress(catalog))
    size = sum(source.end - source.start for source in plan.sources)
    report(f"{len(plan.sources)} files hold something new ({size / 1e6:.1f} MB)")
    outcomes, added = _read(plan.sources, engine_for, report)
    read = [row for row in outcomes if row["reason"] is None]
    faults = [Fault(*(row[name] for name in _FAULT)) for row in outcomes if row["reason"] is not None]
    clusters = [cluster.name for cluster in settings.clusters]
    quarantined = quarantine.update(catalog, plan, faults, clusters, run_id=run_id, now=now)
    _note_progress(catalog, plan, _unchanged(plan.sources, read), run_id, now)
    note_cleaned(catalog, settings.clusters, run_id, now)
    report(f"{quarantined} pieces of evidence are in quarantine")
    return CaptureSummary(
        files=len(plan.sources),
        batches=added[BATCHES.name],
        records=added[RECORDS.name],
        requests=added[REQUESTS.name],
        producer_snapshots=added[PRODUCER_SNAPSHOT_ENTRIES.name],
        aborted_transactions=added[ABORTED_TRANSACTIONS.name],
        client_lines=added[CLIENT_LINES.name],
        skipped=sum(row["skipped"] for row in read),
        quarantined=quarantined,
    )


def make_plan(settings: Settings, progress: Progress) -> Plan:
    """What is new in the configured files, from where the last run stopped."""
    plan = Plan()
    for find in readers.finds():
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


def _read(
    sources: Sequence[Source], engine_for: Callable[[int, str], Engine], report: Callable[[str], None]
) -> tuple[list[Outcome], dict[str, int]]:
    """Read all sources and append their rows; gives back what became of each, and how many rows of each
    table are new, by its name.
    """
    added: dict[str, int] = defaultdict(int)
    if not sources:
        return [], added
    engine = engine_for(sum(source.cost for source in sources), "capture")
    of_kind = [(kind, [source for source in sources if source.kind == kind.name]) for kind in readers.KINDS]
    read = [(table, some) for kind, some in of_kind for table in kind.tables if some]
    tables = [table for table, _ in read]
    found = engine.spread(list(bundles(list(sources))), readers.read_all, [*tables, OUTCOME])
    for table, some in read:
        once = table.name in _OFFSETS and has_no_replicas(some)
        added[table.name] = engine.append_new(table, found[table.name], _within(table, some), distinct=once)
        report(f"{table.name}: {added[table.name]} rows are new")
    return engine.collect(found[OUTCOME.name]).to_pylist(), added


def _unchanged(sources: Sequence[Source], read: Sequence[Outcome]) -> list[Outcome]:
    """What was read of the files that are still the same, so that all their rows came from them."""
    by_origin = {_origin(source): source for source in sources}
    return [
        row
        for row in read
        if still_holds(
            by_origin[row["cluster"], row["broker_id"], row["kind"], row["file"]],
            Read(row["file"], row["head_digest"], row["size"], row["consumed_to"]),
        )
    ]


def _origin(source: Source) -> tuple[str, int | None, str, str]:
    return source.cluster, source.broker_id, source.kind, source.file


def _within(table: Table, sources: Sequence[Source]) -> Where:
    """The part of a table that the rows of these sources can lie in."""
    offset = _OFFSETS.get(table.name)
    if offset is None:
        return [{"cluster": frozenset(source.cluster for source in sources)}]
    first: dict[tuple[str, str | None], int] = {}
    for source in sources:
        topic = (source.cluster, source.topic)
        first[topic] = min(base_offset(source.file), first.get(topic, 1 << 62))
    if len(first) <= _FEW_TOPICS:
        return [
            {"cluster": cluster, "topic": topic, offset: AtLeast(least)}
            for (cluster, topic), least in first.items()
        ]
    topics: dict[str, set[str | None]] = defaultdict(set)
    for cluster, topic_name in first:
        topics[cluster].add(topic_name)
    return [{"cluster": cluster, "topic": frozenset(names)} for cluster, names in topics.items()]


def _note_progress(catalog: Catalog, plan: Plan, read: Sequence[Outcome], run_id: str, now: datetime) -> None:
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
    lake.append(catalog, FILES, FILES.rows([(*row, run_id, now) for row in rows]))
