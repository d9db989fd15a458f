"""O6: an audit of a copy of running brokers, and then of all, has the rows of one audit of all."""

from __future__ import annotations

import json
from collections import Counter
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
_PLACES = ("evidence", "verdict_id", "file", "position", "age_s")  # a file has another name in a copy
_BOTH_VERSIONS = "checkpoint_agrees"  # a checkpoint that was read twice counts twice
_REMOVED = (
    "producer_state_is_kept"  # a snapshot that a broker removed between the copies is only in the first
)


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
    at_once, in_two = (_of_removed(rows["coverage"]) for rows in (whole, pieces))
    if any(in_two[name] < count for name, count in at_once.items()):
        yield {"fault": f"O6:{_REMOVED}", "at_once": dict(at_once), "in_two": dict(in_two)}


def _counted(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if row.get("invariant") not in (_BOTH_VERSIONS, _REMOVED)]


def _of_removed(rows: list[dict[str, Any]]) -> Counter[str]:
    """What was checked of snapshots: in pieces it may be more, but not less."""
    found = (row for row in rows if row.get("invariant") == _REMOVED)
    return Counter({name: row[name] for row in found for name in ("checked", "exercised", "holds")})


def _text(row: dict[str, Any]) -> str:
    return json.dumps(
        {name: value for name, value in row.items() if name not in _PLACES}, sort_keys=True, default=str
    )
