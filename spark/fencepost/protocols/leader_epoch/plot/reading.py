"""The rows of one topic that a picture is drawn from, found by name in the marts."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fencepost.plots.reading import PlotError, find, frame, limits
from fencepost.reading import Reader, rows
from fencepost.words import printable

if TYPE_CHECKING:
    import pandas as pd

INCARNATIONS = "marts.fct_topic_incarnations"
EPOCHS = "marts.fct_leader_epochs"
COMMITS = "marts.fct_committed_offsets"
ORPHANS = "marts.fct_orphaned_offsets"
TRUNCATED = "marts.fct_offsets_past_truncation"
RESETS = "marts.fct_offset_resets"
INCARNATION_COLUMNS = ("topic_id", "incarnation", "created_at", "removed_at")
EPOCH_COLUMNS = (
    "partition", "topic_id", "leader_epoch", "leader", "how", "records_lost", "elected_at", "ended_at",
    "epochs",
)  # fmt: skip
MARK_COLUMNS = ("group_id", "kind", "committed_offset", "cause", "at", "marks")

_NAMES = f"SELECT DISTINCT cluster, topic FROM {INCARNATIONS} WHERE topic IS NOT NULL"
_LIVES = f"""
SELECT topic_id, incarnation, created_at, removed_at FROM {INCARNATIONS}
WHERE cluster = :cluster AND topic = :name
  AND (:end IS NULL OR created_at IS NULL OR created_at <= :end)
  AND (:start IS NULL OR removed_at IS NULL OR removed_at >= :start)
"""
# What falls on one spot of the picture, a ten-thousandth of its width, is one row: the newest epoch of its
# kind. The last one ends with its topic.
_LEADERS = f"""
WITH elected AS (
  SELECT e.partition, e.topic_id, e.leader_epoch, e.leader, e.how, e.records_lost, e.elected_at,
    coalesce(e.replaced_at, i.removed_at) AS ended_at
  FROM {EPOCHS} e JOIN {INCARNATIONS} i ON e.cluster = i.cluster AND e.topic_id = i.topic_id
  WHERE i.cluster = :cluster AND i.topic = :name AND e.elected_at IS NOT NULL
), asked AS (
  SELECT * FROM elected
  WHERE (:end IS NULL OR elected_at <= :end) AND (:start IS NULL OR ended_at IS NULL OR ended_at >= :start)
), ends AS (
  SELECT min(unix_micros(elected_at)) AS first,
    greatest(1, (max(unix_micros(elected_at)) - min(unix_micros(elected_at))) div 10000) AS step
  FROM asked
), placed AS (
  SELECT *, (unix_micros(elected_at) - first) div step AS spot FROM asked CROSS JOIN ends
), ranked AS (
  SELECT *, row_number() OVER (PARTITION BY partition, topic_id, how, spot ORDER BY leader_epoch DESC) AS age
  FROM placed
)
SELECT partition, topic_id, max(leader_epoch) AS leader_epoch,
  max(CASE WHEN age = 1 THEN leader END) AS leader, how, sum(records_lost) AS records_lost,
  min(elected_at) AS elected_at,
  CASE WHEN count(ended_at) = count(*) THEN max(ended_at) END AS ended_at, count(*) AS epochs
FROM ranked GROUP BY partition, topic_id, how, spot
"""
_MARKS = f"""
WITH marked AS (
  SELECT c.group_id, c.committed_offset, c.committed_at AS at, NULL AS cause,
    CASE WHEN c.is_orphaned THEN 'orphaned' WHEN c.error <> 'NONE' THEN 'refused'
      WHEN t.commit_id IS NOT NULL THEN 'past_truncation' WHEN c.is_orphaned IS NULL THEN 'unknown'
      ELSE 'live' END AS kind
  FROM {COMMITS} c LEFT JOIN (SELECT DISTINCT cluster, commit_id FROM {TRUNCATED}) t
    ON c.cluster = t.cluster AND c.commit_id = t.commit_id
  WHERE c.cluster = :cluster AND c.topic = :name
  UNION ALL
  SELECT group_id, committed_offset, used_at AS at, NULL AS cause, 'read_on' AS kind FROM {ORPHANS}
  WHERE cluster = :cluster AND topic = :name AND used = 'read_on'
  UNION ALL
  SELECT group_id, reset_to AS committed_offset, requested_at AS at, cause, 'reset' AS kind FROM {RESETS}
  WHERE cluster = :cluster AND topic = :name AND group_id IS NOT NULL
), asked AS (
  SELECT * FROM marked
  WHERE at IS NOT NULL AND (:end IS NULL OR at <= :end) AND (:start IS NULL OR at >= :start)
), ends AS (
  SELECT min(unix_micros(at)) AS first,
    greatest(1, (max(unix_micros(at)) - min(unix_micros(at))) div 10000) AS step
  FROM asked
)
SELECT group_id, kind, max(committed_offset) AS committed_offset, max(cause) AS cause, min(at) AS at,
  count(*) AS marks
FROM asked CROSS JOIN ends GROUP BY group_id, kind, (unix_micros(at) - first) div step
"""


@dataclass(frozen=True)
class TopicTimeline:
    """What happened to one topic's name, as rows of ``*_COLUMNS``: an open end is NaT.

    Times are UTC and without zone. ``epochs`` are of all its incarnations; ``marks`` are offsets that groups
    committed (``kind``: live, unknown, refused, past_truncation, orphaned), read on from (read_on), or at
    which their consumers began by auto.offset.reset (reset, with its ``cause``). Their last column counts
    what a row stands for. ``start`` and ``end`` limit the picture, None where the rows do.
    """

    cluster: str
    topic: str
    incarnations: pd.DataFrame
    epochs: pd.DataFrame
    marks: pd.DataFrame
    start: dt.datetime | None = None
    end: dt.datetime | None = None


def read(
    lake: Reader,
    topic: str,
    cluster: str | None = None,
    start: dt.datetime | None = None,
    end: dt.datetime | None = None,
) -> TopicTimeline:
    """The timeline of one topic between two moments (UTC, without zone). Raises PlotError."""
    names = [(row["cluster"], row["topic"]) for row in rows(lake.query(_NAMES))]
    cluster, name = find(names, topic, cluster, "topic")
    parameters = {"cluster": cluster, "name": name, **limits(start, end)}

    def read(query: str, by: Sequence[str]) -> pd.DataFrame:
        return frame(lake.query(query, **parameters)).sort_values(list(by), ignore_index=True)

    timeline = TopicTimeline(
        cluster,
        name,
        read(_LIVES, ("created_at", "topic_id")),
        read(_LEADERS, ("partition", "elected_at", "leader_epoch")),
        read(_MARKS, ("group_id", "at", "kind")),
        start,
        end,
    )
    if timeline.epochs.empty and timeline.marks.empty:
        raise PlotError(f"Nothing is known of topic {printable(name)!r} in that time.")
    return timeline
