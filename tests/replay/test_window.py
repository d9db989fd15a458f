"""The window of an audit: what is said of it, all evidence says, too; and what is before it is not read."""

from __future__ import annotations

import dataclasses
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.capture.run import capture
from fencepost.definitions import queries
from fencepost.engines.tasks import TaskEngine
from fencepost.judge.duckdb_engine import DuckEngine
from fencepost.judge.rules import rule
from fencepost.opening import ensure
from fencepost.protocols.offset_commit.commit_records import CommitRecords
from fencepost.protocols.offset_commit.offsets import OffsetMetadataManager
from fencepost.protocols.offset_commit.tables import COMMITS, GROUPS
from fencepost.replay import window
from fencepost.replay.compaction import compacted, compaction, store, stored
from fencepost.replay.cuts import COMPACTED, LOG, Windows
from fencepost.replay.earlier_compaction import usable_compaction
from fencepost.replay.entities import tuples
from fencepost.replay.group_coordinator.decoding import commit_records, log_of, markers
from fencepost.replay.group_coordinator.evidence import ShardRows, placed, placed_rows
from fencepost.replay.keys import METADATA_TOPIC, OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from fencepost.replay.logs import by_log
from fencepost.replay.metadata_log import metadata_log
from fencepost.replay.run import rebuild
from fencepost.settings import Lake, Settings, load
from fencepost.tables import (
    BATCHES,
    CLEANED,
    COMPACTED_LOGS,
    QUARANTINE,
    RECORDS,
    REQUESTS,
    WINDOWS,
)

CLUSTERS = ("groups-4.3.1", "fencings-4.3.1")
WINDOW_MS = 12_000
LATE_MS = 500

Key = tuple[Any, ...]
_JUDGED = "definition, cluster, scope, witness, from_time, to_time, verdict"


class Said(NamedTuple):
    """What an audit says: outcomes of decisions, what was judged of each witness, names."""

    decided: Mapping[Key, Any]
    judged: list[dict[str, Any]]
    since: Mapping[str, Any]
    lives: frozenset[Key]
    commits: frozenset[Key]


class Audits(NamedTuple):
    settings: Settings
    catalog: Catalog

    def of(self, window_ms: int | None) -> Said:
        """Rebuild and judge, in this process."""
        settings = dataclasses.replace(self.settings, window_ms=window_ms)
        rebuild(settings, self.catalog, lambda size, what: TaskEngine(self.catalog))
        windows = lake.scan(self.catalog, WINDOWS)
        decided, judged = {}, []
        with DuckEngine.over(settings.lake, self.catalog) as engine:
            engine.give("places", windows.rename_columns({"cluster": "place"}))
            for query in queries():
                if query.decides:
                    engine.view("found", query.sql)
                    for row in engine.rows("SELECT definition, cluster, subject, outcome FROM found"):
                        decided[row["definition"], row["cluster"], row["subject"]] = row["outcome"]
                else:
                    engine.view("found", f"SELECT {_JUDGED} FROM ({query.sql})")
                    judged += engine.rows(rule("in_window"))
        names = [
            frozenset(tuple(row.values()) for row in lake.scan(self.catalog, table, columns).to_pylist())
            for table, columns in (
                (GROUPS, ("cluster", "group_id", "life")),
                (COMMITS, ("cluster", "commit_id")),
            )
        ]
        since = {row["cluster"]: row["since"] for row in windows.to_pylist()}
        return Said(decided, judged, since, *names)


@pytest.fixture(scope="module")
def audits(captures: Path, tmp_path_factory: pytest.TempPathFactory) -> Audits:
    """Real brokers' logs in a lake."""
    home = tmp_path_factory.mktemp("window")
    loaded = [load(captures / name / "fencepost.toml") for name in CLUSTERS]
    settings = dataclasses.replace(
        loaded[0],
        lake=Lake(str(home / "warehouse"), f"sqlite:///{home / 'catalog.db'}"),
        clusters=tuple(cluster for each in loaded for cluster in each.clusters),
    )
    catalog = ensure(settings.lake)
    capture(settings, catalog, lambda size, what: TaskEngine(catalog), "run")
    return Audits(settings, catalog)


@pytest.fixture(scope="module")
def whole(audits: Audits) -> Said:
    return audits.of(None)


