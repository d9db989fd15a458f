"""Compacts coordinators' logs and metadata logs before a chapter, which begins with the result.

Each chapter compacts the earlier result together with the records that followed it. That gives the same as
compacting the whole log at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.conditions import Where
from fencepost.engines import Engine, Rows
from fencepost.replay.cuts import COMPACTED, LOG, Cuts, LogName, log_texts
from fencepost.replay.earlier_compaction import EarlierCompaction
from fencepost.replay.entities import last_of_each, tuples, with_entity
from fencepost.replay.group_coordinator.compaction import compacted as compacted_groups
from fencepost.replay.keys import METADATA_TOPIC, OFFSETS_TOPIC
from fencepost.replay.logs import Batches, Log, Longs, longs
from fencepost.replay.metadata_compaction import compacted as compacted_metadata
from fencepost.replay.unreadable import damaged_batches
from fencepost.tables import (
    BATCHES,
    CLEANED,
    COMPACTED_BATCHES,
    COMPACTED_LOGS,
    COMPACTED_RECORDS,
    RECORDS,
    Table,
)

TABLES = (COMPACTED_BATCHES, COMPACTED_RECORDS, COMPACTED_LOGS)

_COMPACTED = [{"topic": COMPACTED}]

CompactedRows = Mapping[str, Rows]
"""The result of compaction: table's name -> rows, for TABLES."""

Steps = Iterable[tuple[Table, pa.Table]]


def compaction(
    engine: Engine,
    cuts: Cuts,
    before: tuple[EarlierCompaction, CompactedRows] | None,
    chapter: int,
) -> CompactedRows:
    """Compact every coordinator's log up to its cut.

    ``before``: an earlier result, from which compaction continues; None: logs are read from their beginning.
    ``chapter``: the begin of the chapter that the cuts are for.
    """
    cleaned = engine.collect(engine.scan(CLEANED, where=_COMPACTED))
    evidence = {
        name: [
            with_entity(engine, table, each, log_texts)
            for each in _parts(engine, table, compacted_table, before)
        ]
        for name, table, compacted_table in (
            ("batches", BATCHES, COMPACTED_BATCHES),
            ("records", RECORDS, COMPACTED_RECORDS),
        )
    }
    ends = before[1][COMPACTED_LOGS.name] if before else engine.scan(COMPACTED_LOGS, where=[])
    evidence["before"] = [with_entity(engine, COMPACTED_LOGS, ends, log_texts)]
    run = partial(_of_log, cuts, cleaned, chapter=chapter)
    return engine.replay(evidence, run, TABLES)


def stored(engine: Engine, where: Where) -> CompactedRows:
    """The rows of a stored result of compaction."""
    return {table.name: engine.scan(table, where=where) for table in TABLES}


def store(engine: Engine, catalog: Catalog, compacted_rows: CompactedRows, where: Where) -> None:
    """Store a result of compaction in place of the rows that ``where`` chooses. If the run is killed
    meanwhile, the next run finds no result to continue from.
    """
    lake.replace(catalog, COMPACTED_LOGS, COMPACTED_LOGS.arrow_schema.empty_table(), where)
    for table in TABLES:
        engine.replace(table, compacted_rows[table.name], where)


def _parts(
    engine: Engine,
    table: Table,
    compacted_table: Table,
    before: tuple[EarlierCompaction, CompactedRows] | None,
) -> list[Rows]:
    """The rows of coordinators' logs: all of them, or an earlier result and the rows that followed it."""
    if before is None:
        return [engine.scan(table, where=_COMPACTED)]
    carried, rows_left = before
    rows = engine.scan(
        table, where=carried.condition("max_timestamp_ms" if table is BATCHES else "timestamp_ms")
    )
    schema = table.arrow_schema
    return [
        engine.map(rows_left[compacted_table.name], lambda each: each.select(schema.names), schema),
        engine.map(rows, carried.followed_by, schema),
    ]


