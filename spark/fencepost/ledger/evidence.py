"""Finds the first chapter of each cluster that reads evidence captured since the last rebuild.

A chapter that does not read the new evidence stays as it is (:mod:`fencepost.replay.chapters`). Lines and
batches have dates. Evidence about a place in a log (a snapshot, a checkpoint) is read by the chapters whose
part of the log lies beyond the place: the first batch behind the place dates it, and without such a batch
only the last chapter reads it. A hole is dated by what was read before it. Evidence without a date affects
all chapters.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.protocols import captured
from fencepost.replay import chapters
from fencepost.replay.chapters import FIRST
from fencepost.replay.cuts import LOG, SLACK_MS
from fencepost.replay.entities import tuples
from fencepost.replay.evidence import WITH_ZOOKEEPER
from fencepost.replay.keys import METADATA_TOPIC
from fencepost.replay.log_names import names_of
from fencepost.replay.time_bounds import PARTITION
from fencepost.tables import (
    BATCHES,
    FILES,
    HIGH_WATERMARKS,
    LOG_DIRS,
    METADATA_SNAPSHOTS,
    QUARANTINE,
    TOPIC_ANSWERS,
    TOPIC_LISTS,
    Table,
)

Seen = Mapping[str, int | None]
"""Table's name -> the newest snapshot of that table of bronze that a rebuild has read."""

News = Iterable[tuple[str, int | None]]
"""Clusters with new evidence, and its oldest time. NEWEST: only the last chapter reads it; None: it may be
of any time.
"""

NEWEST = 1 << 62

Row = Mapping[str, Any]

_NAMED_BY_LINES = frozenset({TOPIC_LISTS.name, TOPIC_ANSWERS.name})
"""Tables whose rows matter only if a line refers to them."""

