"""Makes a failure small: steps are left out while a fault stays."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from plays.oracles.case import Fault
from plays.script import Script, Step

Find = Callable[[Script], list[Fault]]
"""Gives a script, audits it, and returns its faults."""


def shrink(script: Script, fault: str, find: Find, seconds: float, plays: list[str]) -> Iterator[Script]:
    """Ever smaller scripts that have the fault, until the time is over or no step can be left out.

    The plays that the fault names are tried alone; then halves, quarters, ... of the steps are left out.
    """
    until = time.monotonic() + seconds
    small = script

    def has(steps: list[Step]) -> bool:
        return any(found["fault"] == fault for found in find(script.of(steps)))

    alone = [step for step in script.steps if step.get("play") in plays]
    if 0 < len(alone) < len(small.steps) and has(alone):
        small = script.of(alone)
        yield small
    size = max(len(small.steps) // 2, 1)
    while size and time.monotonic() < until:
        at = 0
        while at < len(small.steps) and time.monotonic() < until:
            fewer = small.steps[:at] + small.steps[at + size :]
            if has(fewer):
                small = script.of(fewer)
                yield small
            else:
                at += size
        size //= 2
