"""Transactions of generated clusters of two sizes: time, CPU, memory, and their growth.

    python bench/producers/run.py [SMALL LARGE [LOGGED]] [--in-process]

Transactional ids grow with the transactions: 100,000 are of 1,000 ids, each with four to five requests.
LOGGED: so many of the large cluster's last transactions are in the request log. Each step has its own
process; the rebuilt rows are compared with the generator's ground truth. ``--in-process``: Spark rebuilds
nothing, whatever the size. A million transactions (100000 1000000) take 7 GB of disk and some 20 minutes of
CPU.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path += [str(Path(__file__).resolve().parents[1] / name) for name in ("fencing", "incarnations")]

from measured_step import Took, goal, missed, step
from transaction_cluster import generate
from transaction_walk import Size

STEPS = Path(__file__).with_name("transaction_steps.py")
MEBIBYTES = 4_096
OF_CAPTURE = 1_536
"""The goal for the memory of a capture of any size, in MiB."""
RATE = 10_000
"""The goal for requests (or transactions, if few are logged) per CPU second, without the cost of the
smallest run.
"""
FIXED = 100
"""So few transactions that a step has only its fixed cost."""
OF_AN_ID = 100


def main() -> int:
    """Print every run and whether the goals were met; returns 1 if one was missed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("transactions", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--in-process", action="store_true")
    arguments = parser.parse_args()
    small, large, *rest = arguments.transactions
    logged = {FIXED: FIXED, small: small, large: rest[0] if rest else large}
    runs, requests = {}, {}
    for transactions, of_them in logged.items():
        with tempfile.TemporaryDirectory() as scratch:
            size = Size(transactions, max(10, transactions // OF_AN_ID), of_them)
            runs[transactions], requests[transactions] = _audited(Path(scratch), size, arguments.in_process)
    captured = runs[large]["capture"].peak
    goal(f"capture within {OF_CAPTURE:,} MiB", captured <= OF_CAPTURE, f"{captured:,.0f} MiB")
    for name in ("rebuild", "judge"):
        least, few, many = (runs[transactions][name] for transactions in (FIXED, small, large))
        what = f"{name} of {large:,} transactions"
        of_goal = f"{many.peak:,.0f} MiB, {many.peak / MEBIBYTES:.2f} of it"
        goal(f"{what} within {MEBIBYTES:,} MiB", many.peak <= MEBIBYTES, of_goal)
        spent, before = (max(took.cpu - least.cpu, 0.01) for took in (many, few))
        rate = max(requests[large], large) / spent
        measure = f"{rate:,.0f} requests, {large / spent:,.0f} transactions; {rate / RATE:.2f} of the goal"
        goal(f"{what}: {RATE:,} requests in a CPU second", rate >= RATE, measure)
        growth = large / small
        goal(
            f"{what}: linear from {small:,} on", spent / before <= growth * 1.1, f"{spent / before:.1f} times"
        )
    return int(bool(missed))


def _audited(folder: Path, size: Size, in_process: bool) -> tuple[dict[str, Took], int]:
    """Generate a cluster, audit and check it; returns the cost of each step, and the number of requests."""
    begun = time.monotonic()
    cluster = generate(folder, size)
    if in_process:
        with (folder / "fencepost.toml").open("a") as configuration:
            configuration.write('\n[engine]\nrun_on = "process"\n')
    print(
        f"  {cluster.transactions:,} transactions of {size.ids:,} ids, {cluster.requests:,} requests, "
        f"{cluster.bytes / 1e6:,.0f} MB of logs, {cluster.fencings:,} fenced "
        f"({time.monotonic() - begun:.0f} s to generate)",
        flush=True,
    )
    took = {name: step(STEPS, folder, name) for name in ("capture", "rebuild", "judge", "check")}
    wrong = took["check"].steps["check"]["said"]["wrong"]
    goal(
        f"each of {cluster.transactions:,} transactions is rebuilt as it was generated",
        not wrong,
        str(wrong)[:2000],
    )
    return took, cluster.requests


if __name__ == "__main__":
    sys.exit(main())
