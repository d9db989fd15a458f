"""O9: lines that are missing make values unknown: nothing turns violated, and no known value changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from plays.audits import Rows
from plays.oracles.case import Fault

_FACTS = {
    "commits": (("client_id", "correlation_id", "topic", "partition"), ("truth", "broker_error", "outcome")),
    "transactions": (
        ("transactional_id", "coordinator_partition", "started_position"),
        ("client_id", "outcome", "abort_cause", "markers_wrong"),
    ),
    "members": (("group_id", "life", "member_id", "from_position"), ("member_epoch", "protocol")),
    "topics": (("topic_id",), ("is_live", "incarnation")),
}
"""By table: its key, and the columns whose known values stay."""


def holes(whole: Rows, less: Rows) -> Iterator[Fault]:
    """What is violated, or has another value, only where lines are missing."""
    violated = {_verdict(row) for row in whole["verdicts"] if row["verdict"] == "violated"}
    for row in less["verdicts"]:
        if row["verdict"] == "violated" and _verdict(row) not in violated:
            told = {name: row[name] for name in ("scope", "witness", "observed")}
            yield {"fault": f"O9:{row['invariant']}", **told, "evidence": row["evidence"][:600]}
    for table, (key, columns) in _FACTS.items():
        known = {_values(row, key): row for row in whole[table]}
        for row in less[table]:
            other = known.get(_values(row, key), {})
            for column in columns if other else ():
                if None not in (row[column], other[column]) and row[column] not in (other[column], "unknown"):
                    values = {"whole": other[column], "less": row[column]}
                    yield {"fault": f"O9:{table}.{column}", "key": _values(row, key), **values}


def _verdict(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["invariant"], row["scope"], row["witness"]


def _values(row: dict[str, Any], columns: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(row[name] for name in columns)
