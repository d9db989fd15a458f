"""A collector beside a broker with 1,000 requests a second: CPU of its rounds, and memory.

    python bench/fencing/run_collect.py [rounds]

A generated request log, all of whose lines bronze keeps, grows by what a minute brings, and is collected each
time.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import threading
import time
from itertools import islice
from pathlib import Path

from measured_step import goal, missed

A_MINUTE = 60_000
"""Requests, 1,000 a second."""
SHARE, MEBIBYTES = 0.02, 250
"""The goals: of a core, and of the process's own memory."""


def main() -> int:
    """Print every round and whether the goals were met; returns 1 if one was missed."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        lines = folder / "lines"
        # in its own process: its memory is none of the collector's
        size = (str(A_MINUTE * rounds), "1000", "10000")
        generator = Path(__file__).with_name("generate.py")
        subprocess.run(
            [sys.executable, generator, folder / "all", *size], check=True, stdout=subprocess.DEVNULL
        )
        (folder / "all/broker-1/kafka-request.log").rename(lines)
        (folder / "fencepost.toml").write_text(
            '[[clusters]]\nname = "generated"\n'
            '[[clusters.brokers]]\nid = 1\nrequest_logs = ["log"]\ntimezone = "UTC"\n'
        )
        own: list[int] = []
        threading.Thread(target=_watch, args=(own,), daemon=True).start()
        spent = _collected(folder, lines, rounds)
    # the first round has what is done once
    share = sum(spent[1:] or spent) / len(spent[1:] or spent) / 60
    goal(f"1,000 requests a second, all kept, with {SHARE:.0%} of a core", share <= SHARE, f"{share:.1%}")
    goal(f"within {MEBIBYTES} MiB of its own", max(own) <= MEBIBYTES, f"{max(own):,} MiB")
    files = _mebibytes("RssFile")
    print(f"  {_mebibytes('VmHWM'):,} MiB with what it has of libraries' files ({files:,})")
    return int(bool(missed))


def _collected(folder: Path, lines: Path, rounds: int) -> list[float]:
    """The CPU seconds of each round."""
    from fencepost import pipeline
    from fencepost.settings import load

    settings = load(folder / "fencepost.toml")
    spent = []
    with lines.open("rb") as source, (folder / "log").open("ab", buffering=0) as log:
        for _ in range(rounds):
            for line in islice(source, A_MINUTE):
                log.write(line)
            begun = time.process_time()
            found = pipeline.collect(settings)
            spent.append(time.process_time() - begun)
            print(f"  {found['rows']:,} rows: {spent[-1]:.2f} CPU s", flush=True)
    return spent


def _watch(own: list[int]) -> None:
    while True:
        own.append(_mebibytes("RssAnon"))
        time.sleep(0.02)


def _mebibytes(name: str) -> int:
    found = re.search(rf"{name}:\s+(\d+)", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) >> 10


if __name__ == "__main__":
    sys.exit(main())
