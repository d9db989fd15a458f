"""A classic group of 1,000 members that rebalances again and again: time, CPU, memory, and their growth.

    python bench/rebalances/run.py [rebalances ...]

Each rebalance is a JoinGroup, a SyncGroup and a heartbeat of each member, and a record with all of them. The
request log has only the last rebalances, as after a rotation: LOGGED of them have 210,000 lines. The first
size shows the cost of lines, the largest the cost of records. Each step has its own process; the rebuilt
rows are compared with the generator's ground truth. Without arguments the largest size is 1,000 rebalances.
10,000 (``run.py 10000``) are 4 GB of records, which take too long for ``make bench``.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "fencing"))

from measured_step import Took, goal, missed, step
from rebalance_files import generate
from rebalance_group import Size

STEPS = Path(__file__).with_name("rebalance_steps.py")
MEMBERS, PARTITIONS, LOGGED = 1_000, 2_000, 70
LINES_OF_A_REBALANCE = 3 * MEMBERS
MEBIBYTES = 2_048
RATE = 10_000
"""The goal for requests per CPU second, for each of the two steps, without the cost of the smallest run."""
FEWEST = 2


def main() -> int:
    """Print every run and whether the goals were met; returns 1 if one was missed."""
    sizes = [int(each) for each in sys.argv[1:]] or [LOGGED, 1_000]
    runs = {}
    for rebalances in (FEWEST, *sizes):
        with tempfile.TemporaryDirectory() as scratch:
            runs[rebalances] = _audited(Path(scratch), rebalances)
    for rebalances in sizes:
        lines = LINES_OF_A_REBALANCE * (min(rebalances, LOGGED) - FEWEST)
        for name in ("rebuild", "judge"):
            took = runs[rebalances][name]
            what = f"{name} of {rebalances:,} rebalances"
            spent = max(took.cpu - runs[FEWEST][name].cpu, 0.01)
            goal(f"{what} within {MEBIBYTES:,} MiB", took.peak <= MEBIBYTES, f"{took.peak:,.0f} MiB")
            requests = LINES_OF_A_REBALANCE * (rebalances - FEWEST)
            goal(
                f"{what}: {RATE:,} requests of its members in a CPU second",
                requests / spent >= RATE,
                f"{requests / spent:,.0f}, of {lines / spent:,.0f} lines",
            )
    return int(bool(missed))


def _audited(folder: Path, rebalances: int) -> dict[str, Took]:
    """Generate a cluster, capture, rebuild, judge and check it; returns the cost of each step."""
    begun = time.monotonic()
    cluster = generate(folder, Size(MEMBERS, PARTITIONS, rebalances, min(rebalances, LOGGED)))
    print(
        f"  {rebalances:,} rebalances of {MEMBERS:,} members: {cluster.bytes / 1e6:,.0f} MB of records, "
        f"{cluster.requests:,} requests, {cluster.claims:,} claims, {cluster.out_of_the_ordinary:,} of "
        f"them unusual "
        f"({time.monotonic() - begun:.0f} s to generate)",
        flush=True,
    )
    took = {name: step(STEPS, folder, name) for name in ("capture", "rebuild", "judge", "check")}
    checked = took["check"].steps["check"]["said"]
    rows, joins = checked["rows"], checked["joins"]
    goal(
        f"each of {cluster.claims:,} claims is rebuilt as it was generated, in {rows['claims']:,} rows",
        not checked["wrong"],
        str(checked["wrong"])[:2000],
    )
    print(f"  the state is known for {checked['known']:,} of {joins:,} JoinGroups", flush=True)
    return took


if __name__ == "__main__":
    sys.exit(main())
