"""The measurements as tables in a page, with the commit, the machine and the date that they are of."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import psutil

from fencepost.markdown import row, with_part

MARKERS = ("<!-- written by `make bench`; do not edit -->", "<!-- end of what `make bench` writes -->")
_GOAL = re.compile(r"\s*(met|MISSED)\s+(.*?)(?:(?:: (?!.*: )|\s{2,})(.*))?$")
_COST = re.compile(r"(\s+)(.+?)\s+([\d.,]+) s wall\s+([\d.,]+) s CPU\s+([\d.,]+) MiB$")

_INDENT = 2
"""How far the cost of a step is indented; that of a part of it is more."""


class Measured(NamedTuple):
    """What a measurement printed; ``ran``: whether it came to its end."""

    title: str
    lines: Sequence[str]
    ran: bool


def with_tables(page: str, measured: Iterable[Measured], header: str) -> str:
    """The text of a page with these measurements between its markers. Raises ValueError if it has none."""
    return with_part(page, MARKERS, [header, "", *_tables(measured)])


def header(root: Path) -> str:
    """One sentence: the commit of ``root``, the machine, the date, and how busy the machine is."""
    commit = _git(root, "rev-parse", "--short", "HEAD") or "no commit"
    changed = " with changes" if _git(root, "status", "--porcelain", "--untracked-files=no") else ""
    gibibytes = psutil.virtual_memory().total / 2**30
    return (
        f"Commit {commit}{changed}, {datetime.now(UTC):%Y-%m-%d}, {len(os.sched_getaffinity(0))} cores "
        f"({_processor()}), {gibibytes:.0f} GiB of memory; {os.getloadavg()[0]:.1f} other processes ran when "
        "it began. CPU seconds (CPU s) and memory are of the whole process tree."
    )


def _tables(measured: Iterable[Measured]) -> Iterator[str]:
    for each in measured:
        yield from (f"### {each.title}", "", row(("what", "measured", "goal")), "|---|---|---|")
        yield from (row(_row(line)) for line in _told(each.lines))
        if not each.ran:
            yield "| **did not run to the end** | | |"
        yield ""


def _told(lines: Iterable[str]) -> Iterator[str]:
    """The lines without blank ones, and without costs that say nothing more: the start of a step's process,
    a part that is all of its step, and the comparison with what is known.
    """
    step = ""
    for line in lines:
        cost = _COST.match(line)
        if cost and len(cost[1]) <= _INDENT:
            step = cost[2]
        if line.strip() and not (cost and (step == "check" or cost[2] == "start" or _is_all(cost, step))):
            yield line


def _is_all(cost: re.Match[str], step: str) -> bool:
    return len(cost[1]) > _INDENT and cost[2] == step


def _row(line: str) -> tuple[str, str, str]:
    """What a line is about, what was measured, and whether a goal was met."""
    if goal := _GOAL.match(line):
        return goal[2], goal[3] or "", {"met": "met", "MISSED": "**missed**"}[goal[1]]
    if cost := _COST.match(line):
        what = f"*{cost[2]}*" if len(cost[1]) > _INDENT else cost[2]
        return what, f"{cost[4]} CPU s, {cost[3]} s, {cost[5]} MiB", ""
    what, *cells = re.split(r"\s{2,}", line.strip())
    return what, ", ".join(cells), ""


def _git(root: Path, *command: str) -> str:
    done = subprocess.run(["git", *command], cwd=root, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def _processor() -> str:
    try:
        said = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        said = None
    return said[1] if said else platform.machine()
