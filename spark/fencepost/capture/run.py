"""One capture run: from the configured files to the bronze tables.

A run can be repeated because of the order of its writes: the rows of a file, then its faults, then the note
that it was read. A large run repeats this for one part of the files after another. When it is killed, files
that it has noted are not read again, the others are read from the same position, and rows that are in the
tables already are not added. A file that was renamed, rotated or written anew during the run is not noted,
so it is read again.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.capture import readers, stores
from fencepost.capture.checkpoints import (
    note_cleaned,
    note_log_starts,
    unreadable_checkpoints,
)
from fencepost.capture.collectors import collector
from fencepost.capture.copies import copies
from fencepost.capture.cuts import cut
from fencepost.capture.files import modified
from fencepost.capture.former_clusters import check_former_clusters, check_restored
from fencepost.capture.high_watermarks import note_high_watermarks
from fencepost.capture.identities import check_identities
from fencepost.capture.kinds import Kind
from fencepost.capture.log_dirs import base_offset, has_no_replicas, told_apart, with_known_topic_ids
from fencepost.capture.log_ends import note_log_ends
from fencepost.capture.missing_segments import missing_segments
from fencepost.capture.notes import Notes
from fencepost.capture.packed import why_not_read
from fencepost.capture.plan import (
    REQUEST_LOG,
    SEGMENT,
    Origin,
    Partition,
    Plan,
    Source,
    bundles,
    is_text,
)
from fencepost.capture.progress import Progress, planned
from fencepost.capture.replicas import COMPARED
from fencepost.capture.rows import OUTCOME, Rows, not_read, unnamed, unreadable
from fencepost.capture.silent_logs import silent_logs
from fencepost.capture.time_zones import delete_rezoned, plan_rezoned
from fencepost.capture.too_late import TooLate
from fencepost.capture.topic_ids import delete_misnamed
from fencepost.capture.written_ends import written
from fencepost.conditions import Where, Within
from fencepost.engines import Engine, Target
from fencepost.formats.clock import is_set_near
from fencepost.iceberg.catalog import store_properties
from fencepost.protocols import captured
from fencepost.pseudonyms.lakes import check_key
from fencepost.pseudonyms.rows import with_pseudonyms
from fencepost.settings import Settings
from fencepost.tables import BATCHES, Table
from fencepost.words import counted

_log = logging.getLogger(__name__)

# Conditions for each topic leave out more of a large table, but thousands of them could not be planned.
_FEW_TOPICS = 32
# More than clocks are set back at once.
_SET_BACK_MS = 3 * 3_600_000


@dataclass(frozen=True)
class CaptureSummary:
    """The counts of a run: ``files`` read, rows ``added`` to each table of bronze by its name, ``skipped``
    lines, which no protocol reads, lines and batches that are left out since the evidence of their time was
    deleted before they came (``too_late``), the rows that ``bronze.quarantine`` now has (``quarantined``),
    and the files that wait for the next run (``waiting``).
    """

    files: int
    added: Mapping[str, int]
    skipped: int
    too_late: int
    quarantined: int
    waiting: int = 0


def capture(
    settings: Settings,
    catalog: Catalog,
    engine_for: Callable[[int, str], Engine],
    run_id: str,
    report: Callable[[str], None] = _log.info,
    *,
    at_most: int | None = None,
) -> CaptureSummary:
    """Read evidence that is new since the last run into ``bronze``; ``report`` is called with lines about
    progress. Raises SettingsError, before it reads anything, if a log directory is another broker's or
    another cluster's, or if the lake was begun with other pseudonyms.

    ``engine_for`` returns the engine for a number of bytes of evidence, and a name for the work.
    ``at_most``: how many bytes are read; what is over waits for the next run.
    """
    store = store_properties(settings.lake)
    stores.use(store)
    check_identities(settings)
    check_former_clusters(settings, catalog)
    now = datetime.now(UTC)
    written_to = written(settings.clusters)
    plan = make_plan(settings, Progress(catalog, settings.clusters))
    check_restored(plan, catalog)
    if plan.sources or settings.pseudonyms is not None:
        check_key(settings, catalog)
    delete_misnamed(catalog, plan, run_id, now)
    delete_rezoned(catalog, plan, settings.clusters, run_id, now)
    waiting = [] if at_most is None else _newer(plan, at_most)
    later = {each.origin for each in waiting}
    plan.sources = [each for each in plan.sources if each.origin not in later]
    size = sum(source.end - source.start for source in plan.sources)
    hold = counted(len(plan.sources), "file holds", "files hold")
    report(f"{hold} something new ({size / 1e6:.1f} MB)")
    added = dict.fromkeys((table.name for kind in readers.kinds().values() for table in kind.tables), 0)
    notes = Notes(settings, catalog, plan, run_id, now)
    targets = [_target(kind, table, some) for kind, some in _of_kinds(plan) for table in kind.tables]
    if targets:
        engine = engine_for(sum(source.cost for source in plan.sources), "capture")
        tasks = _tasks(plan)
        notes.expect(tasks)
        for done in engine.spread_into(
            tasks, partial(stores.with_store, store, _reading(settings, catalog)), targets, OUTCOME
        ):
            notes.add(done.reported.to_pylist())
            added |= {name: added[name] + count for name, count in done.added.items()}
    note_cleaned(catalog, settings.clusters, run_id, now)
    note_log_starts(catalog, settings.clusters, run_id, now)
    plan.faults += unreadable_checkpoints(settings.clusters)
    plan.faults += missing_segments(catalog, settings.clusters, written_to)
    is_collector = collector(run_id) is not None
    silent = silent_logs(catalog, settings.clusters, plan.faults, is_collector=is_collector)
    heard_later = {(each.cluster, each.broker_id) for each in waiting if each.kind == REQUEST_LOG}
    plan.faults += [each for each in silent if (each.cluster, each.broker_id) not in heard_later]
    notes.finish()
    if notes.too_late:
        left_out = counted(notes.too_late, "line or batch was", "lines and batches were")
        report(f"{left_out} left out: the evidence of their time was deleted before")
    note_log_ends(catalog, settings.clusters, run_id, now)
    note_high_watermarks(catalog, settings.clusters, run_id, now)
    for table in captured():
        lake.compact_files(catalog, table)
    if notes.quarantined:
        report(
            f"bronze.quarantine has {counted(notes.quarantined, 'piece')} of evidence that could not be read"
        )
    return CaptureSummary(
        files=len(plan.sources),
        added=added,
        skipped=notes.skipped,
        too_late=notes.too_late,
        quarantined=notes.quarantined,
        waiting=len(waiting),
    )


def _reading(settings: Settings, catalog: Catalog) -> Callable[[Sequence[Source]], Rows]:
    """Reads sources, without what the lake has deleted by its age, and without the names that the
    configuration does not want in it.
    """
    read: Callable[[Sequence[Source]], Rows] = readers.read_all
    if (too_late := TooLate.of(catalog)) is not None:
        read = partial(too_late.left_out, read)
    return read if settings.pseudonyms is None else partial(with_pseudonyms, settings.pseudonyms, read)


def make_plan(settings: Settings, progress: Progress) -> Plan:
    """The plan for everything in the configured files that the last run has not read."""
    plan = Plan()
    for find in readers.finds():
        # one file may match several patterns
        by_origin: dict[Origin, Source] = {}
        for cluster in settings.clusters:
            of_cluster, faults = find(cluster)
            by_origin |= {source.origin: source for source in of_cluster}
            plan.faults += faults
        for source in list(by_origin.values()):
            if fault := unnamed(source):
                plan.faults.append(fault)
                del by_origin[source.origin]
            elif is_text(source.kind) and (detail := why_not_read(source.file)):
                plan.faults.append(not_read(source, detail))
                del by_origin[source.origin]
        plan.copies |= {source.origin for source in copies(by_origin.values())}
        sources = with_known_topic_ids(
            [each for origin, each in by_origin.items() if origin not in plan.copies]
        )
        sources = told_apart(sources, plan.faults)
        plan.begins |= progress.begins(sources)
        plan_rezoned(plan, sources, progress)
        for source in sources:
            try:
                if source.origin in plan.to_read_again:
                    plan.sources.append(planned(source))
                else:
                    progress.resume(source, plan)
            except OSError as error:
                plan.faults.append(unreadable(source, error))
    return plan


def _newer(plan: Plan, at_most: int) -> list[Source]:
    """The sources that are over ``at_most`` bytes. The oldest files are read, since they are deleted first:
    at least one of them, and those of which rows were deleted.
    """
    size, waiting = 0, []
    for source in sorted(plan.sources, key=_age):
        size += source.cost
        if size > at_most and size > source.cost and source.origin not in plan.to_read_again:
            waiting.append(source)
    return waiting


def _age(source: Source) -> tuple[float, str]:
    try:
        return modified(source.file), source.file
    except OSError:
        return 0.0, source.file


def _of_kinds(plan: Plan) -> Iterator[tuple[Kind, list[Source]]]:
    """The sources of each kind that has some."""
    for kind in readers.kinds().values():
        if some := [source for source in plan.sources if source.kind == kind.name]:
            yield kind, some


def _target(kind: Kind, table: Table, sources: Sequence[Source]) -> Target:
    once = kind.name == SEGMENT and has_no_replicas(sources)
    within = partial(_within, kind.name, table, kind.grows_by.get(table.name))
    times = partial(_times, kind.name) if table.name in kind.same_times else None
    compared = COMPARED if table.name == BATCHES.name else None
    return Target(table, within, distinct=once, times=times, compared=compared)


def _tasks(plan: Plan) -> list[list[Source]]:
    """The sources in tasks. Those that are read again are one task. Logs in text come broker by broker,
    since they are noted that way; large ones are cut. All replicas of a partition are in one task, which then
    finds what they have in common.
    """
    again = [source for source in plan.sources if source.origin in plan.to_read_again]
    of_brokers: dict[object, list[list[Source]]] = defaultdict(list)
    cut_logs: dict[object, list[list[Source]]] = defaultdict(list)
    of_partitions: dict[Partition, list[Source]] = defaultdict(list)
    for source in plan.sources:
        if source.origin in plan.to_read_again:
            continue
        if source.logs_of is None:
            of_partitions[source.cluster, source.topic, source.partition].append(source)
        else:
            parts = _cut(source)
            (of_brokers if len(parts) == 1 else cut_logs)[source.logs_of] += [[each] for each in parts]
    of_brokers[None] = list(of_partitions.values())
    tasks = [
        task
        for name in sorted({*of_brokers, *cut_logs}, key=str)
        # the parts of a log in order: of equal rows the first is kept
        for task in (*cut_logs[name], *bundles(of_brokers[name]))
    ]
    return [*([again] if again else []), *tasks]


def _cut(source: Source) -> list[Source]:
    try:
        return cut(source)
    except OSError:
        # whoever reads it says so
        return [source]


def _times(kind: str, tasks: Sequence[Sequence[Source]], first: int, last: int) -> tuple[int, int]:
    """Between which times equal lines can have been logged, in UTC ms: the same, unless clocks were set back
    about then, so that local time may be read as one of two moments.
    """
    zones = {source.timezone for task in tasks for source in task if source.kind == kind}
    first -= _SET_BACK_MS if any(is_set_near(zone, first, _SET_BACK_MS) for zone in zones) else 0
    last += _SET_BACK_MS if any(is_set_near(zone, last, _SET_BACK_MS) for zone in zones) else 0
    return first, last


def _within(kind: str, table: Table, offset: str | None, tasks: Sequence[Sequence[Source]]) -> Where:
    """The part of a table in which rows of the tasks' sources of one kind can be; ``offset`` is the column
    by which it grows.
    """
    sources = [source for task in tasks for source in task if source.kind == kind]
    if offset is None:
        clusters = frozenset(source.cluster for source in sources)
        brokers = frozenset(source.broker_id for source in sources)
        of_brokers = {"broker_id": brokers} if "broker_id" in table.key else {}
        return [{"cluster": clusters, **of_brokers}] if clusters else []
    place = ("cluster", "topic") if "topic" in table.columns else ("cluster",)
    first_offsets: dict[tuple[str | None, ...], int] = {}
    for source in sources:
        key = (source.cluster, source.topic)[: len(place)]
        first_offsets[key] = min(base_offset(source.file), first_offsets.get(key, 1 << 62))
    if len(first_offsets) <= _FEW_TOPICS:
        return [
            {**dict(zip(place, key, strict=True)), offset: Within(least=least)}
            for key, least in first_offsets.items()
        ]
    topics: dict[str | None, set[str | None]] = defaultdict(set)
    for cluster, *topic in first_offsets:
        topics[cluster] |= set(topic)
    return [
        {"cluster": cluster, **dict.fromkeys(place[1:], frozenset(names))}
        for cluster, names in topics.items()
    ]
