"""One group with very many members, in two sizes: time, CPU, memory, and their growth.

    python bench/fencing/run_crowd.py [small large]

Members, and epochs with them, grow with the commits: 1,000 members in 1,100 epochs commit 100,000 times, and
``1000 10000`` measures 10,000 members with a million commits. A group is not cut into pieces: all of its
lines and records are replayed by one task. The result is compared with the generator's ground truth.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from generate import Size, generate
from measured_step import Took, goal, missed, step
from walk import Mix

AUDIT = Path(__file__).with_name("audit.py")
MEBIBYTES = 4_096
OF_A_MEMBER = 100
FEWEST = 5
"""So few members that an audit of them has only the fixed cost of any audit."""


def main() -> int:
    """Print every run and whether the goals were met; returns 1 if one was missed."""
    small, large = (int(each) for each in sys.argv[1:3] or ("100", "1000"))
    runs = {}
    for members in (FEWEST, small, large):
        with tempfile.TemporaryDirectory() as scratch:
            runs[members] = _audited(Path(scratch), members)
    least, few, many = (runs[members] for members in (FEWEST, small, large))
    what = f"one group of {large:,} members"
    goal(f"{what} within {MEBIBYTES:,} MiB", many.peak <= MEBIBYTES, f"{many.peak:,.0f} MiB")
    growth = large / small
    for part in ("rebuild", "judge"):
        spent, before = (max(run.steps[part]["cpu"] - least.steps[part]["cpu"], 0.01) for run in (many, few))
        measure = f"{spent / before:.1f} times, {large * OF_A_MEMBER / spent:,.0f} requests in a CPU second"
        goal(f"{part} of {what}: linear from {small:,} on", spent / before <= growth * 1.1, measure)
    return int(bool(missed))


def _audited(folder: Path, members: int) -> Took:
    """Generate a cluster, capture, audit and check it; returns the cost of the audit."""
    places = members + members // 10 + 10
    size = Size(members * OF_A_MEMBER, 1, members, 1, topics=2, partitions=places, crowd=True)
    cluster = generate(folder, size, mix=Mix(rebalance_every=1_000, empties=0))
    print(
        f"  {cluster.requests:,} requests by {cluster.members:,} members, {cluster.records:,} records",
        flush=True,
    )
    step(AUDIT, folder, "capture")
    run = step(AUDIT, folder, "audit")
    checked = step(AUDIT, folder, "check").steps["check"]["said"]
    same = checked["commits"] == cluster.commits and not any(checked["wrong"].values())
    goal(
        f"each of {cluster.commits:,} commits is rebuilt as it was generated",
        same,
        "" if same else str(checked),
    )
    return run


if __name__ == "__main__":
    sys.exit(main())
