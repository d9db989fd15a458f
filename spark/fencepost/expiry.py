"""Deletes evidence by its age (``[audit] keep_evidence``), as retention deletes segments of a log: lines of
request logs, and batches of topics of applications with their transaction markers.

First the lake says from where on evidence is kept (:mod:`fencepost.replay.borders`), then what is before is
deleted. Where that is killed, evidence is left that nobody reads any more, and the next time deletes it.

Only evidence decides, and no clock of this machine: a border is the begin of a chapter, by the newest
evidence of its cluster. It is never so late that a run without late evidence would read what is deleted.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pyarrow as pa
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.capture.plan import READ_WHOLE
from fencepost.conditions import Condition, Within
from fencepost.ledger import KEPT, Ledger
from fencepost.replay.borders import Borders, are_before, evidence_since
from fencepost.replay.chapter_snapshots import stored_snapshots
from fencepost.replay.chapters import FIRST
from fencepost.replay.cuts import LOG, LogName
from fencepost.replay.entities import tuples
from fencepost.settings import Settings
from fencepost.tables import BATCHES, BORDERS, RECORDS, REQUEST_IDS, REQUESTS, WINDOWS, Table

log = logging.getLogger(__name__)

_FEW_TOPICS = 200
"""Iceberg compares no longer list of values with the bounds of files."""

_OFFSETS = pa.schema([*((name, BATCHES.arrow_schema.field(name).type) for name in LOG), ("at", pa.int64())])


@dataclass(frozen=True)
class Expired:
    """``since_ms``: cluster -> from when on its evidence is kept, for clusters of which some was deleted.
    ``tables``: table's name -> what was deleted of it this time. ``waits``: whether nothing may be deleted
    until an audit is done.
    """

    since_ms: Mapping[str, int] = field(default_factory=dict)
    tables: Mapping[str, lake.Forgotten] = field(default_factory=dict)
    waits: bool = False


def expire(catalog: Catalog, settings: Settings) -> Expired:
    """Delete evidence that is older than ``settings.keep_evidence_ms`` (None: nothing). This process must
    hold the lake's lock.

    What no run has read yet stays, and nothing is deleted before the last run is done with all that it read.
    """
    borders = Borders.of(catalog)
    if settings.keep_evidence_ms is None:
        return Expired(borders.since_ms)
    ledger = Ledger(catalog, settings)
    if not ledger.has_used_all:
        log.info("no evidence is deleted: the last audit is not done, or had other code or settings")
        return Expired(borders.since_ms, waits=True)
    since_ms = {**borders.since_ms, **_later(catalog, ledger, borders, settings.keep_evidence_ms)}
    if since_ms != borders.since_ms:
        borders = Borders(since_ms, {**borders.offsets, **_offsets(catalog, since_ms)})
        _note(catalog, borders)
    is_before = lake.Chosen((*LOG, "base_offset"), partial(are_before, borders.offsets))
    tables = {
        table.name: lake.forget(catalog, table, where, ledger.read_at(table), also)
        for table, where, also in (
            (REQUEST_IDS, _ids(catalog, since_ms), None),
            (REQUESTS, _older(REQUESTS, since_ms), None),
            (BATCHES, _of_logs(BATCHES, borders), is_before),
            (RECORDS, _of_logs(RECORDS, borders), is_before),
        )
    }
    return Expired(since_ms, tables)


def _later(catalog: Catalog, ledger: Ledger, borders: Borders, keep_ms: int) -> dict[str, int]:
    """Cluster -> from when on its evidence is kept, where that is later than before.

    All evidence stays of the chapters whose rows are kept, and of those from which a later run may continue.
    """
    newest = dict(tuples(lake.scan(catalog, WINDOWS, ("cluster", "newest"))))
    chapters = ledger.entries("rebuild")
    needed: dict[str, int] = {}
    for name, begin in (
        *(each.key for each in chapters if each.state == KEPT),
        *((name, begin) for name, begin in stored_snapshots(catalog) if begin != FIRST),
    ):
        since = FIRST if begin == FIRST else evidence_since(begin)
        needed[name] = min(since, needed.get(name, since))
    later: dict[str, int] = {}
    for name, begin in sorted(each.key for each in chapters):
        until = newest.get(name)
        if until is not None and begin <= min(needed.get(name, FIRST), until.timestamp() * 1000 - keep_ms):
            later[name] = begin
    return {name: begin for name, begin in later.items() if begin > borders.since_ms.get(name, FIRST)}


def _offsets(catalog: Catalog, since_ms: Mapping[str, int]) -> dict[LogName, int]:
    """For logs of applications' topics the first offset that is kept: all batches before it are older.

    A log without a newer batch keeps all: it does not grow, or its dates mean nothing.
    """
    columns = (*LOG, "base_offset", "last_offset")
    older = _older(BATCHES, since_ms)
    topics: dict[str, set[str]] = {}
    for rows in lake.by_file(catalog, BATCHES, ("cluster", "topic"), older):
        for cluster, topic in tuples(rows.group_by(["cluster", "topic"]).aggregate([])):
            if topic not in READ_WHOLE:
                topics.setdefault(cluster, set()).add(topic)
    newer = [
        {"cluster": name, "max_timestamp_ms": Within(least=since_ms[name]), **_named(of_cluster)}
        for name, of_cluster in topics.items()
    ]
    first = _of_each_log(lake.by_file(catalog, BATCHES, columns, newer), "base_offset", "min")
    before = (rows.filter(are_before(first, rows)) for rows in lake.by_file(catalog, BATCHES, columns, older))
    last = _of_each_log(before, "last_offset", "max")
    return {name: offset + 1 for name, offset in last.items()}


def _of_each_log(pieces: Iterable[pa.Table], column: str, how: str) -> dict[LogName, int]:
    """The least or the greatest value of a column in each log of an application's topic."""
    found = _OFFSETS.empty_table()
    for rows in pieces:
        of_logs = rows.group_by(list(LOG)).aggregate([(column, how)])
        of_logs = of_logs.select([*LOG, f"{column}_{how}"]).rename_columns(_OFFSETS.names).cast(_OFFSETS)
        together = pa.concat_tables([found, of_logs]).group_by(list(LOG)).aggregate([("at", how)])
        found = together.select([*LOG, f"at_{how}"]).rename_columns(_OFFSETS.names).cast(_OFFSETS)
    return {
        (cluster, topic, topic_id, partition): at
        for cluster, topic, topic_id, partition, at in tuples(found)
        if topic not in READ_WHOLE
    }


