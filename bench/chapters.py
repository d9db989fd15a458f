"""The cost of a run with a little new evidence, if history is rebuilt, judged and built into marts in
chapters.

    python bench/chapters.py FOLDER [requests [chapters]]

A generated cluster (bench/fencing) is captured. A second lake gets the evidence except its last hundredth,
as a run at that time would have found it; it is rebuilt and judged, and the marts are built. Then it gets
the rest, and all steps run again. Prints a line of JSON: CPU seconds of the first run and of the second, of
a run without new evidence, and of a fresh run on all evidence, and whether the rows are the same. Marts are
built in a process of their own, and their number includes its start: without new evidence it is only that.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from bronze import cpu_of_tree

from fencepost import lake, marts, pipeline, stale
from fencepost.ledger import evidence
from fencepost.opening import open_lake
from fencepost.protocols import captured, protocols
from fencepost.replay import chapters
from fencepost.settings import Lake, Settings, load
from fencepost.tables import REQUESTS, VERDICTS, Table

_NEW = 0.01


def main() -> int:
    """Generate, and measure."""
    folder = Path(sys.argv[1])
    requests, count = (*sys.argv[2:4], *("20000", "24")[len(sys.argv[2:4]) :])
    generator = Path(__file__).with_name("fencing") / "generate.py"
    if not (folder / "fencepost.toml").exists():
        subprocess.run([sys.executable, str(generator), str(folder), requests, "50", "500"], check=True)
    print(json.dumps(measured(folder, int(count))))
    return 0


def measured(folder: Path, count: int) -> dict[str, object]:
    """CPU seconds of rebuild, judge and marts, with history in so many chapters."""
    configured = load(folder / "fencepost.toml")
    with pipeline.Run(_at(configured, folder / "captured")) as run:
        pipeline.STEPS["capture"](run)
        logged = lake.scan(run.catalog, REQUESTS, ("logged_at_ms",))["logged_at_ms"]
        oldest, newest = pc.min(logged).as_py(), pc.max(logged).as_py()
        length = max(1000, (newest - oldest) // count)
        # a chapter's margin is an hour of a day
        chapters.OVERLAP_MS = chapters.LATEST_MS = evidence.SLACK_MS = length // 24
        cut = newest - int((newest - oldest) * _NEW)
        settings = _at(dataclasses.replace(configured, chapter_ms=length), folder / "lake")
        results: dict[str, object] = {"lines": len(logged)}
        for name, since, until in (("first", None, cut), ("second", cut, None), ("nothing_new", None, None)):
            with pipeline.Run(settings) as audit:
                if name != "nothing_new":
                    _give(run, audit, since, until)
                results[name] = _cost(audit)
                last_rows = _rows(audit)
    with pipeline.Run(_at(settings, folder / "fresh")) as audit:
        with pipeline.Run(_at(configured, folder / "captured")) as run:
            _give(run, audit, None, None)
        results["fresh"] = _cost(audit)
        results["the_same"] = _rows(audit) == last_rows
    return results


def _at(settings: Settings, home: Path) -> Settings:
    if home.name != "captured":
        shutil.rmtree(home, ignore_errors=True)
    return dataclasses.replace(
        settings, lake=Lake(str(home / "warehouse"), f"sqlite:///{home / 'catalog.db'}")
    )


def _cost(run: pipeline.Run) -> dict[str, float]:
    _ = run.catalog
    begun = time.process_time()
    pipeline.STEPS["rebuild"](run)
    rebuilt = time.process_time()
    pipeline.STEPS["judge"](run)
    judged = time.process_time()
    with ProcessPoolExecutor(1, get_context("spawn")) as other:
        marts_seconds = other.submit(_cost_of_marts, run.settings).result()
    seconds_by_step = {"rebuild": rebuilt - begun, "judge": judged - rebuilt, "marts": marts_seconds}
    return {step: round(seconds, 1) for step, seconds in seconds_by_step.items()}


def _cost_of_marts(settings: Settings) -> float:
    with pipeline.Run(settings) as run:
        pipeline.STEPS["marts"](run)
        return cpu_of_tree()


def _give(of: pipeline.Run, to: pipeline.Run, since: int | None, until: int | None) -> None:
    """Append rows of bronze that were written in between. Rows without a date come with the oldest."""
    for table in captured():
        rows = lake.scan(of.catalog, table)
        if table.dated_by is None:
            rows = rows if since is None else rows.slice(0, 0)
        else:
            ms = rows[table.dated_by]
            after = pa.scalar(True) if since is None else pc.greater_equal(ms, since)
            before = pa.scalar(True) if until is None else pc.less(ms, until)
            both = pc.and_(after, before)
            rows = rows if since is None and until is None else rows.filter(both)
        lake.append(to.catalog, table, rows)


def _rows(run: pipeline.Run) -> dict[str, list[str]]:
    tables: list[Table] = [table for protocol in protocols() for table in protocol.tables]
    rows = {table.name: _sorted(lake.scan(run.catalog, table)) for table in (*tables, *VERDICTS)}
    with open_lake(run.settings) as reader:
        of_dbt = (each for each in stale.models(marts.parse(run.settings)) if each.is_table)
        return rows | {
            each.relation: _sorted(reader.scan(each.relation, list(each.columns))) for each in of_dbt
        }


def _sorted(rows: pa.Table) -> list[str]:
    return sorted(map(repr, rows.to_pylist()))


if __name__ == "__main__":
    sys.exit(main())
