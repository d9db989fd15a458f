"""What a kind of evidence is: the files it lies in, what is read of them, and the tables that hold it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from fencepost.capture.plan import Fault, Source
from fencepost.capture.rows import Rows
from fencepost.settings import Cluster
from fencepost.tables import Table

Find = Callable[[Cluster], tuple[list[Source], list[Fault]]]
"""The files of one cluster, and what is missing or cannot be listed."""


@dataclass(frozen=True)
class Kind:
    """One kind of evidence, made by the module that knows it.

    ``name`` is the ``kind`` of its sources, ``rows`` what is read of one of them. Its files are those in the
    folder of a partition whose whole name matches ``file``, or those that ``find`` finds. ``in_place`` says
    that the broker replaces such a file as a whole: it is read whole when it has changed, and again in a
    renamed folder. ``grows_by`` names, of a table that only grows, the column of offsets that are not below
    the one its file is named after.
    """

    name: str
    rows: Callable[[Source], Rows]
    tables: tuple[Table, ...]
    find: Find | None = None
    file: re.Pattern[str] | None = None
    in_place: bool = False
    grows_by: Mapping[str, str] = field(default_factory=dict)
