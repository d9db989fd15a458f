"""The rows of one instance that a picture is drawn from, found by its name."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fencepost.plots.reading import PlotError, find, frame, limits
from fencepost.protocols.lag_report.report import RACES
from fencepost.protocols.lag_report.tables import (
    DIRECTORY_DELETIONS,
    STREAMS_INSTANCES,
    STREAMS_REBALANCES,
    TASK_RESTORES,
)
from fencepost.reading import Reader, rows
from fencepost.words import printable

if TYPE_CHECKING:
    import pandas as pd

LOCKS = "marts.fct_directory_locks"

_OF = "cluster = :cluster AND instance = :name"
_NAMES = f"SELECT DISTINCT cluster, instance FROM {STREAMS_INSTANCES.name} WHERE instance IS NOT NULL"
_REBALANCES = f"""
SELECT thread, generation, reported_at AS since, assigned_at AS until FROM {STREAMS_REBALANCES.name}
WHERE {_OF} AND reported_at IS NOT NULL AND (:end IS NULL OR reported_at <= :end)
  AND (:start IS NULL OR coalesce(assigned_at, reported_at) >= :start)
"""
_LOCKS = f"""
SELECT task_id, held_for AS kind, locked_at AS since, unlocked_at AS until FROM {LOCKS}
WHERE {_OF} AND locked_at IS NOT NULL AND (:end IS NULL OR locked_at <= :end)
  AND (:start IS NULL OR coalesce(unlocked_at, locked_at) >= :start)
"""
_RESTORES = f"""
SELECT task_id, CASE WHEN from_the_beginning THEN 'from_the_beginning' ELSE 'restore' END AS kind,
  started_at AS since, ended_at AS until FROM {TASK_RESTORES.name}
WHERE {_OF} AND kind = 'active' AND started_at IS NOT NULL AND ended_at IS NOT NULL
  AND (:end IS NULL OR started_at <= :end) AND (:start IS NULL OR ended_at >= :start)
"""
_DELETIONS = f"""
SELECT d.task_id, d.deleted_at AS at, CASE WHEN r.deletion_id IS NOT NULL THEN 'needed'
  WHEN d.deleted_by <> 'cleaner' THEN 'by_others' WHEN NOT d.has_state THEN 'empty' ELSE 'cleaned' END AS kind
FROM {DIRECTORY_DELETIONS.name} d
LEFT JOIN {RACES} r ON d.cluster = r.cluster AND d.deletion_id = r.deletion_id
WHERE d.cluster = :cluster AND d.instance = :name AND d.deleted_at IS NOT NULL
  AND (:end IS NULL OR d.deleted_at <= :end) AND (:start IS NULL OR d.deleted_at >= :start)
"""


@dataclass(frozen=True)
class InstanceTimeline:
    """What an instance's own log shows, by its clock: ``rebalances`` (since, until), ``locks`` (task_id,
    since, until, kind: task, report), ``restores`` (the same; kind: restore, from_the_beginning) and
    ``deletions`` (task_id, at, kind: cleaned, needed, empty, by_others). Times are UTC and without zone;
    ``until`` is missing of what goes on. ``start`` and ``end`` limit the picture, None where rows do.
    """

    cluster: str
    instance: str
    rebalances: pd.DataFrame
    locks: pd.DataFrame
    restores: pd.DataFrame
    deletions: pd.DataFrame
    start: dt.datetime | None = None
    end: dt.datetime | None = None


def read(
    lake: Reader,
    instance: str,
    cluster: str | None = None,
    start: dt.datetime | None = None,
    end: dt.datetime | None = None,
) -> InstanceTimeline:
    """The timeline of one instance between two moments (UTC, without zone). Raises PlotError."""
    names = [(row["cluster"], row["instance"]) for row in rows(lake.query(_NAMES))]
    cluster, name = find(names, instance, cluster, "instance of Kafka Streams")
    parameters = {"cluster": cluster, "name": name, **limits(start, end)}
    rebalances, locks, restores, deletions = (
        frame(lake.query(query, **parameters)) for query in (_REBALANCES, _LOCKS, _RESTORES, _DELETIONS)
    )
    if locks.empty and restores.empty and deletions.empty:
        raise PlotError(f"The log of {printable(name)!r} shows no task in that time.")
    return InstanceTimeline(cluster, name, rebalances, locks, restores, deletions, start, end)
