"""Topics that are created and deleted in generated clusters of two sizes: time, CPU, memory, and their
growth.

    python bench/incarnations/run.py [small large]

Incarnations, partitions and clients grow with the requests: 200,000 requests are of 1,000 clients and 10,000
incarnations. Each step has its own process; the rebuilt rows are compared with the generator's ground truth.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "fencing"))

from measured_step import Took, goal, missed, step
from topic_lives import Size, generate

STEPS = Path(__file__).with_name("steps.py")
MEBIBYTES = 2_048
RATE = 10_000
"""The goal for requests per CPU second, for each of the two steps, without the cost of the smallest run."""
FIXED = 200
"""So few requests that a step has only its fixed cost."""
OF_A_CLIENT, OF_AN_INCARNATION = 200, 20


def main() -> int:
    """Print every run and whether the goals were met; returns 1 if one was missed."""
    small, large = (int(each) for each in sys.argv[1:3] or ("20000", "200000"))
    runs = {}
    for requests in (FIXED, small, large):
        with tempfile.TemporaryDirectory() as scratch:
            runs[requests] = _audited(Path(scratch), requests)
    for name in ("rebuild", "judge"):
        least, few, many = (runs[requests][name] for requests in (FIXED, small, large))
        what = f"{name} of {large:,} requests"
        of_goal = f"{many.peak:,.0f} MiB, {many.peak / MEBIBYTES:.2f} of it"
        goal(f"{what} within {MEBIBYTES:,} MiB", many.peak <= MEBIBYTES, of_goal)
        spent, before = (max(took.cpu - least.cpu, 0.01) for took in (many, few))
        rate = large / spent
        measure = f"{rate:,.0f}, {rate / RATE:.2f} of the goal"
        goal(f"{what}: {RATE:,} in a CPU second", rate >= RATE, measure)
        growth = large / small
        goal(
            f"{what}: linear from {small:,} on", spent / before <= growth * 1.1, f"{spent / before:.1f} times"
        )
    return int(bool(missed))


def _audited(folder: Path, requests: int) -> dict[str, Took]:
    """Generate a cluster, capture, rebuild, judge and check it; returns the cost of each step."""
    begun = time.monotonic()
    topics = max(10, requests // OF_AN_INCARNATION)
    cluster = generate(folder, Size(topics, topics, max(10, requests // OF_A_CLIENT), requests))
    print(
        f"  {cluster.requests:,} requests, {cluster.incarnations:,} incarnations, {cluster.records:,} "
        f"records ({time.monotonic() - begun:.0f} s to generate)",
        flush=True,
    )
    took = {name: step(STEPS, folder, name) for name in ("capture", "rebuild", "judge", "check")}
    checked = took["check"].steps["check"]["said"]
    goal(
        f"each of {cluster.requests:,} requests is rebuilt as it was generated",
        not checked["wrong"],
        str(checked)[:2000],
    )
    return took


if __name__ == "__main__":
    sys.exit(main())
