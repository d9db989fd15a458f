"""Batch headers of data topics to bronze, against kafka-dump-log and against merely reading the files.

    python bench/headers.py [gigabytes]

The segments are generated, with real headers, and holes instead of payloads (bench/sparse.py). One run
measures, with the files in the page cache: ``kafka-dump-log`` (batches only; it reads all bytes and checks
every checksum), ``cat`` to /dev/null, and the capture from segments to ``bronze.batches`` in Iceberg, both
in an open session that has run some times, and in its own process with everything that it starts. CPU is
user plus system time of all processes. The capture reads no payload, so it cannot check the checksums of
data. The cost of a capture of 64 batches in the same session is shown, too: this is the cost of Spark and
Iceberg for any size.

There are two goals. With large batches the capture must reach 70 % of the rate of reading; the run fails if
it does not. The capture was also to take a thirtieth of kafka-dump-log's CPU. That cannot be reached end to
end, because Spark takes half of kafka-dump-log's CPU for a run of any size. The factor is only printed.
"""

from __future__ import annotations

import dataclasses
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bronze import cpu_of_tree, settings_for
from sparse import write_partition

from fencepost import lake, pipeline
from fencepost.formats.headers import read_headers
from fencepost.tables import BATCHES

PARTITIONS = 10
CPU_GOAL = 30
RATE_GOAL = 0.7
TOPIC = "payments"
WARM_UPS = 5
FEW = 64


@dataclass(frozen=True)
class Shape:
    """Segments of one batch size; ``share``: of the requested gigabytes; ``large``: the goals apply."""

    name: str
    batch_size: int
    share: float
    large: bool


SHAPES = (
    Shape("1 MiB batches", 1 << 20, 1, large=True),
    Shape("16 KiB batches", 16 << 10, 1, large=False),
    Shape("1 KiB batches", 1 << 10, 0.1, large=False),
)
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Cost:
    """Seconds of wall clock and of CPU; what took less than a tick of the system's clock took one."""

    wall: float
    cpu: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "cpu", max(self.cpu, _TICK_S))


