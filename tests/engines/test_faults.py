"""Tasks that run twice, and what runs leave behind: nothing is stored twice, and nothing stays."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from inline import left_behind

from fencepost import lake
from fencepost.engines import Target, scratch
from fencepost.engines.backends import Backend
from fencepost.engines.processes import Processes
from fencepost.engines.scratch import Scratches
from fencepost.engines.tasks import TaskEngine
from fencepost.lock import identity, locked
from fencepost.opening import ensure
from fencepost.settings import Lake, Settings
from fencepost.tables import BATCHES, LOG_ENDS


def _rows(name: str) -> pa.Table:
    rows = [{"cluster": "c", "topic": name, "base_offset": each} for each in range(100)]
    return pa.Table.from_pylist(rows, schema=BATCHES.arrow_schema)


def test_of_a_task_that_runs_twice_at_the_same_time_one_result_counts(
    empty_lake: Callable[[], Settings], processes: Processes, all_by_tasks: None
) -> None:
    """The back end runs each task on both processes; the other result is dropped with its file."""

    class Twice(Processes):
        def __init__(self) -> None:
            self.cores = processes.cores

        def run(self, what: str, items: Any, work: Any) -> Any:
            doubled = processes.run(what, [each for each in items for _ in range(2)], work)
            return doubled[1::2]

    settings = empty_lake()
    catalog = ensure(settings.lake)
    scratches = Scratches(catalog)
    engine = TaskEngine(catalog, 1, Twice(), scratches)

    def work(rows: pa.Table) -> Iterator[tuple[Any, pa.RecordBatch]]:
        yield BATCHES, rows.to_batches()[0]

    target = Target(BATCHES, lambda _: [{"cluster": "c"}])
    (done,) = engine.spread_into([_rows("a"), _rows("b")], work, [target], LOG_ENDS)
    assert done.added == {BATCHES.name: 200}
    assert engine.replace(BATCHES, engine.scan(BATCHES)) == 200
    topics = Counter(lake.scan(catalog, BATCHES)["topic"].to_pylist())
    assert topics == {"a": 100, "b": 100}
    begun = list(Path(settings.lake.warehouse).rglob("begun-*.json"))
    assert len(begun) > 4
    files = {json.loads(each.read_text())["path"] for each in begun}
    assert len(left_behind(settings, catalog, [BATCHES])) > 1
    scratches.remove()
    assert left_behind(settings, catalog, [BATCHES]) == set()
    assert any(map(os.path.exists, files))
    assert not all(map(os.path.exists, files))


@pytest.mark.parametrize("io", ["pyarrow.PyArrowFileIO", "fsspec.FsspecFileIO"])
def test_what_runs_leave_is_removed_whatever_lists_it(
    io: str, empty_lake: Callable[[], Settings], processes: Backend, all_by_tasks: None
) -> None:
    settings = empty_lake()
    place = Lake(settings.lake.warehouse, settings.lake.catalog, {"py-io-impl": f"pyiceberg.io.{io}"})
    catalog = ensure(place)
    lake.append(catalog, BATCHES, _rows("a"))
    engine = TaskEngine(catalog, 1, processes, Scratches(catalog))
    kept = engine.keep(engine.scan(BATCHES))
    engine.in_tasks("try", [1], lambda _, add: add(BATCHES.name, _rows("b")), [BATCHES], {})
    assert engine.collect(kept).num_rows == 100
    assert len(left_behind(settings, catalog, [BATCHES])) == 2
    # another one removes it
    Scratches(catalog).remove()
    assert left_behind(settings, catalog, [BATCHES]) == set()
    assert lake.scan(catalog, BATCHES).num_rows == 100


def test_what_a_run_of_another_machine_may_still_write_stays_for_days(
    empty_lake: Callable[[], Settings], processes: Backend, all_by_tasks: None, monkeypatch: Any
) -> None:
    settings = empty_lake()
    catalog = ensure(settings.lake)
    engine = TaskEngine(catalog, 1, processes, Scratches(catalog, "there"))
    engine.in_tasks("try", [1], lambda _, add: add(BATCHES.name, _rows("b")), [BATCHES], {})
    left = left_behind(settings, catalog, [BATCHES])
    assert len(left) == 2
    Scratches(catalog, "here").remove()
    assert left_behind(settings, catalog, [BATCHES]) == left
    monkeypatch.setattr(scratch, "STALE", timedelta(seconds=-1))
    Scratches(catalog, "here").remove()
    assert left_behind(settings, catalog, [BATCHES]) == set()


def test_runs_of_one_lake_on_one_machine_have_the_same_lock(empty_lake: Callable[[], Settings]) -> None:
    first, second = empty_lake(), empty_lake()
    named = identity(first)
    with locked(first):
        assert identity(first) == named
    assert identity(second) != named
