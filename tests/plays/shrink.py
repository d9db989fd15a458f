"""Makes a failure small: steps are left out while a fault stays."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import Any

from plays.oracles.case import LABEL, Fault
from plays.script import Script, Step

Find = Callable[[Script], list[Fault]]
"""Gives a script, audits it, and returns its faults."""

_TOGETHER = 14
_AGAIN = 3  # a fault may need luck
_LATER: Step = {"op": "sleep", "s": 4.0}  # and what times out while other plays go on


def shrink(script: Script, fault: str, find: Find, seconds: float, plays: list[str]) -> Iterator[Script]:
    """Ever smaller scripts that have the fault, until the time is over or no step can be left out.

    The plays that the fault names are tried alone. Then halves, quarters, ... of the steps are left out. What
    is left of one play is tried many times at once: each attempt is a play of its own on one cluster.
    """
    until = time.monotonic() + seconds

    def has(steps: list[Step]) -> bool:
        return any(found["fault"] == fault for found in find(script.of(steps)))

    def faulty(steps: list[Step]) -> set[str]:
        return _faulty(find(script.of(steps)), fault)

    small = list(script.steps)
    alone = [step for step in small if step.get("play") in plays]
    if 0 < len(alone) < len(small):
        alone += [{"play": play, **_LATER} for play in plays]
        shows = _tried(alone, [[]] * _AGAIN, faulty, until) if len(plays) == 1 else has(alone)
        if shows:
            small = alone
            yield script.of(small)
    labels = {step.get("play") for step in small}
    size = max(len(small) // 2, 1)
    while time.monotonic() < until:
        before = len(small)
        if len(labels) == 1 and None not in labels:
            fewer = _together(small, size, faulty, until)
        else:
            fewer = _one_by_one(small, size, has, until)
        for small in fewer:
            yield script.of(small)
        if size == 1 and len(small) == before:
            return
        size = max(size // 2, 1)


def _one_by_one(
    steps: list[Step], size: int, has: Callable[[list[Step]], bool], until: float
) -> Iterator[list[Step]]:
    at = 0
    while at < len(steps) and time.monotonic() < until:
        fewer = steps[:at] + steps[at + size :]
        if has(fewer):
            steps = fewer
            yield steps
        else:
            at += size


def _together(
    steps: list[Step], size: int, faulty: Callable[[list[Step]], set[str]], until: float
) -> Iterator[list[Step]]:
    """Which pieces of this size are not needed is asked for all at once; then they are left out together, or
    as many as can be.
    """
    pieces = [range(at, min(at + size, len(steps))) for at in range(0, len(steps), size)]
    unneeded = [piece for (piece,) in _tried(steps, [[piece] for piece in pieces], faulty, until)]
    while len(unneeded) > 1:  # all of them at once; else the half that works, or half of each half
        half = (len(unneeded) + 1) // 2
        sets = [unneeded, unneeded[:half], unneeded[half:], unneeded[::2]]
        found = _tried(steps, sets, faulty, until)
        if found:
            yield _without(steps, max(found, key=len))
            return
        unneeded = unneeded[:half]
    if unneeded:
        yield _without(steps, unneeded)


def _tried(
    steps: list[Step], sets: Sequence[list[range]], faulty: Callable[[list[Step]], set[str]], until: float
) -> list[list[range]]:
    """Of these sets of pieces those without which the fault stays.

    The plays are told in turns, as those of a script: a step does not come at once after the one before.
    """
    found: list[list[range]] = []
    for at in range(0, len(sets), _TOGETHER):
        if time.monotonic() > until:
            break
        tried = {f"p{number}": each for number, each in enumerate(sets[at : at + _TOGETHER], 1)}
        plays = [_labelled(_without(steps, each), label) for label, each in tried.items()]
        told = [step for turn in zip_longest(*plays) for step in turn if step is not None]
        has_it = faulty(told)
        found += [each for label, each in tried.items() if label in has_it]
    return found


def _without(steps: list[Step], pieces: list[range]) -> list[Step]:
    left_out = {number for piece in pieces for number in piece}
    return [step for number, step in enumerate(steps) if number not in left_out]


def _labelled(steps: list[Step], label: str) -> list[Step]:
    """The same steps as another play: each name of a play ends with its label."""

    def named(value: Any, old: str) -> Any:
        if isinstance(value, list):
            return [named(each, old) for each in value]
        return re.sub(f"-{old}$", f"-{label}", value) if isinstance(value, str) else value

    return [
        {name: named(value, step["play"]) for name, value in step.items()} | {"play": label} for step in steps
    ]


def _faulty(faults: list[Fault], fault: str) -> set[str]:
    """The plays that have the fault: those that are named in it."""
    told = [found for found in faults if found["fault"] == fault]
    return {label for found in told for label in plays_of(found)}


def plays_of(fault: Fault) -> set[str]:
    """The plays of a fault: those it is of, or else those that are named in it."""
    known = fault.get("plays") or [each for each in [fault.get("play")] if each]
    return set(known or LABEL.findall(json.dumps(fault, default=str)))
