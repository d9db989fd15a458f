"""The definition of a kind of evidence: its files, how their rows are read, and the tables of these rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from fencepost.capture.plan import Fault, Source
from fencepost.capture.rows import Rows
from fencepost.settings import Cluster
from fencepost.tables import Table

Find = Callable[[Cluster], tuple[list[Source], list[Fault]]]
"""Finds the files of one cluster, and faults for folders and files that are missing or cannot be listed."""


@dataclass(frozen=True)
class Kind:
    """One kind of evidence, made by the module that reads it.

    ``name``: the ``kind`` of its sources; ``rows``: reads a source. Its files are those in the folder of a
    partition whose whole name matches ``file``, or those that ``find`` finds. ``in_place``: the broker
    replaces such a file as a whole, so the whole file is read when it has changed, and again in a renamed
    folder. ``grows_by``: for a table that only grows, its column of offsets; these are not below the offset
    in the file's name. ``same_times``: tables in which rows with one key have one time, but for the hour that
    a clock shows twice.
    """

    name: str
    rows: Callable[[Source], Rows]
    tables: tuple[Table, ...]
    find: Find | None = None
    file: re.Pattern[str] | None = None
    in_place: bool = False
    grows_by: Mapping[str, str] = field(default_factory=dict)
    same_times: frozenset[str] = frozenset()
