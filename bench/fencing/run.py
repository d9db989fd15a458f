"""Audits of 20,000 and 200,000 commits of a generated cluster: time, CPU, memory, and their growth.

    python bench/fencing/run.py [small large]

Members and groups grow with the commits: 10,000 members in 1,000 groups commit 200,000 times, in requests for
one to three partitions. Capture, audit (rebuild and judge in one run) and the comparison with the truth each
have their own process; the goals apply to the audit's, with the start and the end of its JVM.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from generate import Size, generate
from measured_step import Took, goal, missed, step

AUDIT = Path(__file__).with_name("audit.py")
SECONDS, MEBIBYTES = 75, 2_048
"""The goals for the CPU seconds (of the whole process tree, with its start) and the memory of the large
audit.
"""
BEFORE = {20_000: 422.0}
"""The CPU seconds of the former rebuild by joins and windows, by number of requests."""
RATE = 10_000
"""The goal for requests that are rebuilt, or judged, per CPU second, without the cost of the
smallest audit.
"""
FIXED = 200
"""So few commits that an audit of them has only the fixed cost of any audit."""
PER_GROUP, PER_MEMBER = 200, 20


def main() -> int:
    """Print every run and whether the goals were met; returns 1 if one was missed."""
    small, large = (int(each) for each in sys.argv[1:3] or ("20000", "200000"))
    runs = {}
    for commits in (FIXED, small, large):
        with tempfile.TemporaryDirectory() as scratch:
            runs[commits] = _audited(Path(scratch), commits)
    least, few, many = runs[FIXED], runs[small], runs[large]
    if small in BEFORE:
        print(f"  {small:,} requests: {few.cpu:.0f} CPU s, {BEFORE[small]:.0f} before replay", flush=True)
    what = f"{large:,} requests rebuilt and judged"
    goal(f"{what} within {SECONDS} CPU s", many.cpu <= SECONDS, f"{many.cpu:.0f} CPU s")
    goal(f"{what} within {MEBIBYTES:,} MiB", many.peak <= MEBIBYTES, f"{many.peak:,.0f} MiB")
    for part in ("rebuild", "judge"):
        spent = many.steps[part]["cpu"] - least.steps[part]["cpu"]
        rate = (large - FIXED) / spent
        goal(f"{part}: {RATE:,} requests in a CPU second", rate >= RATE, f"{rate:,.0f}")
    growth = large / small
    what = f"linear from {small:,} to {large:,} commits"
    for unit, ratio in (("time", many.wall / few.wall), ("CPU", many.cpu / few.cpu)):
        goal(what, ratio <= growth, f"{ratio:.1f} times the {unit}")
    ratio = (many.cpu - least.cpu) / (few.cpu - least.cpu)
    goal(f"{what}, without what {FIXED} take", ratio <= growth * 1.1, f"{ratio:.1f} times the CPU")
    return int(bool(missed))


def _audited(folder: Path, commits: int) -> Took:
    """Generate a cluster, capture, audit and check it; returns the cost of the audit."""
    begun = time.monotonic()
    cluster = generate(folder, Size(commits, commits // PER_GROUP, commits // PER_MEMBER))
    print(
        f"  {cluster.requests:,} requests for {cluster.commits:,} partitions by {cluster.members:,} members "
        f"in {commits // PER_GROUP:,} groups, {cluster.records:,} records; {cluster.interesting:.1%} not "
        f"an owner's or refused ({time.monotonic() - begun:.0f} s to generate)",
        flush=True,
    )
    step(AUDIT, folder, "capture")
    run = step(AUDIT, folder, "audit")
    checked = step(AUDIT, folder, "check").steps["check"]["said"]
    wrong = checked["wrong"]
    same = checked["commits"] == checked["states"] == cluster.commits and not any(wrong.values())
    goal(
        f"each of {cluster.commits:,} commits is rebuilt as it was generated",
        same,
        "" if same else str(checked),
    )
    return run


if __name__ == "__main__":
    sys.exit(main())
