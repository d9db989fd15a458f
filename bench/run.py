"""``make bench``: every measurement, in one run on one machine."""

from __future__ import annotations

import argparse
import runpy
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from table import Measured, header, with_tables

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "performance.md"
MISSED = 3
"""The exit code of a measurement that ran and missed a goal; Python's own is 1 where it could not run."""


class Measurement(NamedTuple):
    """A script in this folder, what it measures, and the arguments for its smallest size."""

    script: str
    title: str
    smallest: Sequence[str] = ()


MEASUREMENTS = (
    Measurement(
        "formats.py",
        "Decoding __consumer_offsets to Arrow, against kafka-dump-log --offsets-decoder",
        ["20000"],
    ),
    Measurement("whole.py", "A whole audit, and the commands on its lake"),
    Measurement("bronze.py", "Log to bronze", ["20000"]),
    Measurement(
        "headers.py", "Batch headers of data topics to bronze, against kafka-dump-log and cat", ["0.2"]
    ),
    Measurement(
        "judging/run.py",
        "Judging a trace, against TLC and against SQL written by hand",
        ["1000", "2000", "4000"],
    ),
    Measurement(
        "fencing/run.py",
        "Auditing the commits of thousands of members, against what is known of each",
        ["1000", "2000"],
    ),
    Measurement(
        "fencing/run_days.py",
        "A whole audit of a hundredth more, after a short history and a long one",
        ["2", "3", "100"],
    ),
    Measurement(
        "fencing/run_crowd.py",
        "One group of very many members, against what is known of each commit",
        ["10", "20"],
    ),
    Measurement(
        "fencing/run_collect.py", "A collector beside a broker with 1,000 requests a second, all kept", ["1"]
    ),
    Measurement(
        "producers/run.py",
        "Transactions of many transactional ids, against what is known of each",
        ["200", "400"],
    ),
    Measurement(
        "incarnations/run.py", "Topics that come and go, against what is known of each", ["1000", "2000"]
    ),
    Measurement(
        "rebalances/run.py", "Rebalances of 1,000 members, against what is known of each claim", ["20", "40"]
    ),
)


def main() -> int:
    """Run each in its own process, and write what they print into a page. Returns 1 if one could not run or,
    unless ``--smallest``, missed its goal.
    """
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--smallest", action="store_true", help="small sizes: only to see that each runs")
    parser.add_argument("--page", type=Path, help=f"where to write (default: {PAGE.name}, if not --smallest)")
    parser.add_argument("--one", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        return _run(Path(arguments.one[0]), arguments.one[1:])
    page: Path | None = arguments.page or (None if arguments.smallest else PAGE)
    failed, measured, of_what = [], [], header(ROOT)
    if page is not None:
        # now rather than after an hour: whether it can be written
        with_tables(page.read_text(encoding="utf-8"), (), of_what)
    for measurement in MEASUREMENTS:
        print(f"\n{measurement.title}\n{'-' * len(measurement.title)}", flush=True)
        sizes = measurement.smallest if arguments.smallest else ()
        code, lines = _printed([measurement.script, *sizes])
        measured.append(Measured(measurement.title, lines, code in (0, MISSED)))
        if code not in ((0, MISSED) if arguments.smallest else (0,)):
            failed.append(measurement.script)
    if page is not None:
        page.write_text(with_tables(page.read_text(encoding="utf-8"), measured, of_what), encoding="utf-8")
    if failed:
        print(f"\nNot run to the end, or with a goal missed: {', '.join(failed)}")
    return int(bool(failed))


def _printed(command: Sequence[str]) -> tuple[int, list[str]]:
    """Run a measurement. Returns its exit code and the lines that it printed, which are printed here, too."""
    script, *sizes = command
    lines = []
    one = [sys.executable, "-u", __file__, "--one", str(Path(__file__).parent / script), *sizes]
    with subprocess.Popen(one, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            lines.append(line.rstrip("\n"))
    return process.returncode, lines


def _run(script: Path, arguments: Sequence[str]) -> int:
    """Run a measurement as its own command would."""
    sys.argv, sys.path[0] = [str(script), *arguments], str(script.parent)
    try:
        runpy.run_path(str(script), run_name="__main__")
    except SystemExit as ended:
        return MISSED if ended.code else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
