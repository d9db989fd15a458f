"""The files of an instance's log in their order, and the places where lines are missing in or between them.

A file may be rolled, and so get other names, between the runs that read it: it is identified by how it
begins.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from fencepost.replay.log_names import GONE

Line = dict[str, Any]

_OUT_OF_ORDER_MS = 1_000
"""How far lines may be out of order if threads log through a queue."""
_LEAKY = 3
"""A log that lacks the lines of so many transitions has lost lines one by one, as a collector loses them."""

_PACKED = re.compile(r"(?:\.(?:gz|zip|bz2|xz|zst))+$")
_NUMBERED = re.compile(r"(?P<stem>.+)[._-](?P<number>0|[1-9]\d{0,2})(?P<end>\.(?:log|txt|out))?")
"""A number without leading zeros: one with leading zeros is part of a time."""

_STATES = {"client_state": "instance", "thread_state": "thread"}
_BEGINS = "CREATED"


@dataclass(frozen=True, slots=True)
class _File:
    names: frozenset[str]
    lines: Sequence[Line]
    begin_ms: int
    end_ms: int

    @classmethod
    def of(cls, lines: Sequence[Line]) -> _File:
        times = [line["logged_at_ms"] for line in lines if line["logged_at_ms"] is not None] or [0]
        return cls(frozenset(line["file"] for line in lines), lines, min(times), max(times))

    @property
    def number(self) -> tuple[str, int | None]:
        """The name without its number, and the number; if the file had several names, those of
        the last one.
        """
        numbered = [_number(name) for name in sorted(self.names)]
        return max(numbered, key=lambda each: -1 if each[1] is None else each[1])


def in_order(lines: Sequence[Line], holes: Mapping[str, Sequence[int]]) -> tuple[list[Line | None], bool]:
    """The lines of one instance, with holes (None) where entries cannot be read or are missing; and whether
    their order is known, which it is not if two files overlap in time.

    ``holes``: positions by the name of a file.
    """
    files = _files(lines)
    ordered: list[Line | None] = []
    seen: set[tuple[str, int]] = set()
    exact = has_fractions(lines)
    ascends = _ascends(files)
    for number, file in enumerate(files):
        if number and _is_one_missing(files[number - 1], file, ascends=ascends):
            ordered.append(None)
        unread = {at for name in file.names for at in holes.get(name, ())}
        placed: list[tuple[int, Line | None]] = [(at, None) for at in unread]
        placed += [(line["position"], line) for line in file.lines]
        for _, each in sorted(placed, key=lambda at: at[0]):
            if each is not None:
                # a collector sent a line twice, or a file that was rolled was read again under another name
                ms = each["logged_at_ms"] if exact else None
                if (key := (each["line_digest"], each["position"] if ms is None else ms)) in seen:
                    continue
                seen.add(key)
            ordered.append(each)
    is_ordered = all(
        before.end_ms <= after.begin_ms + _OUT_OF_ORDER_MS
        for before, after in pairwise(files)
        if {line["line_digest"] for line in before.lines} != {line["line_digest"] for line in after.lines}
    )
    return _with_gaps(ordered), is_ordered


def has_fractions(lines: Iterable[Line | None]) -> bool:
    """Whether any line has a time with fractions of a second."""
    return any((line["logged_at_ms"] or 0) % 1000 for line in lines if line is not None)


def _files(lines: Sequence[Line]) -> list[_File]:
    by_file: defaultdict[str, list[Line]] = defaultdict(list)
    for line in lines:
        by_file[line["file_begins"] or line["file"]].append(line)
    return sorted(
        map(_File.of, by_file.values()), key=lambda file: (file.begin_ms, file.end_ms, min(file.names))
    )


def _number(path: str) -> tuple[str, int | None]:
    name = _PACKED.sub("", path.rpartition("/")[2].partition(GONE)[0])
    match = _NUMBERED.fullmatch(name)
    return (name, None) if match is None else (match["stem"] + (match["end"] or ""), int(match["number"]))


def _ascends(files: Sequence[_File]) -> bool:
    """Whether newer files have larger numbers; if not, the file that is being written comes after
    number 1.
    """
    return any(
        before[0] == after[0] and (before[1] or 0) < (after[1] or 0)
        for before, after in pairwise(file.number for file in files)
    )


def _is_one_missing(before: _File, after: _File, *, ascends: bool) -> bool:
    (name, last), (other, number) = before.number, after.number
    if name != other or last is None:
        return False
    if number is None:
        return not ascends and last > 1
    return abs(number - last) > 1


def _with_gaps(lines: Sequence[Line | None]) -> list[Line | None]:
    """The lines, with a hole before each state transition that does not begin in the state in which the one
    before it ended. Where lines are missing again and again, a hole may be before any line.
    """
    found = list(_with_holes(lines))
    if len(found) - len(lines) < _LEAKY:
        return found
    return [each for line in lines if line is not None for each in (None, line)]


def _with_holes(lines: Sequence[Line | None]) -> Iterator[Line | None]:
    states: dict[str, str | None] = {}
    for line in lines:
        if line is None or line["event"] == "version":
            states = {}
        elif (owner := _STATES.get(line["event"])) is not None and line[owner] is not None:
            before, begins = states.get(line[owner]), line["from_state"]
            if before is not None and begins not in {None, _BEGINS, before}:
                yield None
                states = {}
            states[line[owner]] = line["to_state"]
        yield line
