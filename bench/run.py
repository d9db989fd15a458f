"""``make bench``: every measurement, in one run on one machine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

MEASUREMENTS = {
    "formats.py": "Decoding __consumer_offsets to Arrow, against kafka-dump-log --offsets-decoder",
    "whole.py": "A whole audit, and the commands on its lake",
    "bronze.py": "Log to bronze",
    "headers.py": "Batch headers of data topics to bronze, against kafka-dump-log and cat",
    "judging/run.py": "Judging a trace, against TLC and against SQL written by hand",
    "fencing/run.py": "Auditing the commits of thousands of members, against what is known of each",
    "fencing/run_days.py": "A whole audit of a hundredth more, after a short history and a long one",
    "fencing/run_crowd.py": "One group of very many members, against what is known of each commit",
    "producers/run.py": "Transactions of many transactional ids, against what is known of each",
    "incarnations/run.py": "Topics that come and go, against what is known of each",
    "rebalances/run.py": "Rebalances of 1,000 members, against what is known of each claim",
}


def main() -> int:
    """Run each in its own process; returns 1 if one of them missed its goal."""
    missed = 0
    for script, title in MEASUREMENTS.items():
        print(f"\n{title}\n{'-' * len(title)}", flush=True)
        path = Path(__file__).with_name(script)
        missed |= subprocess.run([sys.executable, str(path)], check=False).returncode
    return missed


if __name__ == "__main__":
    sys.exit(main())