def _of_log(
    cuts: Cuts,
    cleaned: pa.Table,
    _: str,
    evidence: Mapping[str, pa.Table],
    *,
    chapter: int,
) -> Steps:
    batches, records = evidence["batches"], evidence["records"]
    before = evidence["before"].to_pylist()
    found = batches if batches.num_rows else evidence["before"]
    if not (batches.num_rows or before):
        return
    name: LogName = next(iter(tuples(found.select(LOG).slice(0, 1))))
    ends = [each["compacted_to"] for each in before]
    if batches.num_rows:
        ends.append(pc.max(batches["last_offset"]).as_py() + 1)
    to = cuts.offsets.get(name, max(ends))
    checkpoints = [
        *checkpoints_of(cleaned, name),
        *(each["compacted_to"] for each in before if each["whole"]),
    ]
    batches_left, records, whole = compacted(batches, records, name, to, checkpoints)
    yield COMPACTED_BATCHES, _of_chapter(COMPACTED_BATCHES, batches_left, chapter)
    yield COMPACTED_RECORDS, _of_chapter(COMPACTED_RECORDS, records, chapter)
    of_log = (*name, to, whole, cuts.since_ms[name[0]], chapter)
    yield COMPACTED_LOGS, COMPACTED_LOGS.rows([of_log])


def _of_chapter(table: Table, rows: pa.Table, chapter: int) -> pa.Table:
    tagged = rows.append_column("chapter", pa.repeat(pa.scalar(chapter, pa.int64()), rows.num_rows))
    return tagged.select(table.arrow_schema.names)


def compacted(
    batches: pa.Table, records: pa.Table, name: LogName, to: int, checkpoints: Iterable[int]
) -> tuple[pa.Table, pa.Table, bool]:
    """The batches and records that compaction leaves of one log below an offset, and whether they give the
    whole state there.

    ``checkpoints``: of the log cleaner, and of earlier compaction here.
    """
    batches = batches.filter(pc.less(batches["base_offset"], to))
    records = records.filter(pc.less(records["base_offset"], to))
    reached = [each for each in checkpoints if each <= to]
    log = Log(Batches.of(batches), damaged=damaged_batches(records), cleaned_to=reached)
    whole = _is_whole(log, to, reached)
    # the last records are kept even if the log has holes: a checkpoint beyond them may be captured later
    compact = _COMPACTIONS.get(name[1], _last_of_each_key)
    return *compact(batches, records, log), whole


def _is_whole(log: Log, to: int, checkpoints: Sequence[int]) -> bool:
    known_to = max([0, *checkpoints])
    if not len(log):
        return known_to == to
    (first, *others) = log.stretches
    return not others and first.number <= 0 and max(first.last_offset + 1, known_to) == to


def _last_of_each_key(batches: pa.Table, records: pa.Table, log: Log) -> tuple[pa.Table, pa.Table]:
    """The last record of each key, if it has a value, and its batch, as the log cleaner leaves them."""
    place = log.find_all(longs(records["base_offset"]), longs(records["leader_epoch"]))
    survivors = np.flatnonzero(place >= 0)
    records, place = records.take(pa.array(survivors)), place[survivors]
    order = np.argsort(longs(records["record_offset"]), kind="stable")
    codes = longs(records["key"].combine_chunks().dictionary_encode().indices.cast(pa.int64()))[order]
    kept = np.sort(order[last_of_each(codes)])
    valued = pc.is_valid(records["value"].take(pa.array(kept))).to_numpy(zero_copy_only=False)
    kept = kept[valued]
    batches_left = batches.take(pa.array(log.rows))
    counts: Longs = np.bincount(place[kept], minlength=len(log))
    at = batches_left.schema.get_field_index("record_count")
    batches_left = batches_left.set_column(at, batches_left.schema.field(at), pa.array(counts, pa.int32()))
    return batches_left.filter(pa.array(counts > 0)), records.take(pa.array(kept))


def checkpoints_of(cleaned: pa.Table, name: LogName) -> list[int]:
    """The log cleaner's checkpoints of one log among rows of ``bronze.cleaned``. One that was captured
    without a topic id counts for every incarnation.
    """
    columns = ("cluster", "topic", "partition", "topic_id", "cleaned_to")
    of = [name[0], name[1], name[3]]
    return [
        to
        for *log, topic_id, to in tuples(cleaned.select(columns))
        if log == of and topic_id in (None, name[2])
    ]


_COMPACTIONS = {OFFSETS_TOPIC: compacted_groups, METADATA_TOPIC: compacted_metadata}
"""Topics of which compaction leaves other records than the last one of each key."""
