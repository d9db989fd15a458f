"""However tasks run, and wherever a run is cut off: each key is stored once, with the row that one process
stores.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from inline import Inline, left_behind
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.engines import Engine, Target, intake, new_rows, places, tasks
from fencepost.engines.key_hashes import Hashes, hashes_of
from fencepost.engines.scratch import Scratches
from fencepost.engines.tasks import TaskEngine
from fencepost.opening import ensure
from fencepost.protocols.offset_commit.tables import GROUPS
from fencepost.settings import Settings
from fencepost.tables import BATCHES, Table
from fencepost.tables import UNREAD_EVIDENCE as UNREAD

NAMES = (None, "", "a", "b", 'pay\'ments/../%2F="eu"\n\u2603')
TARGETS = (GROUPS, BATCHES)
HASHES: dict[str, Callable[[pa.Table], Hashes]] = {
    "own": hashes_of,
    "few": lambda keys: hashes_of(keys) % np.uint64(3),
    "one": lambda keys: np.zeros(keys.num_rows, dtype=np.uint64),
}


class KilledError(Exception):
    """A run ends here."""


def _row(table: Table, cluster: str, name: str | None, place: int, number: int) -> dict[str, Any]:
    """A row; ``number``, which no other row has, is not of its key."""
    if table is GROUPS:
        return {"cluster": cluster, "group_id": name, "from_position": place, "group_epoch": number}
    return {"cluster": cluster, "topic": name, "base_offset": place, "crc": number}


def _runs(chance: random.Random, clusters: Sequence[str]) -> list[list[dict[str, pa.Table]]]:
    """The tasks of some runs, each with its rows by the table's name: most keys are in several of them."""
    numbers = iter(range(1 << 20))
    most = chance.choice((1, 3, 30))

    def rows(table: Table) -> pa.Table:
        found = [
            _row(
                table,
                chance.choice(clusters),
                chance.choice(NAMES),
                chance.randrange(most),
                next(numbers),
            )
            for _ in range(chance.choice((0, 1, 4, 12)))
        ]
        return pa.Table.from_pylist(found, schema=table.arrow_schema)

    return [
        [{table.name: rows(table) for table in TARGETS} for _ in range(chance.randrange(1, 5))]
        for _ in range(3)
    ]


def _work(task: dict[str, pa.Table]) -> Iterator[tuple[Table, pa.RecordBatch]]:
    for table in TARGETS:
        for batch in task[table.name].to_batches(max_chunksize=4):
            yield table, batch
    yield UNREAD, UNREAD.rows([[None] * len(UNREAD.columns)]).to_batches()[0]


def _append(engine: Engine, run: Sequence[dict[str, pa.Table]], clusters: Sequence[str]) -> int:
    """Append the rows of the tasks; returns how many are new."""
    targets = [Target(table, lambda _: [{"cluster": frozenset(clusters)}]) for table in TARGETS]
    done = list(engine.spread_into(run, _work, targets, UNREAD))
    assert sum(each.reported.num_rows for each in done) == len(run)
    return sum(sum(each.added.values()) for each in done)


def _stored(catalog: Catalog, clusters: Sequence[str]) -> dict[str, list[str]]:
    found = {
        each.name: lake.scan(catalog, each, where=[{"cluster": frozenset(clusters)}]) for each in TARGETS
    }
    return {name: sorted(map(repr, rows.to_pylist())) for name, rows in found.items()}


def _cut_off(patch: pytest.MonkeyPatch, commits: int) -> None:
    """The run ends before it makes this commit, counted from 0."""
    left = iter(range(commits))

    def until(append: Callable[..., int]) -> Callable[..., int]:
        def append_until(*given: Any) -> int:
            if next(left, None) is None:
                raise KilledError
            return append(*given)

        return append_until

    for name in ("append", "append_files"):
        patch.setattr(lake, name, until(getattr(lake, name)))


@pytest.fixture(scope="module")
def lakes(empty_lake: Callable[[], Settings]) -> tuple[Settings, Settings]:
    return empty_lake(), empty_lake()


@pytest.mark.usefixtures("all_by_tasks")
@pytest.mark.parametrize("hashed", HASHES)
@pytest.mark.parametrize("seed", range(2))
def test_tasks_store_what_one_process_stores(
    hashed: str, seed: int, lakes: tuple[Settings, Settings], times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalogs = [ensure(each.lake) for each in lakes]
    for number in range(times):
        chance = random.Random(f"{hashed} {seed} {number}")
        # a partition's name is a part of its files' paths
        clusters = [f"{seed} {number} {hashed} {each}" for each in ("../c", 'd=e/%2F"?#\n☃')]
        runs = _runs(chance, clusters)
        with monkeypatch.context() as patch:
            for module in (new_rows, intake):
                patch.setattr(module, "hashes_of", HASHES[hashed])
            patch.setattr(places, "FEW_BYTES", chance.choice((-1, 1 << 20)))
            patch.setattr(tasks, "_TASKS_AT_ONCE", chance.choice((1, 64)))
            # rows are appended in the middle of a task
            patch.setattr(intake, "HELD_BYTES", chance.choice((2_000, 1 << 20)))
            one = TaskEngine(catalogs[0])
            for run in runs:
                added = _append(one, run, clusters)
                scratches = Scratches(catalogs[1])
                in_tasks = TaskEngine(catalogs[1], 3, Inline(chance), scratches)
                was_cut_off = chance.random() < 0.5
                if was_cut_off:
                    with pytest.MonkeyPatch.context() as cut, pytest.raises(KilledError):
                        _cut_off(cut, chance.randrange(2))
                        _append(in_tasks, run, clusters)
                    # what a killed run leaves is removed by the next one
                    scratches = Scratches(catalogs[1])
                    scratches.remove()
                    in_tasks = TaskEngine(catalogs[1], 3, Inline(chance), scratches)
                assert _append(in_tasks, run, clusters) == added or was_cut_off
                scratches.remove()
            assert _append(in_tasks, runs[0], clusters) == 0
            scratches.remove()
        assert _stored(catalogs[1], clusters) == _stored(catalogs[0], clusters)
    assert left_behind(lakes[1], catalogs[1], TARGETS) == set()


@pytest.mark.usefixtures("all_by_tasks")
def test_a_row_behind_one_that_is_compared_again_is_not_stored_before_it(
    empty_lake: Callable[[], Settings],
) -> None:
    """The second task's rows are compared again, since the first has one of them; the third waits for it."""
    catalog = ensure(empty_lake().lake)
    keys = [("a",), ("a", "b"), ("b",)]
    run = [
        {
            GROUPS.name: pa.Table.from_pylist(
                [_row(GROUPS, "c", name, 0, number) for name in names], schema=GROUPS.arrow_schema
            ),
            BATCHES.name: BATCHES.arrow_schema.empty_table(),
        }
        for number, names in enumerate(keys)
    ]
    engine = TaskEngine(catalog, 3, Inline(random.Random(0)), Scratches(catalog))
    assert _append(engine, run, ["c"]) == 2
    stored = lake.scan(catalog, GROUPS, ("group_id", "group_epoch")).to_pylist()
    assert {row["group_id"]: row["group_epoch"] for row in stored} == {"a": 0, "b": 1}
    # one commit for the first task, and one for all whose rows were compared again
    assert len(catalog.load_table(GROUPS.name).metadata.snapshots) == 2