def test_a_window_says_nothing_that_all_evidence_denies(
    audits: Audits, whole: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(window, "LATEST_MS", LATE_MS)
    found = audits.of(WINDOW_MS)
    for key, outcome in found.decided.items():
        assert None in (outcome, whole.decided.get(key)) or outcome == whole.decided[key], key
    before, now = _verdicts(whole), _verdicts(found)
    for key, verdicts in now.items():
        assert False not in verdicts or False in before[key], key
    violated = [row for row in whole.judged if row["verdict"] is False]
    inside = [row for row in violated if row["from_time"] >= found.since[row["cluster"]]]
    # some of what is violated lies before the window, and is no more said
    assert 0 < len(inside) < len(violated)
    for row in inside:
        assert now[_element(row)] & {False, None}, row
    # what is left has the names that it had
    assert found.lives <= whole.lives and found.commits < whole.commits
    # and is known as it was: compaction left the state that the window begins with
    known = [key for key in found.decided if whole.decided.get(key) is not None]
    lost = [key for key in known if found.decided[key] is None]
    assert len(known) > 100 and len(lost) <= 0.02 * len(known)


def _element(row: Mapping[str, Any]) -> Key:
    return (row["definition"], row["cluster"], row["scope"], row["witness"])


def _verdicts(said: Said) -> Mapping[Key, set[bool | None]]:
    found: defaultdict[Key, set[bool | None]] = defaultdict(set)
    for row in said.judged:
        found[_element(row)].add(row["verdict"])
    return found


def test_the_newest_evidence_and_no_clock_tells_the_window(audits: Audits) -> None:
    given = window.windows(audits.catalog, audits.settings)
    newest: dict[str, int] = {}
    for table, dated_by, where in (
        (REQUESTS, "logged_at_ms", None),
        (BATCHES, "max_timestamp_ms", [{"topic": METADATA_TOPIC}]),
    ):
        for cluster, ms in tuples(lake.scan(audits.catalog, table, ("cluster", dated_by), where)):
            newest[cluster] = max(ms, newest.get(cluster, ms))
    assert given.newest == newest
    assert given.since_ms == {}
    assert Windows(given.newest, 1000).since_ms == {name: ms - 1000 for name, ms in given.newest.items()}


def _logs(audits: Audits) -> Iterator[tuple[Any, pa.Table, pa.Table]]:
    """Every log that is compacted and has a few batches: its name, batches and records."""
    rows = [lake.scan(audits.catalog, table, (), [{"topic": COMPACTED}]) for table in (BATCHES, RECORDS)]
    batches, records = (by_log(each, *LOG) for each in rows)
    yield from ((log, each, records[log]) for log, each in batches.items() if each.num_rows > 20)


def _cuts(batches: pa.Table, seed: int) -> list[int]:
    offsets = sorted({*batches["base_offset"].to_pylist(), pc.max(batches["last_offset"]).as_py() + 1})
    return sorted(random.Random(seed).sample(offsets, 3))


def test_compacting_what_was_compacted_gives_what_compacting_all_gives(audits: Audits) -> None:
    """So a run may go on from what the run before has left."""
    seen, fewer = set(), 0
    for number, (log, batches, records) in enumerate(_logs(audits)):
        first, *_, last = _cuts(batches, number)
        at_once = compacted(batches, records, log, last, [])
        left, kept, whole = compacted(batches, records, log, first, [])
        later = pc.greater_equal(batches["base_offset"], first)
        again = compacted(
            pa.concat_tables([left, batches.filter(later)]),
            pa.concat_tables([kept, records.filter(pc.greater_equal(records["base_offset"], first))]),
            log,
            last,
            [first] if whole else [],
        )
        assert _rows(again[:2]) == _rows(at_once[:2]), (log, first, last)
        assert again[2] == at_once[2]
        fewer += pc.sum(pc.less(batches["base_offset"], last)).as_py() - again[0].num_rows
        seen.add(log[1])
    assert fewer > 100
    assert seen == {OFFSETS_TOPIC, TRANSACTIONS_TOPIC, METADATA_TOPIC}


def _rows(tables: tuple[pa.Table, ...]) -> list[list[dict[str, Any]]]:
    return [rows.sort_by("base_offset").to_pylist() for rows in tables]


def test_what_is_left_of_commits_stores_the_same_offsets(audits: Audits) -> None:
    """At the cut, and when the transactions that are open there have ended."""
    stored = 0
    for number, (log, batches, records) in enumerate(_logs(audits)):
        if log[1] != OFFSETS_TOPIC:
            continue
        for cut in _cuts(batches, number):
            left, kept, _ = compacted(batches, records, log, cut, [])
            after = [rows.filter(pc.greater_equal(rows["base_offset"], cut)) for rows in (batches, records)]
            all_of_it = _stored(log, batches, records)
            assert (
                _stored(log, pa.concat_tables([left, after[0]]), pa.concat_tables([kept, after[1]]))
                == all_of_it
            )
            stored += len(all_of_it)
    assert stored > 50


def _stored(log: Any, batches: pa.Table, records: pa.Table) -> dict[Any, int | None]:
    """The offsets that a coordinator has at the end of its log."""
    none = {"quarantine": QUARANTINE, "cleaned": CLEANED, "requests": REQUESTS}
    empty = {name: table.arrow_schema.empty_table() for name, table in none.items()}
    as_log = log_of(ShardRows(log[0], log[3], batches=batches, records=records, **empty))
    commits = CommitRecords(placed_rows(commit_records(records), as_log))
    every = np.arange(len(commits))
    names = (commits.texts(name).objects(every) for name in ("group_id", "topic"))
    keys = list(dict.fromkeys(zip(*names, commits["partition"].tolist(), strict=True)))
    stretches = {each.number: each for each in as_log.stretches}
    manager = OffsetMetadataManager(commits, placed(markers(records), as_log), stretches, keys)
    newest = {key: max(past, key=lambda each: each.at) for key, past in manager._past_of.items() if past}
    return {key: each.committed_offset for key, each in newest.items() if each.committed_offset is not None}


def test_what_is_left_of_the_metadata_log_says_the_same(audits: Audits) -> None:
    """Records, holes, controllers' terms, and until when it is known; NoOpRecords go."""
    fewer = 0
    for number, (log, batches, records) in enumerate(_logs(audits)):
        if log[1] != METADATA_TOPIC:
            continue
        # a batch is missing in the middle
        at = batches.num_rows // 2
        there = pa.concat_tables([batches.slice(0, at), batches.slice(at + 1)])
        unread = QUARANTINE.arrow_schema.empty_table()
        said = metadata_log(there, records, unread)
        for cut in _cuts(batches, number):
            left, kept, _ = compacted(there, records, log, cut, [])
            after = [rows.filter(pc.greater_equal(rows["base_offset"], cut)) for rows in (there, records)]
            both = pa.concat_tables([left, after[0]]), pa.concat_tables([kept, after[1]])
            assert metadata_log(*both, unread) == said
            fewer += pc.sum(pc.less(there["base_offset"], cut)).as_py() - left.num_rows
    assert fewer > 20


def test_what_a_run_left_is_carried_forward(audits: Audits, monkeypatch: pytest.MonkeyPatch) -> None:
    """From one window to a later one, unless evidence was found that lies before."""
    monkeypatch.setattr(window, "LATEST_MS", LATE_MS)
    engine, catalog = TaskEngine(audits.catalog), audits.catalog
    given = window.windows(catalog, audits.settings).newest
    earlier, later = (
        window.cuts(engine, Windows(given, ms).logs_since_ms) for ms in (2 * WINDOW_MS, WINDOW_MS)
    )
    lake.replace(catalog, COMPACTED_LOGS, COMPACTED_LOGS.arrow_schema.empty_table())
    at_once = compaction(engine, catalog, later, None)
    store(engine, catalog, compaction(engine, catalog, earlier, None))
    before = usable_compaction(catalog, later.since_ms)
    assert before is not None and before.cuts.offsets != later.offsets
    again = compaction(engine, catalog, later, (before, stored(engine)))
    for name, rows in at_once.items():
        order = [
            (each, "ascending")
            for each in (*LOG, "base_offset", "record_offset")
            if each in rows.schema.names
        ]
        assert again[name].sort_by(order).equals(rows.sort_by(order)), name
    # a window that has grown
    assert usable_compaction(catalog, {cluster: ms - 1 for cluster, ms in earlier.since_ms.items()}) is None
    # the first record of a log, found late
    name = max(earlier.offsets, key=lambda log: (log[1] in COMPACTED, earlier.offsets[log]))
    row = dict(zip(LOG, name, strict=True)) | {"base_offset": 0, "timestamp_ms": given[name[0]]}
    lake.append(catalog, RECORDS, pa.Table.from_pylist([row], schema=RECORDS.arrow_schema))
    assert usable_compaction(catalog, later.since_ms) is None
