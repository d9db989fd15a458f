"""The rows of one group's rebalances that a picture is drawn from, found by name in the marts."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fencepost.plots.reading import PlotError, find, frame, limits
from fencepost.protocols.ownership_claim.report import CLAIMS, REBALANCES, STUCK
from fencepost.reading import Reader, rows
from fencepost.words import printable

if TYPE_CHECKING:
    import pandas as pd

MARK_COLUMNS = ("member_id", "client_id", "kind", "at", "marks")

_NAMES = f"SELECT DISTINCT cluster, group_id FROM {REBALANCES}"
_REBALANCES = f"""
SELECT r.life, r.generation, r.prepared_at, r.stabilized_at, r.rebalance_ms, r.waited_for, r.members,
  r.members_joined, r.members_left, r.is_assignment_changed, s.cluster IS NOT NULL AS is_stuck
FROM {REBALANCES} r LEFT JOIN {STUCK} s ON r.cluster = s.cluster AND r.group_id = s.group_id
  AND r.life = s.life AND r.record_offset BETWEEN s.first_record_offset AND s.last_record_offset
WHERE r.cluster = :cluster AND r.group_id = :name AND (:end IS NULL OR r.stabilized_at <= :end)
ORDER BY r.record_offset
"""
_MARKS = f"""
SELECT member_id, max(client_id) AS client_id, kind, claimed_at AS at, sum(rebalances) AS marks FROM (
  SELECT member_id, client_id, claimed_at, rebalances,
    CASE WHEN standing = 'contradicted' THEN 'contradicted'
      WHEN is_held AND standing = 'valid' AND outcome IN ('given_to_another', 'both') THEN 'handed_over'
      WHEN is_held AND standing = 'stale' AND outcome IN ('kept', 'both') THEN 'stale_won'
      WHEN standing = 'stale' THEN 'stale' WHEN standing = 'unknown' THEN 'unknown' ELSE 'valid' END AS kind
  FROM {CLAIMS} WHERE cluster = :cluster AND group_id = :name
    AND (:end IS NULL OR claimed_at <= :end) AND (:start IS NULL OR claimed_at >= :start)
) GROUP BY member_id, kind, claimed_at
"""


@dataclass(frozen=True)
class GroupTimeline:
    """The rebalances of one group, in the order of its log (the columns of the mart, without the names of
    cluster and group, and ``is_stuck``); the claims of its members as rows of ``MARK_COLUMNS`` (``kind``:
    valid, stale, stale_won, contradicted, handed_over, unknown). Times are UTC and without zone; ``start``
    and ``end`` limit the picture, None if only rows limit it.
    """

    cluster: str
    group_id: str
    rebalances: pd.DataFrame
    marks: pd.DataFrame
    start: dt.datetime | None = None
    end: dt.datetime | None = None


def read(
    lake: Reader,
    group_id: str,
    cluster: str | None = None,
    start: dt.datetime | None = None,
    end: dt.datetime | None = None,
) -> GroupTimeline:
    """The timeline of one group between two moments (UTC, without zone). Raises PlotError.

    Rebalances before ``start`` are read, too: they show which clients are members.
    """
    names = [(row["cluster"], row["group_id"]) for row in rows(lake.query(_NAMES))]
    cluster, name = find(names, group_id, cluster, "classic group")
    parameters = {"cluster": cluster, "name": name, **limits(start, end)}
    rebalances = frame(lake.query(_REBALANCES, **{k: v for k, v in parameters.items() if k != "start"}))
    marks = frame(lake.query(_MARKS, **parameters)).sort_values(
        ["member_id", "at", "kind"], ignore_index=True
    )
    shown = rebalances if start is None else rebalances[rebalances["stabilized_at"] >= start]
    if shown.empty:
        raise PlotError(f"Group {printable(name)!r} did not rebalance in that time.")
    return GroupTimeline(cluster, name, rebalances, marks, start, end)
