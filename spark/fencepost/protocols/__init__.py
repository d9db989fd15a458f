"""The protocols that Fencepost audits: one folder each, found by import.

A protocol is a package in this folder, or in a folder ``fencepost/protocols`` anywhere else on Python's path,
with a module ``protocol`` whose PROTOCOL says what it brings (:mod:`fencepost.protocols.base`). Its
specification lies in ``spec/<name>``, what was compiled from it in its folder ``compiled``, its marts in
``dbt/models/<name>``, its tests in ``tests/protocols/<name>``. Nothing outside these folders names it.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import import_module
from pkgutil import extend_path
from typing import TYPE_CHECKING

from fencepost.formats.request_log import Keep, Wanted
from fencepost.protocol_folders import protocol_folders
from fencepost.protocols.base import Protocol
from fencepost.tables import BORDERS, BRONZE, LEDGER, OF_REBUILDS, OF_RUNS, OF_VERDICTS, VERDICTS, Table

if TYPE_CHECKING:
    from fencepost.reading import SqlFunction
    from fencepost.replay.group_coordinator.group_replays import GroupReplay

__all__ = [
    "Protocol",
    "captured",
    "collected",
    "functions",
    "group_replays",
    "protocols",
    "requests",
    "schemas_json",
    "tables",
]

__path__ = extend_path(__path__, __name__)


@cache
def protocols() -> tuple[Protocol, ...]:
    """Every protocol, by name."""
    return tuple(import_module(f"{__name__}.{name}.protocol").PROTOCOL for name in protocol_folders())


@cache
def captured() -> tuple[Table, ...]:
    """Every table that a capture writes: those that all share, and each protocol's own."""
    return (*BRONZE, *(table for each in protocols() for table in each.bronze))


@cache
def collected() -> tuple[Table, ...]:
    """Every table that a collector opens: those that a capture writes, the ledger, and from where on evidence
    is kept.
    """
    return (*captured(), LEDGER, BORDERS)


@cache
def tables() -> tuple[Table, ...]:
    """Every table of the lake but dbt's: what is captured and kept, what a rebuild keeps, each protocol's
    silver, verdicts and what they are made of, what runs note, and the ledger.
    """
    silver = (table for each in protocols() for table in each.tables)
    return (*captured(), BORDERS, *OF_REBUILDS, *silver, *VERDICTS, *OF_VERDICTS, *OF_RUNS, LEDGER)


@cache
def group_replays() -> tuple[GroupReplay, ...]:
    """Every protocol's replay of group coordinators' logs."""
    return tuple(each.group_replay() for each in protocols() if each.group_replay is not None)


@cache
def functions() -> tuple[SqlFunction, ...]:
    """Every function that queries of the lake may call."""
    return tuple(function for protocol in protocols() for function in protocol.functions)


@cache
def requests() -> Wanted:
    """Which lines of the request logs any protocol wants."""
    wanted: dict[str, tuple[Keep, ...]] = {}
    for protocol in protocols():
        for api, keep in protocol.requests.items():
            wanted[api] = (*wanted.get(api, ()), keep)
    return wanted


def schemas_json() -> str:
    """``{table: {column: Spark type}}``, as the compiler of the specification reads it."""
    return json.dumps({table.name: table.columns for table in tables()}, indent=2)