def _older(table: Table, since_ms: Mapping[str, int]) -> list[Condition]:
    return [{"cluster": name, str(table.dated_by): Within(below=ms)} for name, ms in since_ms.items()]


def _of_logs(table: Table, borders: Borders) -> list[Condition]:
    """Chooses the older rows of topics of which batches are deleted, and few others."""
    topics: dict[str, set[str]] = {}
    for cluster, topic, *_ in borders.offsets:
        topics.setdefault(cluster, set()).add(topic)
    return [
        {**each, **_named(topics[each["cluster"]])}
        for each in _older(table, borders.since_ms)
        if each["cluster"] in topics
    ]


def _named(topics: set[str]) -> Condition:
    return {"topic": frozenset(topics)} if len(topics) <= _FEW_TOPICS else {}


def _ids(catalog: Catalog, since_ms: Mapping[str, int]) -> list[Condition]:
    """Chooses the ids of lines that all are older, of brokers that have later lines: of any other broker the
    lake must go on to know that it wrote a request log.
    """
    where = [{"cluster": name, "last_logged_at_ms": Within(least=ms)} for name, ms in since_ms.items()]
    heard: dict[str, set[int]] = {}
    for rows in lake.by_file(catalog, REQUEST_IDS, ("cluster", "broker_id"), where):
        for cluster, broker_id in tuples(rows.group_by(["cluster", "broker_id"]).aggregate([])):
            heard.setdefault(cluster, set()).add(broker_id)
    return [
        {"cluster": name, "broker_id": frozenset(brokers), "last_logged_at_ms": Within(below=since_ms[name])}
        for name, brokers in heard.items()
    ]


def _note(catalog: Catalog, borders: Borders) -> None:
    rows: list[tuple[Any, ...]] = [
        (cluster, None, None, None, ms, None) for cluster, ms in borders.since_ms.items()
    ]
    rows += [(*name, borders.since_ms[name[0]], offset) for name, offset in borders.offsets.items()]
    lake.replace(catalog, BORDERS, BORDERS.rows(rows))
