"""What steps are judged on by chapter: rows of earlier chapters beside those of their own.

Positions tell which rows of earlier chapters make a step with one of a chapter. The lake is asked for them by
time: what ends where another row begins also ends when that begins. Rows of one history do not overlap, so of
those that are added to a chapter no two make a step.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from fencepost.judge.chapters import Chapters
from fencepost.lake import AtLeast, Below, Condition
from fencepost.tables import CHAPTER, Table

if TYPE_CHECKING:
    from fencepost.judge.engine import Engine

_AT_ONCE = 200
"""So many values Iceberg compares with what it knows of a file; more it does not."""

_CONDITIONS = 20
"""So many conditions at most choose the rows of a cluster: each is compared with every file."""

_TIME = pa.timestamp("us", tz="UTC")

_BEGUN = """
SELECT DISTINCT
  places.cluster,
  CASE WHEN seen.from_time < firsts.begins THEN seen.from_time END AS from_time,
  seen.from_time IS NULL AS undated
FROM {table} AS seen
JOIN places
  ON seen.cluster = places.place
LEFT JOIN firsts
  ON places.cluster = firsts.cluster
"""
"""When rows began, of those that began before the first chapter that is judged of their cluster."""

_BESIDE = """
WITH present AS (
  SELECT seen.cluster AS place, places.cluster AS part_of, places.chapter AS over_in, {seen}
  FROM {table} AS seen
  JOIN places
    ON seen.cluster = places.place
), known AS (
  SELECT part_of, over_in, {present}
  FROM present
  UNION ALL
  SELECT older.cluster, older.chapter, {older}
  FROM older
)
SELECT present.place AS cluster, {present}
FROM present
UNION ALL
(
  SELECT present.place, {known}
  FROM present
  JOIN known
    ON {same}
    AND known.to_position = present.from_position
  UNION
  SELECT present.place, {known}
  FROM present
  JOIN known
    ON {same}
    AND known.from_position = present.to_position
)
"""


def keep(
    engine: Engine, table: Table, columns: Sequence[str], keys: Collection[str], history: Chapters
) -> str | None:
    """Keep the rows of the chapters and what is beside them, and give the name of that; None where they have
    none. Rows of one history have the same ``keys``.
    """
    begins = _begins(history)
    firsts = {"cluster": pa.array(begins, pa.string()), "begins": pa.array(begins.values(), _TIME)}
    engine.give("firsts", pa.table(firsts))
    begun = engine.rows(_BEGUN.format(table=table.name))
    if not begun:
        return None
    engine.fetch("older", table, list(_before(begun, history)), ("cluster", CHAPTER, *columns))
    same = ["known.part_of = present.part_of", "known.over_in < present.over_in"]
    same += [f"known.{name} IS NOT DISTINCT FROM present.{name}" for name in keys]
    lists = {name: _columns(name, columns) for name in ("seen", "present", "older", "known")}
    called = table.name.replace("silver.", "beside_")
    engine.keep(called, _BESIDE.format(table=table.name, same=" AND ".join(same), **lists))
    return called


def _before(begun: Sequence[Mapping[str, Any]], history: Chapters) -> Iterator[Condition]:
    """What chooses the rows of earlier chapters that may end where one of these begins, or begin where it
    ends: which is only where a clock went back.
    """
    for cluster, begins in _begins(history).items():
        here = [row for row in begun if row["cluster"] == cluster]
        earlier: Condition = {"cluster": cluster, CHAPTER: Below(history.first[cluster])}
        if any(row["undated"] for row in here):
            yield earlier
        elif here:
            yield {**earlier, "from_time": AtLeast(begins)}
            times = sorted({row["from_time"] for row in here} - {None})
            some = max(_AT_ONCE, -(-len(times) // _CONDITIONS))
            for number in range(0, len(times), some):
                yield {**earlier, "to_time": _one_of(times[number : number + some])}


def _one_of(times: Sequence[datetime]) -> frozenset[datetime] | Below:
    """These times, in order; of many all that lies between."""
    if len(times) <= _AT_ONCE:
        return frozenset(times)
    return Below(times[-1] + timedelta(microseconds=1), times[0])


def _begins(history: Chapters) -> dict[str, datetime]:
    """When the first chapter that is judged begins, of clusters that have earlier ones."""
    return {cluster: datetime.fromtimestamp(ms / 1000, UTC) for cluster, ms in history.first.items() if ms}


def _columns(of: str, names: Sequence[str]) -> str:
    return ", ".join(f"{of}.{name}" for name in names)
