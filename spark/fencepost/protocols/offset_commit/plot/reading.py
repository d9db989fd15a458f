"""The rows of one group that a picture is drawn from, found by name in the marts."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fencepost.plots.reading import PlotError, find, frame, limits
from fencepost.protocols.offset_commit.report import COMMITS
from fencepost.protocols.offset_commit.tables import GROUPS
from fencepost.reading import Reader, rows
from fencepost.words import printable

if TYPE_CHECKING:
    import pandas as pd

EPOCHS = "marts.fct_member_epochs"
OWNERSHIP = "marts.fct_ownership_intervals"
LIVES = "marts.fct_member_lives"
MOST_REMARKABLE = 20
"""Of each partition."""
MOST_MOVED = 3
"""Partitions that are shown because they moved."""
MEMBER_COLUMNS = (
    "member_id",
    "client_id",
    "protocol",
    "life",
    "from_position",
    "member_epoch",
    "from_time",
    "to_time",
)
GROUP_COLUMNS = ("life", "from_position", "group_epoch", "target_assignment_epoch", "from_time", "to_time")
COMMIT_COLUMNS = (
    "member_id",
    "client_id",
    "client_epoch",
    "truth",
    "broker_answer",
    "answered_at",
    "commits",
)
OWNERSHIP_COLUMNS = ("topic", "partition", "member_id", "from_time", "to_time")
REMARKABLE_COLUMNS = (
    "member_id",
    "client_epoch",
    "truth",
    "broker_answer",
    "topic",
    "partition",
    "committed_offset",
    "responded_at",
)
END_COLUMNS = ("member_id", "last_epoch", "removed_by", "ended_at")
_NAMES = f"SELECT cluster, group_id FROM {EPOCHS} UNION SELECT cluster, group_id FROM {COMMITS}"
_MEMBERS = f"""
SELECT {", ".join(MEMBER_COLUMNS)} FROM {EPOCHS}
WHERE cluster = :cluster AND group_id = :name
  AND (:end IS NULL OR from_time <= :end) AND (:start IS NULL OR to_time IS NULL OR to_time >= :start)
"""
_ENDS = f"""
SELECT {", ".join(END_COLUMNS)} FROM {LIVES}
WHERE cluster = :cluster AND group_id = :name AND ended_at IS NOT NULL AND NOT is_current
  AND (:end IS NULL OR ended_at <= :end) AND (:start IS NULL OR ended_at >= :start)
"""
# a group without members ever has no epochs
_GROUP = f"""
SELECT {", ".join(GROUP_COLUMNS)} FROM {GROUPS.name}
WHERE cluster = :cluster AND group_id = :name AND group_type <> 'simple'
  AND (:end IS NULL OR from_time <= :end) AND (:start IS NULL OR to_time IS NULL OR to_time >= :start)
"""
# Commits of one member and kind that are closer than a ten-thousandth of the picture's width are one mark,
# at the first one's time.
_COMMITS = f"""
WITH asked AS (
  SELECT coalesce(member_id, '') AS member_id, client_id, client_epoch, truth, broker_answer, responded_at
  FROM {COMMITS}
  WHERE cluster = :cluster AND group_id = :name
    AND (:end IS NULL OR responded_at <= :end) AND (:start IS NULL OR responded_at >= :start)
), ends AS (
  SELECT min(unix_micros(responded_at)) AS first,
    greatest(1, (max(unix_micros(responded_at)) - min(unix_micros(responded_at))) div 10000) AS step
  FROM asked
)
SELECT member_id, client_id, client_epoch, truth, broker_answer, min(responded_at) AS answered_at,
  count(*) AS commits
FROM asked CROSS JOIN ends
GROUP BY member_id, client_id, client_epoch, truth, broker_answer,
  (unix_micros(responded_at) - first) div step
"""
# commits that an owner would have to know of, with their partitions, the first ones of each
_REMARKABLE = f"""
SELECT coalesce(member_id, '') AS member_id, client_epoch, truth, broker_answer, topic, partition,
  committed_offset, responded_at
FROM (
  SELECT *, row_number() OVER (PARTITION BY topic, partition ORDER BY responded_at, commit_id) AS place
  FROM {COMMITS}
  WHERE cluster = :cluster AND group_id = :name
    AND (:end IS NULL OR responded_at <= :end) AND (:start IS NULL OR responded_at >= :start)
    AND (broker_answer = 'accept' AND truth IN ('zombie', 'not_owner')
      OR broker_answer = 'reject' AND truth = 'owner')
) AS found
WHERE place <= :most
"""
# partitions that went from member to member, those that did so most often
_MOVED = f"""
SELECT topic, partition FROM {OWNERSHIP}
WHERE cluster = :cluster AND group_id = :name
  AND (:end IS NULL OR from_time <= :end) AND (:start IS NULL OR to_time IS NULL OR to_time >= :start)
