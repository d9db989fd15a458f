"""O6: an audit of a copy of running brokers, and then of all, has the rows of one audit of all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from plays.audits import Rows
from plays.oracles.case import Fault

_TABLES = (
    "coverage",
    "transactions",
    "offsets",
    "members",
    "dangling",
    "extents",
    "commits",
    "events",
    "owned",
)
_PLACES = ("evidence", "verdict_id", "file", "position", "age")  # a file has another name in a copy
_BOTH_VERSIONS = "checkpoint_agrees"  # a checkpoint that was read twice counts twice


def compare(whole: Rows, pieces: Rows) -> Iterator[Fault]:
    """Each table whose rows differ."""
    for table in _TABLES:
        at_once, in_two = (sorted(map(_text, _counted(rows[table]))) for rows in (whole, pieces))
        if at_once != in_two:
            only, others = sorted(set(at_once) - set(in_two)), sorted(set(in_two) - set(at_once))
            yield {
                "fault": f"O6:{table}",
                "at_once": only[:4],
                "in_two": others[:4],
                "counts": [len(at_once), len(in_two)],
            }


def _counted(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if row.get("invariant") != _BOTH_VERSIONS]


def _text(row: dict[str, Any]) -> str:
    return json.dumps(
        {name: value for name, value in row.items() if name not in _PLACES}, sort_keys=True, default=str
    )
