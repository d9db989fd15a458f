"""How far a definition looks: which rows it needs beside a row to judge it. Its frames decide that.

A caller that judges only the new part of a history has to know it: a definition that looks at nothing but the
rows of that part may be judged on them alone. Where the frames show no limit, a definition looks at all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from tlasql.mapping.model import Mapping
from tlasql.plan.frames import Frame, HistoryFrame, RecordFrame, StateFrame

ROW, STEP, OVERLAP, ALL = "row", "step", "overlap", "all"


@dataclass(frozen=True)
class Reach:
    """``looks_at``: ROW, a row by itself, or an element of a record set with all its rows; STEP, a row and
    the one that ends where it begins; OVERLAP, a row and those that overlap it; ALL, any rows. Of STEP and
    OVERLAP these are rows of ``tables`` with the same values of ``columns``. ``because`` tells people why.
    """

    looks_at: str
    because: str
    tables: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()


def reach(frames: Sequence[Frame], mapping: Mapping) -> Reach:
    """How far a definition looks that has these frames. Where they look differently, at everything."""
    first, *others = (_reach(frame, mapping) for frame in frames)
    if all(each == first for each in others):
        return first
    return Reach(ALL, "its parts look at different rows")


def _reach(frame: Frame, mapping: Mapping) -> Reach:
    if isinstance(frame, RecordFrame):
        return _of_records(frame)
    if isinstance(frame, StateFrame):
        return Reach(ALL, "it looks at whole states, which many rows make up")
    return _of_history(frame, mapping)


def _of_records(frame: RecordFrame) -> Reach:
    within = frozenset(frame.records.within)
    apart = [each.label for each in frame.aggregates if not within or not within <= frozenset(each.equal)]
    if apart:
        return Reach(ALL, f"it compares records that are not of one event: {apart[0]}")
    return Reach(ROW, f"it looks at one record of {frame.records.name}, and at what is of the same event")


def _of_history(frame: HistoryFrame, mapping: Mapping) -> Reach:
    tables = [scan.table for scan in frame.scans]
    if len(tables) > 1:
        because = f"it joins rows of {' and '.join(tables)} that overlap"
        return Reach(OVERLAP, because, tuple(dict.fromkeys(tables)), (*mapping.scope, *_shared(frame)))
    if not frame.stepped:
        return Reach(ROW, f"it looks at one row of {tables[0]}")
    if frame.persistent:
        return Reach(ALL, f"it looks from a row of {tables[0]} to the next one, however far that is")
    columns = tuple(dict.fromkeys((*mapping.scope, *(key.name for key in frame.keys))))
    return Reach(STEP, f"it looks at a row of {tables[0]} and the one before", (tables[0],), columns)


def _shared(frame: HistoryFrame) -> list[str]:
    """The columns, beside the scope, that are the same in all rows that are joined: all scans have them, and
    each is related to the one before by them.
    """
    related = {(frozenset((a.alias, b.alias)), a.name) for a, b in frame.equal if a.name == b.name}
    neighbours = [frozenset((one.alias, other.alias)) for one, other in pairwise(frame.scans)]
    names = dict.fromkeys(left.name for left, _ in frame.equal)
    return [name for name in names if all((each, name) in related for each in neighbours)]
