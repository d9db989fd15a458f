"""What is kept of coordinators' logs before the window of an audit: the state that it begins with.

Every run carries it forward: what was left at one offset, and what followed it up to the next, compacted once
more, is what compacting all of it leaves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.engines import Engine, Rows
from fencepost.lake import Where
from fencepost.replay.earlier_compaction import OF_WINDOW, WINDOW, EarlierCompaction, Snapshots
from fencepost.replay.entities import last_of_each, tuples, with_entity
from fencepost.replay.group_coordinator.compaction import compacted as compacted_groups
from fencepost.replay.keys import METADATA_TOPIC, OFFSETS_TOPIC
from fencepost.replay.logs import Batches, Log, Longs, longs
from fencepost.replay.metadata_compaction import compacted as compacted_metadata
from fencepost.replay.unreadable import damaged_batches
from fencepost.replay.window import COMPACTED, LOG, Cuts, LogName, log_texts
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

Left = Mapping[str, Rows]
"""What compaction left: the rows of TABLES, by the table's name."""

Steps = Iterable[tuple[Table, pa.Table]]


def compaction(
    engine: Engine,
    catalog: Catalog,
    cuts: Cuts,
    before: tuple[EarlierCompaction, Left] | None,
    chapter: int = WINDOW,
) -> Left:
    """What is left of every coordinator's log before its cut.

    ``before``: what was left earlier, which stands for the past; None where all of it is read again.
    ``chapter``: the begin of what the cuts are for.
    """
    snapshots = Snapshots(lake.snapshot(catalog, BATCHES), lake.snapshot(catalog, RECORDS))
    cleaned = engine.collect(engine.scan(CLEANED, where=_COMPACTED))
    evidence = {
        name: [with_entity(engine, table, each, log_texts) for each in _parts(engine, table, left, before)]
        for name, table, left in (
            ("batches", BATCHES, COMPACTED_BATCHES),
            ("records", RECORDS, COMPACTED_RECORDS),
        )
    }
    ends = before[1][COMPACTED_LOGS.name] if before else engine.scan(COMPACTED_LOGS, where=[])
    evidence["before"] = [with_entity(engine, COMPACTED_LOGS, ends, log_texts)]
    run = partial(_of_log, cuts, cleaned, snapshots, chapter=chapter)
    return engine.replay(evidence, run, TABLES)


def stored(engine: Engine, where: Where = OF_WINDOW) -> Left:
    """What was kept of what compaction left."""
    return {table.name: engine.scan(table, where=where) for table in TABLES}


def store(engine: Engine, catalog: Catalog, left: Left, where: Where = OF_WINDOW) -> None:
    """Keep what compaction left, in place of what ``where`` chooses. A run that is killed meanwhile leaves
    nothing for the next to go on from.
    """
    lake.replace(catalog, COMPACTED_LOGS, COMPACTED_LOGS.arrow_schema.empty_table(), where)
    for table in TABLES:
        engine.replace(table, left[table.name], where)


def _parts(
    engine: Engine, table: Table, left: Table, before: tuple[EarlierCompaction, Left] | None
) -> list[Rows]:
    """What there is of coordinators' logs, or what was left of it and all that may have come since."""
    if before is None:
        return [engine.scan(table, where=_COMPACTED)]
    carried, rows_left = before
    rows = engine.scan(
        table, where=carried.condition("max_timestamp_ms" if table is BATCHES else "timestamp_ms")
    )
    schema = table.arrow_schema
    return [
        engine.map(rows_left[left.name], lambda each: each.select(schema.names), schema),
        engine.map(rows, carried.followed_by, schema),
    ]


def _of_log(
    cuts: Cuts,
    cleaned: pa.Table,
    snapshots: Snapshots,
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
    checkpoints = [*_checkpoints(cleaned, name), *(each["compacted_to"] for each in before if each["whole"])]
    left, records, whole = compacted(batches, records, name, to, checkpoints)
    yield COMPACTED_BATCHES, _of_chapter(COMPACTED_BATCHES, left, chapter)
    yield COMPACTED_RECORDS, _of_chapter(COMPACTED_RECORDS, records, chapter)
    of_log = (*name, to, whole, cuts.since_ms[name[0]], *snapshots, chapter)
    yield COMPACTED_LOGS, COMPACTED_LOGS.rows([of_log])


def _of_chapter(table: Table, rows: pa.Table, chapter: int) -> pa.Table:
    tagged = rows.append_column("chapter", pa.repeat(pa.scalar(chapter, pa.int64()), rows.num_rows))
    return tagged.select(table.arrow_schema.names)


def compacted(
    batches: pa.Table, records: pa.Table, name: LogName, to: int, checkpoints: Iterable[int]
) -> tuple[pa.Table, pa.Table, bool]:
    """What is left of one log's batches and records below an offset, and whether that tells the state there.

    ``checkpoints``: of the log cleaner, and of compaction before.
    """
    batches = batches.filter(pc.less(batches["base_offset"], to))
    records = records.filter(pc.less(records["base_offset"], to))
    reached = [each for each in checkpoints if each <= to]
    log = Log(Batches.of(batches), damaged=damaged_batches(records), cleaned_to=reached)
    whole = _is_whole(log, to, reached)
    # also of a log with holes the last records stay: a checkpoint beyond them may be found later
    left = _LEAVES.get(name[1], _last_of_each_key)
    return *left(batches, records, log), whole


def _is_whole(log: Log, to: int, checkpoints: Sequence[int]) -> bool:
    known_to = max([0, *checkpoints])
    if not len(log):
        return known_to == to
    (first, *others) = log.stretches
    return not others and first.number <= 0 and max(first.last_offset + 1, known_to) == to


def _last_of_each_key(batches: pa.Table, records: pa.Table, log: Log) -> tuple[pa.Table, pa.Table]:
    """The last record of each key, if it has a value, and its batch: as the log cleaner leaves them."""
    place = log.find_all(longs(records["base_offset"]), longs(records["leader_epoch"]))
    survivors = np.flatnonzero(place >= 0)
    records, place = records.take(pa.array(survivors)), place[survivors]
    order = np.argsort(longs(records["record_offset"]), kind="stable")
    codes = longs(records["key"].combine_chunks().dictionary_encode().indices.cast(pa.int64()))[order]
    kept = np.sort(order[last_of_each(codes)])
    valued = pc.is_valid(records["value"].take(pa.array(kept))).to_numpy(zero_copy_only=False)
    kept = kept[valued]
    left = batches.take(pa.array(log.rows))
    counts: Longs = np.bincount(place[kept], minlength=len(log))
    at = left.schema.get_field_index("record_count")
    left = left.set_column(at, left.schema.field(at), pa.array(counts, pa.int32()))
    return left.filter(pa.array(counts > 0)), records.take(pa.array(kept))


def _checkpoints(cleaned: pa.Table, name: LogName) -> list[int]:
    columns = ("cluster", "topic", "partition", "cleaned_to")
    of = (name[0], name[1], name[3])
    return [to for *log, to in tuples(cleaned.select(columns)) if tuple(log) == of]


_LEAVES = {OFFSETS_TOPIC: compacted_groups, METADATA_TOPIC: compacted_metadata}
"""What compaction leaves, where it is not the last record of each key."""
