"""A whole audit that finds a hundredth more, after a short history and after a long one.

    python bench/fencing/run_days.py [short long [requests]]

Groups live for so many days, and send so many requests in each. History is in chapters of a day. The first
audit finds all but the last hundredth of each log, the second one that. Each is all five steps, in a process
of its own with its JVM, as users run it. What an audit takes that finds nearly nothing is what any takes.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import walk
from generate import Size, generate
from measured_step import Took, goal, missed, step

AUDIT = Path(__file__).with_name("audit.py")
NEW = 0.01
NEARLY_NOTHING = 0.002
SHARE = 0.05
"""The second audit, of the first, beyond what any takes."""
CONSTANT = 1.2
"""So many times what the second audit takes after the short history may it take after the long one."""
_DAY_MS = 86_400_000
_TICKS = 0.3
"""How often time goes on in the walk for each request of a group, or so."""


def main() -> int:
    """Print every audit and whether the goals were met; 1 when one was missed."""
    short, long, requests = (
        int(each) for each in (*sys.argv[1:4], *("5", "10", "4000")[len(sys.argv) - 1 :])
    )
    least, seconds = None, []
    for days in (short, long):
        print(f"{days} days of {requests:,} requests", flush=True)
        with tempfile.TemporaryDirectory() as scratch:
            whole, site = Path(scratch, "whole"), Path(scratch, "site")
            _generate(whole, days, requests)
            if least is None:
                least = _audited(whole, Path(scratch, "least"), NEARLY_NOTHING)
            first, second = (_audited(whole, site, share) for share in (1 - NEW, 1))
        beyond = first.cpu - least.cpu, second.cpu - least.cpu
        what = f"the second audit takes {SHARE:.0%} of the first beyond {least.cpu:.0f} CPU s"
        goal(what, beyond[1] <= SHARE * beyond[0], f"{beyond[1]:.1f} of {beyond[0]:.1f} CPU s")
        seconds.append(second.cpu)
    ratio = seconds[1] / seconds[0]
    goal(
        f"the second audit takes as long after {long} days as after {short}",
        ratio <= CONSTANT,
        f"{ratio:.2f}",
    )
    return int(bool(missed))


def _generate(folder: Path, days: int, requests: int) -> None:
    """A cluster whose groups live for all these days."""
    groups, members = 5, 25
    walk.GAP_MS = int(days * _DAY_MS / (_TICKS * days * requests / groups))
    generate(folder, Size(days * requests, groups, members, topics=10))
    with (folder / "fencepost.toml").open("a") as config:
        config.write('\n[audit]\nchapter = "1d"\n')


def _audited(whole: Path, site: Path, share: float) -> Took:
    """Let the logs of ``site`` grow to this share of what they are in the end, and audit them."""
    for folder in {each.parent for each in whole.rglob("*") if each.is_file()}:
        logs = sorted(each for each in folder.iterdir() if each.suffix == ".log")
        left = int(share * sum(each.stat().st_size for each in logs))
        for file in filter(Path.is_file, folder.iterdir()):
            grown = site / file.relative_to(whole)
            grown.parent.mkdir(parents=True, exist_ok=True)
            # all that the metadata log says is from the beginning
            if file not in logs or folder.name == "__cluster_metadata-0":
                shutil.copy(file, grown)
        for file in logs if folder.name != "__cluster_metadata-0" else []:
            taken = file.read_bytes()[:left]
            left -= len(taken)
            if taken:
                (site / file.relative_to(whole)).write_bytes(taken)
    return step(AUDIT, site, "whole")


if __name__ == "__main__":
    sys.exit(main())
