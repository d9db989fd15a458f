"""The rows of earlier chapters that make a step with a row of a chapter, for definitions that look at steps.

Positions tell which rows make a step: one ends where the other begins. The lake is asked for them by time,
since such a row also ends when the other begins. Rows of one history do not overlap, so no two of the
earlier rows that are added to a chapter make a step.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from fencepost.conditions import Condition, Within
from fencepost.judge.chapters import Chapters
from fencepost.tables import CHAPTER, Table

if TYPE_CHECKING:
    from fencepost.judge.engine import Engine

_AT_ONCE = 200
"""Iceberg compares at most so many values of an IN condition with a file's statistics."""

_CONDITIONS = 20
"""At most so many conditions choose the rows of a cluster: Iceberg compares each one with every file."""

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
"""When rows began that began before the first judged chapter of their cluster."""

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
    """Store the rows of the chapters together with the earlier rows that make a step with one of them.

    Rows of one history have the same ``keys``. Returns the name under which the rows are stored; None where
    the chapters have no rows.
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
    stored_as = table.name.replace("silver.", "beside_")
    engine.keep(stored_as, _BESIDE.format(table=table.name, same=" AND ".join(same), **lists))
    return stored_as


def _before(begun: Sequence[Mapping[str, Any]], history: Chapters) -> Iterator[Condition]:
    """Conditions for the rows of earlier chapters that may end where one of these rows begins, or begin
    where one ends (which happens only where a clock went back).
    """
    for cluster, begins in _begins(history).items():
        of_cluster = [row for row in begun if row["cluster"] == cluster]
        earlier: Condition = {"cluster": cluster, CHAPTER: Within(below=history.first[cluster])}
        if any(row["undated"] for row in of_cluster):
            yield earlier
        elif of_cluster:
            yield {**earlier, "from_time": Within(least=begins)}
            times = sorted({row["from_time"] for row in of_cluster} - {None})
            size = max(_AT_ONCE, -(-len(times) // _CONDITIONS))
            for number in range(0, len(times), size):
                yield {**earlier, "to_time": _one_of(times[number : number + size])}


def _one_of(times: Sequence[datetime]) -> frozenset[datetime] | Within:
    """A condition for these times, which are in order; if they are many, for all times between them."""
    if len(times) <= _AT_ONCE:
        return frozenset(times)
    return Within(least=times[0], below=times[-1] + timedelta(microseconds=1))


def _begins(history: Chapters) -> dict[str, datetime]:
    """When the first judged chapter begins, for each cluster that has earlier chapters."""
    return {cluster: datetime.fromtimestamp(ms / 1000, UTC) for cluster, ms in history.first.items() if ms}


def _columns(of: str, names: Sequence[str]) -> str:
    return ", ".join(f"{of}.{name}" for name in names)
