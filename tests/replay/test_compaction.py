"""What compaction leaves of a log says what all of the log says."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.capture.run import capture
from fencepost.engines.tasks import TaskEngine
from fencepost.opening import ensure
from fencepost.protocols.offset_commit.commit_records import CommitRecords
from fencepost.protocols.offset_commit.offsets import OffsetMetadataManager
from fencepost.replay.compaction import compacted
from fencepost.replay.cuts import COMPACTED, LOG
from fencepost.replay.group_coordinator.decoding import commit_records, log_of, markers
from fencepost.replay.group_coordinator.evidence import ShardRows, placed, placed_rows
from fencepost.replay.keys import METADATA_TOPIC, OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from fencepost.replay.logs import by_log
from fencepost.replay.metadata_log import metadata_log
from fencepost.settings import Lake, load
from fencepost.tables import (
    BATCHES,
    CLEANED,
    QUARANTINE,
    RECORDS,
    REQUESTS,
)

CLUSTERS = ("groups-4.3.1", "fencings-4.3.1")


@pytest.fixture(scope="module")
def catalog(captures: Path, tmp_path_factory: pytest.TempPathFactory) -> Catalog:
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
    return catalog


def _logs(catalog: Catalog) -> Iterator[tuple[Any, pa.Table, pa.Table]]:
    """Every log that is compacted and has a few batches: its name, batches and records."""
    rows = [lake.scan(catalog, table, (), [{"topic": COMPACTED}]) for table in (BATCHES, RECORDS)]
    batches, records = (by_log(each, *LOG) for each in rows)
    yield from ((log, each, records[log]) for log, each in batches.items() if each.num_rows > 20)


def _cuts(batches: pa.Table, seed: int) -> list[int]:
    offsets = sorted({*batches["base_offset"].to_pylist(), pc.max(batches["last_offset"]).as_py() + 1})
    return sorted(random.Random(seed).sample(offsets, 3))


def test_compacting_what_was_compacted_gives_what_compacting_all_gives(catalog: Catalog) -> None:
    """So a run may go on from what the run before has left."""
    seen, fewer = set(), 0
    for number, (log, batches, records) in enumerate(_logs(catalog)):
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


def test_what_is_left_of_commits_stores_the_same_offsets(catalog: Catalog) -> None:
    """At the cut, and when the transactions that are open there have ended."""
    stored = 0
    for number, (log, batches, records) in enumerate(_logs(catalog)):
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


def test_what_is_left_of_the_metadata_log_says_the_same(catalog: Catalog) -> None:
    """Records, holes, controllers' terms, and until when it is known; NoOpRecords go."""
    fewer = 0
    for number, (log, batches, records) in enumerate(_logs(catalog)):
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
