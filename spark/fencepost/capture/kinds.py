"""What a kind of evidence is: the files it lies in, what is read of them, and the tables that hold it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fencepost.capture.plan import Fault, Source
from fencepost.capture.rows import Rows
from fencepost.settings import Cluster
from fencepost.tables import Table

Find = Callable[[Cluster], tuple[list[Source], list[Fault]]]
"""The files of one cluster, and what is missing or cannot be listed."""


@dataclass(frozen=True)
class Kind:
    """One kind of evidence, made by the module that knows it.

    ``name`` is the ``kind`` of its sources, ``rows`` what is read of one of them. ``finds`` are called in the
    order of all kinds; kinds that lie in the same folders share one.
    """

    name: str
    finds: tuple[Find, ...]
    rows: Callable[[Source], Rows]
    tables: tuple[Table, ...]
