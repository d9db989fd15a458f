"""The rows of one group that a picture is drawn from, found by name in the marts."""

from __future__ import annotations

import datetime as dt
import difflib
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fencepost.reading import Reader, rows
from fencepost.report import COMMITS, printable

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

EPOCHS = "marts.fct_member_epochs"
MEMBER_COLUMNS = (
    "member_id",
    "client_id",
    "protocol",
    "life",
    "from_position",
    "member_epoch",
    "group_epoch",
    "target_assignment_epoch",
    "from_time",
    "to_time",
)
COMMIT_COLUMNS = (
    "member_id",
    "client_id",
    "client_epoch",
    "truth",
    "broker_answer",
    "answered_at",
    "commits",
)
_NAMES = f"SELECT cluster, group_id FROM {EPOCHS} UNION SELECT cluster, group_id FROM {COMMITS}"
_MEMBERS = f"""
SELECT {", ".join(MEMBER_COLUMNS)} FROM {EPOCHS}
WHERE cluster = :cluster AND group_id = :name
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


class PlotError(Exception):
    """There is nothing to draw as asked; the message says what there is."""


@dataclass(frozen=True)
class Timeline:
    """One group's ``members`` (MEMBER_COLUMNS, an open ``to_time`` is NaT) and ``commits`` (COMMIT_COLUMNS).

    Times are UTC and without zone. ``commits`` counts what a row stands for. ``start`` and ``end`` limit the
    picture, None where the rows do.
    """

    cluster: str
    group_id: str
    members: pd.DataFrame
    commits: pd.DataFrame
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
    known = [(row["cluster"], row["group_id"]) for row in rows(lake.query(_NAMES))]
    cluster, group_id = find(known, group, cluster)
    asked = {"cluster": cluster, "name": group_id, **limits(start, end)}
    members = frame(lake.query(_MEMBERS, **asked))
    marks = frame(lake.query(_COMMITS, **asked))
    if members.empty and marks.empty:
        raise PlotError(f"Nothing is known of group {printable(group_id)!r} in that time.")
    by = ["from_time", "life", "from_position", "member_id"]
    return Timeline(
        cluster,
        group_id,
        members.sort_values(by, ignore_index=True),
        marks.sort_values(list(COMMIT_COLUMNS), ignore_index=True),
        start,
        end,
    )


def limits(start: dt.datetime | None, end: dt.datetime | None) -> dict[str, object]:
    """From when to when, as parameters of a query: null where there is no limit."""
    # without a zone an engine would take it for a local time of this machine
    named = {"start": start, "end": end}
    return {name: each and each.replace(tzinfo=dt.UTC) for name, each in named.items()}


def frame(found: pa.Table) -> pd.DataFrame:
    """Rows for a picture: times in UTC and without zone."""
    table: pd.DataFrame = found.to_pandas()
    for name in table.select_dtypes("datetimetz"):
        table[name] = table[name].dt.tz_localize(None)
    return table


def find(
    known: Collection[tuple[str, str]], name: str, cluster: str | None, what: str = "group"
) -> tuple[str, str]:
    """The one ``(cluster, id)`` that is meant: by its id, or by its id as ``fencepost`` prints it.

    ``what`` it is an id of. Raises PlotError with near matches, or with the clusters to choose from.
    """
    clusters = sorted({each for each, _ in known})
    if cluster is not None and cluster not in clusters:
        raise PlotError(f"No cluster {printable(cluster)!r}. There are: {_listed(clusters)}.")
    here = [each for each in known if cluster in (None, each[0])]
    exact = [each for each in here if each[1] == name]
    found = sorted(exact or [each for each in here if printable(each[1]) == name])
    if len({each for each, _ in found}) > 1:
        raise PlotError(
            f"Several clusters have a {what} {printable(name)!r}: {_listed([each for each, _ in found])}. "
            "Choose one with --cluster."
        )
    if not found:
        raise PlotError(f"No {what} {printable(name)!r}. {_near({each for _, each in here}, name, what)}")
    if len(found) > 1:
        raise PlotError(f"{printable(name)!r} is how several {what}s are printed; give the id itself.")
    return found[0]


def _near(ids: Collection[str], name: str, what: str) -> str:
    if not ids:
        return f"There are no {what}s."
    close = difflib.get_close_matches(name, ids, n=5)
    close += sorted(each for each in ids if name.lower() in each.lower() and each not in close)[:5]
    if close:
        return f"Near: {_listed(close)}."
    return f"There are {len(ids)}: {_listed(sorted(ids)[:10])}{', ...' if len(ids) > 10 else ''}."


def _listed(names: Collection[str]) -> str:
    return ", ".join(repr(printable(name)) for name in names)
