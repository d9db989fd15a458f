"""O8: where everything was captured, little is unknown: at most a share of each invariant's events."""

from __future__ import annotations

from collections.abc import Iterator

from plays.oracles.case import Case, Fault

ENOUGH = 20
"""Of fewer events a share says nothing."""

MOST: dict[str, float] = {}
"""The highest share of events of which the invariant is unknown, on a cluster whose evidence is complete."""


def unknowns(case: Case) -> Iterator[Fault]:
    """Invariants of which more is unknown than ``MOST``."""
    if not is_complete(case):
        return
    for row in case.rows["coverage"]:
        checked, share = row["checked"] or 0, MOST.get(row["invariant"], 0.0)
        if checked >= ENOUGH and (row["unknown"] or 0) > share * checked:
            found = round(row["unknown"] / checked, 4)
            yield {
                "fault": f"O8:{row['invariant']}",
                "share": found,
                "most": share,
                "unknown": row["unknown"],
                "checked": checked,
            }


def is_complete(case: Case) -> bool:
    """Whether no broker lost lines or records, and no coordinator its log."""
    is_kept = all(how == "stop" for _, _, how in case.downs) and "internal" not in case.done([])
    return is_kept and case.last_answers is not None
