"""A whole audit with a hundredth of new evidence, and one with the same amount after a short and a long
history.

    python bench/fencing/run_days.py [short long [requests]]

Groups exist for so many days, and send so many requests on each. History is in chapters of a day. The second
audit finds the evidence of a hundredth of the time, the third that of a hundredth of the short history (in
both histories), and the first everything before. Both histories end at noon. Each audit has all five steps,
in its own process with its JVM, as for users. The cost of an audit that finds nearly nothing is the fixed
cost of any audit. Most of a short audit is that, and it varies by more than what new evidence costs: so short
ones are repeated on a copy of the lake, and the cheapest one counts, which was disturbed least.
"""

from __future__ import annotations

import shutil
import struct
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import walk
from generate import Size, generate
from measured_step import Took, goal, missed, step

AUDIT = Path(__file__).with_name("audit.py")
NEW = 0.01
NEARLY_NOTHING = 0.002
SHARE = 0.05
"""The goal for the cost of the second audit as a share of the first, without the fixed cost."""
CONSTANT = 1.2
"""The goal for the cost of the third audit after the long history as a multiple of that after the
short one.
"""
REPEATED = 3
_DAY_MS = 86_400_000
_TICKS = 0.3
"""Roughly how often time advances in the walk for each request of a group."""


def main() -> int:
    """Print every audit and whether the goals were met; 1 when one was missed."""
    short, long, requests = (
        int(each) for each in (*sys.argv[1:4], *("20", "60", "1000")[len(sys.argv) - 1 :])
    )
    least, thirds = None, []
    for days in (short, long):
        print(f"{days} days of {requests:,} requests", flush=True)
        with tempfile.TemporaryDirectory() as scratch:
            whole, site = Path(scratch, "whole"), Path(scratch, "site")
            _generate(whole, days, requests)
            if least is None:
                least = _audited(whole, Path(scratch, "least"), NEARLY_NOTHING, REPEATED)
            as_much = NEW * short / days
            first = _audited(whole, site, 1 - NEW - as_much)
            second, third = (_audited(whole, site, share, REPEATED) for share in (1 - as_much, 1))
        beyond = first.cpu - least.cpu, second.cpu - least.cpu
        what = f"the second audit takes {SHARE:.0%} of the first beyond {least.cpu:.0f} CPU s"
        goal(what, beyond[1] <= SHARE * beyond[0], f"{beyond[1]:.1f} of {beyond[0]:.1f} CPU s")
        thirds.append(third.cpu)
    ratio = thirds[1] / thirds[0]
    goal(
        f"the third audit takes as long after {long} days as after {short}",
        ratio <= CONSTANT,
        f"{ratio:.2f}",
    )
    return int(bool(missed))


def _generate(folder: Path, days: int, requests: int) -> None:
    """A cluster whose groups exist on all these days."""
    groups, members = 5, 25
    walk.GAP_MS = int(days * _DAY_MS / (_TICKS * days * requests / groups))
    generate(folder, Size(days * requests, groups, members, topics=10))
    with (folder / "fencepost.toml").open("a") as config:
        config.write('\n[audit]\nchapter = "1d"\n')


def _audited(whole: Path, site: Path, share: float, times: int = 1) -> Took:
    """Extend the logs of ``site`` to their state after this share of the time, and audit them; the cheapest
    of so many audits of the same lake.
    """
    lines = (whole / "broker-1" / "kafka-request.log").read_bytes().splitlines(keepends=True)
    begun, ended = _logged_ms(lines[0]), _last_noon(_logged_ms(lines[-1]))
    until = begun + int(share * (ended - begun))
    for file in filter(Path.is_file, whole.rglob("*")):
        grown = site / file.relative_to(whole)
        grown.parent.mkdir(parents=True, exist_ok=True)
        if file.name == "kafka-request.log":
            grown.write_bytes(b"".join(line for line in lines if _logged_ms(line) < until))
        elif file.suffix != ".log" or file.parent.name == "__cluster_metadata-0":
            # all records of the metadata log are from the beginning
            shutil.copy(file, grown)
        elif batches := _written_before(file.read_bytes(), until):
            grown.write_bytes(batches)
    lake, kept = site / ".fencepost", site / "kept"
    shutil.rmtree(kept, ignore_errors=True)
    if lake.is_dir():
        shutil.copytree(lake, kept)
    audits = []
    for _ in range(times):
        shutil.rmtree(lake, ignore_errors=True)
        if kept.is_dir():
            shutil.copytree(kept, lake)
        audits.append(step(AUDIT, site, "whole"))
    return min(audits, key=lambda each: each.cpu)


def _last_noon(ms: int) -> int:
    """The end of history, chosen so that the newest evidence is in one chapter, however many there are."""
    return ms - (ms - _DAY_MS // 2) % _DAY_MS


def _logged_ms(line: bytes) -> int:
    """The time of a line of the request log, which begins with [2026-11-20 01:28:41,696]."""
    logged = datetime.strptime(line[1:24].decode(), "%Y-%m-%d %H:%M:%S,%f")
    return int(logged.replace(tzinfo=UTC).timestamp() * 1000)


def _written_before(segment: bytes, until: int) -> bytes:
    """The batches before the first one that was written later; baseOffset, batchLength, ..., maxTimestamp."""
    at = 0
    while at < len(segment):
        (length,), (newest,) = (
            struct.unpack_from(">i", segment, at + 8),
            struct.unpack_from(">q", segment, at + 35),
        )
        if newest >= until:
            break
        at += 12 + length
    return segment[:at]


if __name__ == "__main__":
    sys.exit(main())