_PLACES = pa.schema(
    [
        ("cluster", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("topic_id", pa.string()),
        ("place", pa.int64()),
    ]
)
_OF_RUN = ("run_id", "captured_at")


def first_that_read_more(catalog: Catalog, seen: Seen, begins: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """Cluster -> the begin of its first chapter that reads new evidence, for clusters that have any.

    ``begins``: cluster -> the begins of its chapters.
    """
    oldest: dict[str, int | None] = {}
    for cluster, ms in _news(catalog, seen):
        before = oldest.get(cluster, NEWEST)
        oldest[cluster] = None if ms is None or before is None else min(ms, before)
    return {name: _first_that_reads(each, oldest[name]) for name, each in begins.items() if name in oldest}


def _first_that_reads(begins: Sequence[int], ms: int | None) -> int:
    """The begin of the first chapter that reads evidence of a time; None: of any time."""
    if ms is None:
        return FIRST
    reads_until = [each + chapters.OVERLAP_MS for each in begins[1:]]
    return next((begin for begin, until in zip(begins, reads_until, strict=False) if ms < until), begins[-1])


def _news(catalog: Catalog, seen: Seen) -> News:
    places: list[pa.Table] = []
    for table in captured():
        if table.name not in seen:
            # an earlier release did not have it
            yield from _all_clusters(catalog, table)
            continue
        since = seen[table.name]
        is_read = table.name not in _NAMED_BY_LINES and not table.is_unread_by_chapters
        if since == lake.snapshot(catalog, table) or not is_read:
            continue
        if of_table := _OWN_NEWS.get(table.name):
            yield from of_table(catalog, since)
            continue
        added = lake.added(catalog, table, _columns(table), None, since)
        if added is None or not (table.dated_by or _has_place(table)):
            yield from _all_clusters(catalog, table)
            continue
        rows = added.read()
        if table.dated_by:
            # dates in a log may go back: a batch may be read before others that are dated earlier
            slack = SLACK_MS if table.offset_column else 0
            oldest = rows.group_by("cluster").aggregate([(table.dated_by, "min")])
            yield from ((cluster, ms - slack) for cluster, ms in tuples(oldest.select([0, 1])))
        elif rows.num_rows:
            new = _new_entries(catalog, table, rows) if table.content_column else rows
            places.append(_placed(table, new))
    if places:
        yield from _dated(catalog, pa.concat_tables(places))


def _with_zookeeper(catalog: Catalog, since: int | None) -> News:
    """Clusters that kept their metadata in ZooKeeper once: of others a log directory tells no news."""
    added = lake.added(catalog, LOG_DIRS, ("cluster",), None, since)
    read = lake.scan(catalog, LOG_DIRS, ("cluster", "version")) if added is None else added.read()
    were = lake.scan(catalog, LOG_DIRS, ("cluster",), [{"version": WITH_ZOOKEEPER}])
    for cluster in {*read["cluster"].to_pylist()} & {*were["cluster"].to_pylist()}:
        yield cluster, None


def _all_clusters(catalog: Catalog, table: Table) -> News:
    for cluster in pc.unique(lake.scan(catalog, table, ("cluster",))["cluster"]).to_pylist():
        yield cluster, None


def _has_place(table: Table) -> bool:
    return table is METADATA_SNAPSHOTS or set(PARTITION) <= table.columns.keys()


def _columns(table: Table) -> tuple[str, ...]:
    if table.content_column:
        return (*table.key, "captured_at", *([table.offset_column] if table.offset_column else []))
    of_partition = [name for name in LOG if name in table.columns]
    return tuple(dict.fromkeys(name for name in (*of_partition, table.dated_by, table.offset_column) if name))


def _new_entries(catalog: Catalog, table: Table, added: pa.Table) -> pa.Table:
    """Of new contents of files the entries that tell something new (_told_anew)."""
    *of_content, entry = table.key
    replica = [name for name in of_content if name != table.content_column]
    place = table.offset_column or entry
    new = {tuple(row.values()) for row in added.select([*replica, str(table.content_column)]).to_pylist()}
    topics = frozenset(pc.unique(added["topic"]).to_pylist())
    rows = lake.scan(catalog, table, _columns(table), [{"topic": topics}]).sort_by("captured_at").to_pylist()
    replicas: dict[tuple[Any, ...], dict[str, dict[int, Row]]] = {}
    for row in rows:
        contents = replicas.setdefault(tuple(row[name] for name in replica), {})
        content = contents.setdefault(row[table.content_column], {})
        if row[entry] is not None:
            content[row[entry]] = row
    found: list[Row] = []
    for of_replica, contents in replicas.items():
        new_here = {digest for digest in contents if (*of_replica, digest) in new}
        found += _told_anew(contents, new_here, place)
    return pa.Table.from_pylist(found, schema=table.schema_of(_columns(table)))


def _told_anew(contents: Mapping[str, Mapping[int, Row]], new: Collection[str], place: str) -> Iterator[Row]:
    """Of the ``new`` contents of one file the entries that no content before had (or had later in the log),
    and the entries of the content before that truncation has removed. Retention removes entries at the begin
    of a log, or moves them on: that is no news of the time in which they were written.

    ``contents``: by digest, in the order in which they were read, the rows by entry.
    """
    known: dict[int, int] = {}
    before: Mapping[int, Row] = {}
    for digest, content in contents.items():
        if digest in new:
            first = min(content, default=None)
            yield from (row for name, row in content.items() if row[place] < known.get(name, NEWEST))
            yield from (
                row for name, row in before.items() if name not in content and (first is None or name > first)
            )
        for name, row in content.items():
            known[name] = min(row[place], known.get(name, NEWEST))
        before = content


def _placed(table: Table, rows: pa.Table) -> pa.Table:
    """The places of new rows in partitions' logs; rows about a partition without an offset count
    from 0 on.
    """
    named = {
        "cluster": rows["cluster"],
        "topic": pa.repeat(METADATA_TOPIC, rows.num_rows) if table is METADATA_SNAPSHOTS else rows["topic"],
        "partition": np.zeros(rows.num_rows) if table is METADATA_SNAPSHOTS else rows["partition"],
        "topic_id": rows["topic_id"] if "topic_id" in rows.column_names else pa.nulls(rows.num_rows),
        "place": rows[table.offset_column] if table.offset_column else np.zeros(rows.num_rows),
    }
    return pa.table(named).cast(_PLACES)


def _dated(catalog: Catalog, places: pa.Table) -> News:
    """Date places by the oldest batch of their log that reaches beyond them. Either may not name the topic's
    id: it is then of any incarnation.
    """
    places = places.group_by([*PARTITION, "topic_id"]).aggregate([("place", "min")])
    places = places.rename_columns([*PARTITION, "of_id", "place_min"])
    topics = frozenset(pc.unique(places["topic"]).to_pylist())
    columns = (*LOG, "last_offset", "max_timestamp_ms")
    batches = lake.scan(catalog, BATCHES, columns, [{"topic": topics}])
    behind = batches.join(places, list(PARTITION), join_type="inner")
    same_log = pc.fill_null(pc.equal(behind["topic_id"], behind["of_id"]), True)
    behind = behind.filter(pc.and_(same_log, pc.greater_equal(behind["last_offset"], behind["place_min"])))
    oldest: dict[str, int | None] = dict.fromkeys(pc.unique(places["cluster"]).to_pylist(), NEWEST)
    oldest |= dict(tuples(behind.group_by("cluster").aggregate([("max_timestamp_ms", "min")]).select([0, 1])))
    return oldest.items()


def _renamed(catalog: Catalog, since: int | None) -> News:
    """The dates of lines whose file has another name now: the log was rolled, or is gone."""
    before = lake.scan_at(catalog, FILES, since)
    if before is None:
        yield from _all_clusters(catalog, FILES)
        return
    names_before = names_of(before)
    renamed: dict[str, set[str]] = {}
    for log, name in names_of(lake.scan(catalog, FILES)).items():
        if names_before.get(log, name) != name:
            renamed.setdefault(log[0], set()).add(log[2])
    for cluster, begins in renamed.items():
        where = [{"cluster": cluster, "file_begins": frozenset(begins)}]
        for table in captured():
            if table.dated_by and "file_begins" in table.columns:
                dates = lake.scan(catalog, table, (table.dated_by,), where)[table.dated_by]
                if len(dates):
                    yield cluster, pc.min(dates).as_py()


def _holes(catalog: Catalog, since: int | None) -> News:
    """The dates of pieces that could not be read and now can, or the other way round."""
    before = lake.scan_at(catalog, QUARANTINE, since)
    if before is None:
        yield from _all_clusters(catalog, QUARANTINE)
        return
    holes = [{_hole(row) for row in rows.to_pylist()} for rows in (before, lake.scan(catalog, QUARANTINE))]
    for each in holes[0] ^ holes[1]:
        yield _read_before(catalog, dict(each))


def _hole(row: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    """The values of a row, without the name of its log, which may change: :func:`_renamed` handles that."""
    but = (*_OF_RUN, "file") if row["file_begins"] else _OF_RUN
    return tuple((name, value) for name, value in row.items() if name not in but)


def _read_before(catalog: Catalog, hole: Mapping[str, Any]) -> tuple[str, int | None]:
    """The cluster of a hole, and the newest date in its file before the hole; None without one."""
    cluster, position = hole["cluster"], hole["position"]
    named_by = "file_begins" if hole["file_begins"] else "file"
    newest = []
    for table in captured():
        column = table.dated_by
        if column is None or not {named_by, "position"} <= table.columns.keys() or position is None:
            continue
        rows = lake.scan(
            catalog, table, (column, "position"), [{"cluster": cluster, named_by: hole[named_by]}]
        )
        dates = rows.filter(pc.less(rows["position"], position))[column]
        newest += [pc.max(dates).as_py()] if len(dates) else []
    return cluster, max(newest, default=None)


def _noted_later(catalog: Catalog, since: int | None) -> News:
    """When the logs had last been known to end where brokers now note their end: refusals that came later may
    be decided now.
    """
    before = lake.scan_at(catalog, HIGH_WATERMARKS, since)
    if before is None:
        yield from _all_clusters(catalog, HIGH_WATERMARKS)
        return
    name = itemgetter(*HIGH_WATERMARKS.key, "high_watermark")
    noted_before = {name(row): row["written_at"] for row in before.to_pylist()}
    for row in lake.scan(catalog, HIGH_WATERMARKS).to_pylist():
        at = noted_before.get(name(row))
        if at != row["written_at"]:
            yield row["cluster"], int((at or row["segment_written_at"]).timestamp() * 1000) - SLACK_MS


_OWN_NEWS = {
    FILES.name: _renamed,
    QUARANTINE.name: _holes,
    LOG_DIRS.name: _with_zookeeper,
    HIGH_WATERMARKS.name: _noted_later,
}
"""The news in rows that are neither dated nor about a place in a log."""