GROUP BY topic, partition HAVING count(DISTINCT member_id) > 1
ORDER BY count(*) DESC, topic, partition LIMIT :most
"""
_OWNERSHIP = f"""
SELECT owned.topic, owned.partition, owned.member_id, owned.from_time, owned.to_time
FROM {OWNERSHIP} AS owned
WHERE owned.cluster = :cluster AND owned.group_id = :name
  AND (:end IS NULL OR owned.from_time <= :end)
  AND (:start IS NULL OR owned.to_time IS NULL OR owned.to_time >= :start)
"""


@dataclass(frozen=True)
class Timeline:
    """One group's ``members`` (MEMBER_COLUMNS, an open ``to_time`` is NaT), its own epochs (``group``:
    GROUP_COLUMNS) and ``commits`` (COMMIT_COLUMNS). ``remarkable``: commits that were accepted of no owner,
    or refused of an owner (REMARKABLE_COLUMNS); ``ownership``: who owned their partitions, and those that
    moved most often (OWNERSHIP_COLUMNS).

    ``ends``: when stays of members ended, and why, None for unknown (END_COLUMNS).

    Times are UTC and without zone. The column ``commits`` counts the commits that a row stands for. ``start``
    and ``end`` limit the picture; if one is None, the rows limit it.
    """

    cluster: str
    group_id: str
    members: pd.DataFrame
    group: pd.DataFrame
    commits: pd.DataFrame
    remarkable: pd.DataFrame | None = None
    ownership: pd.DataFrame | None = None
    ends: pd.DataFrame | None = None
    start: dt.datetime | None = None
    end: dt.datetime | None = None


def read(
    lake: Reader,
    group: str,
    cluster: str | None = None,
    start: dt.datetime | None = None,
    end: dt.datetime | None = None,
) -> Timeline:
    """The timeline of one group between two moments (UTC, without zone). Raises PlotError."""
    names = [(row["cluster"], row["group_id"]) for row in rows(lake.query(_NAMES))]
    cluster, group_id = find(names, group, cluster)
    parameters = {"cluster": cluster, "name": group_id, **limits(start, end)}
    members = frame(lake.query(_MEMBERS, **parameters))
    marks = frame(lake.query(_COMMITS, **parameters))
    if members.empty and marks.empty:
        raise PlotError(f"Nothing is known of group {printable(group_id)!r} in that time.")
    remarkable, ownership = _owned(lake, parameters)
    by = ["from_time", "life", "from_position"]
    return Timeline(
        cluster,
        group_id,
        members.sort_values([*by, "member_id"], ignore_index=True),
        frame(lake.query(_GROUP, **parameters)).sort_values(by, ignore_index=True),
        marks.sort_values(list(COMMIT_COLUMNS), ignore_index=True),
        remarkable,
        ownership,
        _ended(lake, parameters),
        start,
        end,
    )


def _ended(lake: Reader, parameters: dict[str, object]) -> pd.DataFrame | None:
    if not lake.has(LIVES):
        return None
    return frame(lake.query(_ENDS, **parameters)).sort_values(["ended_at", "member_id"], ignore_index=True)


def _owned(
    lake: Reader, parameters: dict[str, object]
) -> tuple[pd.DataFrame, pd.DataFrame] | tuple[None, None]:
    """The remarkable commits, and who owned their partitions and those that moved; None if there are
    none.
    """
    import pandas as pd

    if not lake.has(OWNERSHIP):
        return None, None
    remarkable = frame(lake.query(_REMARKABLE, most=MOST_REMARKABLE, **parameters))
    moved = frame(lake.query(_MOVED, most=MOST_MOVED, **parameters))
    about = pd.concat([remarkable[["topic", "partition"]], moved]).drop_duplicates()
    if about.empty:
        return None, None
    owned = frame(lake.query(_OWNERSHIP, **parameters))
    return (
        remarkable.sort_values(["responded_at", "topic", "partition"], ignore_index=True),
        owned.merge(about).sort_values(list(OWNERSHIP_COLUMNS), ignore_index=True),
    )
