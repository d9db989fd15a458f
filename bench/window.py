"""The cost of a run after a long history: the same window, after 1, 10 and 30 times as much evidence.

    python bench/window.py FOLDER [requests]

A generated cluster (bench/fencing) is captured. Then copies of its commits, as records and as lines of the
request log, are added before it, each one length of history earlier, as so many runs would have appended
them. Prints a line of JSON for each length of history: CPU seconds of a rebuild and a judge with a window of
one length, the first time and again, and of all of history.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost import lake, pipeline
from fencepost.replay.keys import OFFSETS_TOPIC
from fencepost.settings import Lake, load
from fencepost.tables import BATCHES, RECORDS, REQUESTS, Table

TIMES = (1, 10, 30)


def main() -> int:
    """Generate, and measure each length of history."""
    folder, requests = Path(sys.argv[1]), (sys.argv[2:] or ["5000"])[0]
    generator = Path(__file__).with_name("fencing") / "generate.py"
    subprocess.run([sys.executable, str(generator), str(folder), requests, "50", "500"], check=True)
    for times in TIMES:
        print(json.dumps({"history": times, **_measured(folder, times)}), flush=True)
    return 0


def _measured(folder: Path, times: int) -> dict[str, Any]:
    home = folder / f"lake-{times}"
    shutil.rmtree(home, ignore_errors=True)
    place = Lake(str(home / "warehouse"), f"sqlite:///{home / 'catalog.db'}")
    settings = dataclasses.replace(load(folder / "fencepost.toml"), lake=place)
    with pipeline.Run(settings) as run:
        pipeline.STEPS["capture"](run)
        logged = lake.scan(run.catalog, REQUESTS, ("logged_at_ms",))["logged_at_ms"]
        length = pc.max(logged).as_py() - pc.min(logged).as_py() + 60_000
        _write_past(run, times - 1, length)
    costs: dict[str, Any] = {}
    for name in ("first", "again", "all_of_history"):
        window = None if name == "all_of_history" else length
        with pipeline.Run(dataclasses.replace(settings, window_ms=window)) as run:
            begun = time.process_time()
            pipeline.STEPS["rebuild"](run)
            rebuilt = time.process_time()
            pipeline.STEPS["judge"](run)
            judged = time.process_time()
        costs[name] = {"rebuild": round(rebuilt - begun, 1), "judge": round(judged - rebuilt, 1)}
    return {"lines": times * len(logged), **costs}


def _write_past(run: pipeline.Run, copies: int, length: int) -> None:
    """The evidence, and before it so many copies of its commits, each appended separately."""
    batches, records, lines = (lake.scan(run.catalog, table) for table in (BATCHES, RECORDS, REQUESTS))
    of_log = batches.filter(pc.equal(batches["topic"], OFFSETS_TOPIC))
    commits = records.filter(pc.is_in(records["record_type"], pa.array([0, 1], pa.int32())))
    commits = commits.filter(pc.equal(commits["topic"], OFFSETS_TOPIC))
    numbers = _numbered(commits["partition"])
    alone = _with(commits, base_offset=numbers, last_offset=numbers, record_offset=numbers)
    headers = of_log.take(pa.array(np.zeros(alone.num_rows, dtype=np.int64)))
    partitions, ms = alone["partition"], alone["timestamp_ms"]
    headers = _with(headers, partition=partitions, base_offset=numbers, last_offset=numbers)
    headers = _with(
        headers, record_count=pa.array(np.ones(len(numbers), dtype=np.int32)), max_timestamp_ms=ms
    )
    sizes = np.bincount(partitions.to_numpy(), minlength=64)
    for table, each in ((BATCHES, batches), (RECORDS, records)):
        own = pc.equal(each["topic"], OFFSETS_TOPIC).to_numpy()
        lake.replace(run.catalog, table, _moved(each, own, copies * sizes))
    for copy in range(copies):
        earlier = pa.array(np.full(alone.num_rows, (copies - copy) * length))
        for table, each, dated_by in (
            (BATCHES, headers, "max_timestamp_ms"),
            (RECORDS, alone, "timestamp_ms"),
        ):
            moved = _moved(each, np.ones(each.num_rows, dtype=np.bool_), copy * sizes)
            _append(run, table, _with(moved, **{dated_by: pc.subtract(each[dated_by], earlier)}))
        digests = pc.binary_join_element_wise(lines["line_digest"], str(copy), "-")
        logged = pc.subtract(lines["logged_at_ms"], (copies - copy) * length)
        _append(run, REQUESTS, _with(lines, logged_at_ms=logged, line_digest=digests))


def _numbered(partitions: pa.ChunkedArray) -> pa.Array:
    """The number of each row within its partition."""
    costs, next_numbers = np.empty(len(partitions), dtype=np.int64), np.zeros(64, dtype=np.int64)
    for at, partition in enumerate(partitions.to_pylist()):
        costs[at] = next_numbers[partition]
        next_numbers[partition] += 1
    return pa.array(costs)


def _moved(rows: pa.Table, own: Any, by: np.ndarray) -> pa.Table:
    """The rows with the offsets of ``own`` increased by the number in ``by`` for their partition."""
    shift = pa.array(np.where(own, by[np.minimum(rows["partition"].to_numpy(), 63)], 0))
    names = [name for name in ("base_offset", "last_offset", "record_offset") if name in rows.column_names]
    return _with(rows, **{name: pc.add(rows[name], shift) for name in names})


def _with(rows: pa.Table, **columns: Any) -> pa.Table:
    for name, values in columns.items():
        at = rows.schema.get_field_index(name)
        rows = rows.set_column(at, rows.schema.field(at), values.cast(rows.schema.field(at).type))
    return rows


def _append(run: pipeline.Run, table: Table, rows: pa.Table) -> None:
    lake.append(run.catalog, table, rows)


if __name__ == "__main__":
    sys.exit(main())