def of_children(work: Callable[[], object]) -> Cost:
    """The cost of ``work`` in processes that it starts and waits for."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    work()
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def of_tree(work: Callable[[], object]) -> Cost:
    """The cost of ``work`` in this process and its children."""
    cpu, began = cpu_of_tree(), time.monotonic()
    work()
    return Cost(time.monotonic() - began, cpu_of_tree() - cpu)


def read(files: list[str]) -> Cost:
    """The cost of only reading the files, the better of two runs: in the first they may not be in the page
    cache.
    """

    def cat() -> None:
        with Path(os.devnull).open("wb") as nothing:
            subprocess.run(["cat", *files], check=True, stdout=nothing)

    return min((of_children(cat) for _ in range(2)), key=lambda cost: cost.wall)


def dump_log(files: list[str], jars: Path) -> Cost:
    """The cost of kafka-dump-log, which prints the headers to /dev/null."""
    command = ["java", "-Xmx512m", "-cp", f"{jars}/kafka-4.3.1/*", "org.apache.kafka.tools.DumpLogSegments"]
    return of_children(
        lambda: subprocess.run(
            [*command, "--files", ",".join(files)],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    )


def to_arrow(files: list[str]) -> Cost:
    """The cost of the capture's reader without Spark: every header and marker to Arrow, the better of two
    runs.
    """

    def walk() -> None:
        for file in map(Path, files):
            position, stop = 0, "limit"
            with file.open("rb", buffering=0) as opened:
                while stop == "limit":
                    walked = read_headers(opened.fileno(), position, file.stat().st_size).walk
                    position, stop = walked.consumed_to, walked.stop
            assert stop == "end", stop

    return min((of_tree(walk) for _ in range(2)), key=lambda cost: cost.cpu)


def in_a_session(folder: Path, names: list[str], counts: list[int]) -> list[Cost]:
    """The costs of captures, one after the other in a session."""
    costs = []
    base = settings_for(folder, names[0])
    for name, count in zip(names, counts, strict=True):
        settings = dataclasses.replace(base, clusters=settings_for(folder, name).clusters)
        with pipeline.Run(settings, f"bench-{name}") as started:

            def run(started: pipeline.Run = started, count: int = count) -> None:
                assert pipeline.STEPS["capture"](started)["bronze.batches"] == count

            costs.append(of_tree(run))
            held = lake.scan(started.catalog, BATCHES, ("base_offset",), [{"cluster": name}]).num_rows
            assert held == count, (held, count)
    return costs


def alone(folder: Path, name: str) -> Cost:
    """The cost of a capture in its own process, from its start to the last commit."""
    began = time.monotonic()
    finished = subprocess.run(
        [sys.executable, __file__, "--once", str(folder), name], check=True, capture_output=True, text=True
    )
    return Cost(time.monotonic() - began, float(finished.stdout.split()[-1]))


def once(folder: Path, name: str) -> None:
    """The capture of ``alone``; prints the CPU seconds of its processes."""
    settings = settings_for(folder, name)
    with pipeline.Run(settings, "bench") as started:
        pipeline.STEPS["capture"](started)
        print(cpu_of_tree())


def report(shape: Shape, size: int, costs: dict[str, Cost]) -> bool:
    """Print the table and the goals of one shape; returns whether a goal was missed."""
    for reader, cost in costs.items():
        print(
            f"{shape.name:16}{reader:34}{cost.wall:9.2f}{cost.cpu:9.2f}{size / cost.wall / 1e6:12,.0f}"
            f"{size / cost.cpu / 1e6:14,.0f}"
        )
    dumped, cat = costs["kafka-dump-log"], costs["cat"]
    missed = False
    for reader in ("headers to Arrow", "capture, open session", "capture, with session start"):
        ours = costs[reader]
        factor, rate = dumped.cpu / ours.cpu, cat.wall / ours.wall
        has_goal = shape.large and reader.endswith("open session")
        missed |= has_goal and rate < RATE_GOAL
        goals = f" (asked for: {CPU_GOAL})", f" (goal {RATE_GOAL:.0%})" if has_goal else ""
        print(
            f"{shape.name}, {reader}: {factor:.1f} times the CPU efficiency of kafka-dump-log{goals[0]}, "
            f"{rate:.0%} of the rate of reading{goals[1]}"
        )
    return missed


def measure(shape: Shape, gigabytes: float, jars: Path) -> bool:
    """Measure one shape and report; returns whether a goal was missed."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        size = int(gigabytes * shape.share * (1 << 30)) // PARTITIONS
        count = sum(
            write_partition(folder / shape.name / f"{TOPIC}-{i}", size, shape.batch_size)
            for i in range(PARTITIONS)
        )
        write_partition(folder / "few" / f"{TOPIC}-0", FEW * shape.batch_size, shape.batch_size)
        warm_ups = [f"few-{i}" for i in range(WARM_UPS)]
        for name in (*warm_ups, "again"):
            (folder / name).symlink_to(folder / (shape.name if name == "again" else "few"))
        files = [str(path) for path in sorted((folder / shape.name).rglob("*.log"))]
        total = sum(Path(file).stat().st_size for file in files)
        print(f"{shape.name}: {count:,} batches in {len(files)} segments, {total / 1e9:.2f} GB", flush=True)
        costs = {
            "cat": read(files),
            "kafka-dump-log": dump_log(files, jars),
            "headers to Arrow": to_arrow(files),
        }
        names = [*warm_ups, shape.name, "again", "few"]
        *_, first, second, few = in_a_session(folder, names, [FEW] * WARM_UPS + [count, count, FEW])
        costs["capture, open session"] = min(first, second, key=lambda cost: cost.cpu)
        costs[f"  of it, whatever the size ({FEW})"] = few
        costs["capture, with session start"] = alone(folder, shape.name)
        return report(shape, total, costs)


def main() -> int:
    """Print the tables; returns 1 if a goal was missed."""
    if sys.argv[1:2] == ["--once"]:
        once(Path(sys.argv[2]), sys.argv[3])
        return 0
    gigabytes = float(sys.argv[1]) if len(sys.argv) > 1 else 10
    jars = Path(os.environ.get("FENCEPOST_JARS", Path(__file__).resolve().parents[1] / ".jars"))
    print(f"{'segments':16}{'reader':34}{'wall s':>9}{'CPU s':>9}{'MB/wall s':>12}{'MB/CPU s':>14}")
    missed = [measure(shape, gigabytes, jars) for shape in SHAPES]
    return int(any(missed))


if __name__ == "__main__":
    sys.exit(main())
