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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.capture import quarantine, readers
from fencepost.capture.checkpoints import note_cleaned, note_log_ends
from fencepost.capture.log_dirs import base_offset, has_no_replicas, with_known_topic_ids
from fencepost.capture.plan import SEGMENT, Fault, Plan, Read, Source, bundles
from fencepost.capture.progress import Progress, still_holds
from fencepost.capture.rows import OUTCOME, unreadable
from fencepost.engines import Engine
from fencepost.lake import AtLeast, Where
from fencepost.settings import Settings
from fencepost.tables import FILES, Table

_log = logging.getLogger(__name__)

# A condition for each topic spares more of a large table; one of thousands could not be planned.
_FEW_TOPICS = 32
_FAULT = tuple(field.name for field in dataclasses.fields(Fault))


@dataclass(frozen=True)
class CaptureSummary:
    """What a run added: ``files`` read, rows of each table of bronze by its name there (``added``), lines
    that no protocol asks for (``skipped``); and how many rows ``bronze.quarantine`` has now."""

    files: int
    added: Mapping[str, int]
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
    _forget_unidentified(catalog, plan.identified, read)
    faults = [Fault(*(row[name] for name in _FAULT)) for row in outcomes if row["reason"] is not None]
    clusters = [cluster.name for cluster in settings.clusters]
    quarantined = quarantine.update(catalog, plan, faults, clusters, run_id=run_id, now=now)
    _note_progress(catalog, plan, _unchanged(plan.sources, read), run_id, now)
    note_cleaned(catalog, settings.clusters, run_id, now)
    note_log_ends(catalog, settings.clusters, run_id, now)
    report(f"{quarantined} pieces of evidence are in quarantine")
    return CaptureSummary(
        files=len(plan.sources),
        added={name.removeprefix("bronze."): count for name, count in added.items()},
        skipped=sum(row["skipped"] for row in read),
        quarantined=quarantined,
    )


def make_plan(settings: Settings, progress: Progress) -> Plan:
    """What is new in the configured files, from where the last run stopped."""
    plan = Plan()
    for find in readers.finds():
        # one file may match several patterns
        found: dict[tuple[str, int | None, str, str], Source] = {}
        for cluster in settings.clusters:
            sources, faults = find(cluster)
            found |= {_origin(source): source for source in sources}
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
    kinds = readers.kinds().values()
    added = {table.name: 0 for kind in kinds for table in kind.tables}
    if not sources:
        return [], added
    engine = engine_for(sum(source.cost for source in sources), "capture")
    of_kind = [(kind, [source for source in sources if source.kind == kind.name]) for kind in kinds]
    read = [(kind, table, some) for kind, some in of_kind for table in kind.tables if some]
    tables = [table for _, table, _ in read]
    found = engine.spread(list(bundles(list(sources))), readers.read_all, [*tables, OUTCOME])
    for kind, table, some in read:
        once = kind.name == SEGMENT and has_no_replicas(some)
        within = _within(table, kind.grows_by.get(table.name), some)
        added[table.name] = engine.append_new(table, found[table.name], within, distinct=once)
        report(f"{table.name}: {added[table.name]} rows are new")
    return engine.collect(found[OUTCOME.name]).to_pylist(), added


def _forget_unidentified(catalog: Catalog, identified: Sequence[Source], read: Sequence[Outcome]) -> None:
    """Delete the rows of partitions that were taken when nobody knew the id of their topic: by now they have
    been taken with it.
    """
    done = {(row["cluster"], row["broker_id"], row["kind"], row["file"]) for row in read}
    partitions = {
        (source.cluster, source.topic, source.partition) for source in identified if _origin(source) in done
    }
    where = [
        {"cluster": cluster, "topic": topic, "partition": partition, "topic_id": None}
        for cluster, topic, partition in sorted(partitions, key=repr)
    ]
    for table in {table.name: table for kind in readers.kinds().values() for table in kind.tables}.values():
        if where and {"topic_id", "partition"} <= set(table.columns):
            lake.delete(catalog, table, where)


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


def _within(table: Table, offset: str | None, sources: Sequence[Source]) -> Where:
    """The part of a table that the rows of these sources can lie in; ``offset`` is the column it grows by."""
    if offset is None:
        return [{"cluster": frozenset(source.cluster for source in sources)}]
    place = ("cluster", "topic") if "topic" in table.columns else ("cluster",)
    first: dict[tuple[str | None, ...], int] = {}
    for source in sources:
        named = (source.cluster, source.topic)[: len(place)]
        first[named] = min(base_offset(source.file), first.get(named, 1 << 62))
    if len(first) <= _FEW_TOPICS:
        return [
            {**dict(zip(place, named, strict=True)), offset: AtLeast(least)} for named, least in first.items()
        ]
    topics: dict[str | None, set[str | None]] = defaultdict(set)
    for cluster, *topic in first:
        topics[cluster] |= set(topic)
    return [
        {"cluster": cluster, **dict.fromkeys(place[1:], frozenset(names))}
        for cluster, names in topics.items()
    ]


def _note_progress(catalog: Catalog, plan: Plan, read: Sequence[Outcome], run_id: str, now: datetime) -> None:
    """Append to ``bronze.files``."""
    columns = [name for name in FILES.columns if name not in ("run_id", "captured_at")]
    rows = [tuple(row[name] for name in columns) for row in read]
    rows += [
        (
            *(source.cluster, source.broker_id, source.kind, source.file),
            *(as_of.head_digest, as_of.size, as_of.consumed_to, 0, 0, as_of.file_begins, as_of.topic_id),
        )
        for source, as_of in plan.known
    ]
    lake.append(catalog, FILES, FILES.rows([(*row, run_id, now) for row in rows]))
