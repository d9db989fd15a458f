"""The rows of one group that a picture is drawn from, found by name in the marts."""

from __future__ import annotations

import datetime as dt
import difflib
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from fencepost.report import COMMITS, printable

if TYPE_CHECKING:
    import pandas as pd

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
# Commits of one member and kind that are closer than this share of the picture's width are one mark.
_RESOLUTION = 10_000


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
    spark: SparkSession,
    group: str,
    cluster: str | None = None,
    start: dt.datetime | None = None,
    end: dt.datetime | None = None,
) -> Timeline:
    """The timeline of one group between two moments (UTC, without zone). Raises PlotError."""
    epochs, commits = spark.table(EPOCHS), spark.table(COMMITS)
    names = epochs.select("cluster", "group_id").union(commits.select("cluster", "group_id")).distinct()
    cluster, group_id = find([(row[0], row[1]) for row in names.collect()], group, cluster)
    same = (F.col("cluster") == cluster) & (F.col("group_id") == group_id)
    members: pd.DataFrame = epochs.where(same & overlaps(start, end)).select(*MEMBER_COLUMNS).toPandas()
    asked = commits.where(same & between("responded_at", start, end))
    marks: pd.DataFrame = _thinned(asked).toPandas()
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


def overlaps(
    start: dt.datetime | None, end: dt.datetime | None, begun: str = "from_time", ended: str = "to_time"
) -> Column:
    """What has begun by ``end`` and has not ended before ``start``; null where something lasts."""
    over = F.lit(False) if start is None else F.coalesce(F.col(ended) < _moment(start), F.lit(False))
    return between(begun, None, end) & ~over


def between(column: str, start: dt.datetime | None, end: dt.datetime | None) -> Column:
    """What happened from ``start`` to ``end``, where they are given."""
    begun = F.lit(True) if start is None else F.col(column) >= _moment(start)
    return begun & (F.lit(True) if end is None else F.col(column) <= _moment(end))


def _moment(time: dt.datetime) -> Column:
    # without a zone Spark would take it for a local time of this machine
    return F.lit(time.replace(tzinfo=dt.UTC))


def spot(rows: DataFrame, column: str) -> Column:
    """A number that is the same for rows whose times fall on one spot of the picture."""
    at = F.unix_micros(column)
    ends = rows.agg(F.min(at), F.max(at)).collect()[0]
    first, last = (0, 0) if ends[0] is None else ends
    return F.floor((at - F.lit(first)) / F.lit(max(1, (last - first) // _RESOLUTION)))


def _thinned(commits: DataFrame) -> DataFrame:
    """One row for commits that fall on one spot of the picture, at the first one's time."""
    named = commits.withColumn("member_id", F.coalesce("member_id", F.lit("")))
    alike = ("member_id", "client_id", "client_epoch", "truth", "broker_answer")
    rows = named.groupBy(*alike, spot(commits, "responded_at")).agg(
        F.min("responded_at").alias("answered_at"), F.count("*").alias("commits")
    )
    return rows.select(*COMMIT_COLUMNS)
