"""Log to bronze: Spark captures a segment of `__consumer_offsets` into Iceberg, in wall and CPU time.

    python bench/bronze.py [records]

The session is up and has run once on a small segment before the clock starts: the measurement has
the capture, the decoding in Python workers and the Iceberg commit, but not the start of a JVM.
"""

from __future__ import annotations

import dataclasses
import sys
import tempfile
import time
from pathlib import Path

import psutil
from formats import write_segment

from fencepost import lake, pipeline
from fencepost.settings import Broker, Cluster, Lake, Settings
from fencepost.tables import RECORDS


def settings_for(folder: Path, name: str) -> Settings:
    """One broker with one log directory in ``folder``."""
    return Settings(
        path=folder / "fencepost.toml",
        lake=Lake(str(folder / "warehouse"), f"sqlite:///{folder / 'catalog.db'}"),
        clusters=(Cluster(name, (Broker(1, (str(folder / name),)),)),),
    )


def cpu_of_tree() -> float:
    """The CPU seconds so far of this process, its JVM and their running workers."""
    me = psutil.Process()
    times = [process.cpu_times() for process in (me, *me.children(recursive=True))]
    return sum(each.user + each.system + each.children_user + each.children_system for each in times)


def main() -> int:
    """Print one line per segment."""
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        segments = (("warm-up", 20_000, 70), ("large batches", wanted, 70), ("small batches", wanted, 1))
        base = settings_for(folder, "warm-up")
        for name, records, per_batch in segments:
            place = folder / name / "__consumer_offsets-0"
            place.mkdir(parents=True)
            count = write_segment(place / "00000000000000000000.log", records, per_batch)
            size = (place / "00000000000000000000.log").stat().st_size
            settings = dataclasses.replace(base, clusters=settings_for(folder, name).clusters)
            with pipeline.Run(settings, f"bench-{name}") as run:
                wall, cpu = time.monotonic(), cpu_of_tree()
                pipeline.STEPS["capture"](run)
                wall, cpu = time.monotonic() - wall, cpu_of_tree() - cpu
                held = lake.scan(run.catalog, RECORDS, ("record_offset",), [{"cluster": name}]).num_rows
                assert held == count, (held, count)
            if name != "warm-up":
                print(
                    f"{name}: {count:,} records ({size / 1e6:.0f} MB) in bronze after {wall:.1f} s wall, "
                    f"{cpu:.1f} s CPU: {count / wall:,.0f} records/s, {count / cpu:,.0f} records/CPU s"
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
