"""The rows of earlier chapters that overlap a row of a chapter, for definitions that join overlapping rows.

A chapter must be judged on every join with a row of its own. But the earlier rows that are added to it are
joined with each other, too. So the judge also evaluates the earlier rows alone, and removes those results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from fencepost.conditions import Condition, Within
from fencepost.definitions import RESULT, Query
from fencepost.judge.chapters import Chapters
from fencepost.tables import CHAPTER, Table

if TYPE_CHECKING:
    from fencepost.judge.engine import Engine

_EARLIER = "before "
"""The prefix of a place under which the earlier rows that were added to it are judged alone."""

_PROBES = """
SELECT seen.cluster AS place, places.cluster AS part_of, places.chapter AS over_in, {seen}
FROM {table} AS seen
JOIN places
  ON seen.cluster = places.place
"""
"""The keys by which rows of the chapters are joined, and the positions between which the rows are true."""

_KNOWN = """
SELECT places.cluster AS part_of, places.chapter AS over_in, {seen}
FROM {table} AS seen
JOIN places
  ON seen.cluster = places.place
UNION ALL
SELECT older.cluster, older.chapter, {older}
FROM older
"""

_BESIDE = """
WITH overlapping AS (
  SELECT DISTINCT probes.place, known.part_of, known.over_in, {known_probes}
  FROM probes
  JOIN known
    ON probes.part_of = known.part_of
    AND probes.over_in > known.over_in
    AND {same}
    AND (known.to_position IS NULL OR probes.from_position < known.to_position)
    AND (probes.to_position IS NULL OR known.from_position < probes.to_position)
), earlier AS (
  SELECT overlapping.place, {known}
  FROM overlapping
  JOIN known
    ON overlapping.part_of = known.part_of
    AND overlapping.over_in = known.over_in
    AND {alike}
)
SELECT seen.cluster, {seen}
FROM {table} AS seen
UNION ALL
SELECT earlier.place, {earlier}
FROM earlier
UNION ALL
SELECT CONCAT('{label}', earlier.place), {earlier}
FROM earlier
"""


def keep(
    engine: Engine, read: Sequence[tuple[Table, Sequence[str]]], keys: Sequence[str], history: Chapters
) -> dict[str, str]:
    """Store the rows of the chapters together with the earlier rows that overlap them.

    ``read``: the tables, each with the columns to store. Rows with the same ``keys`` are joined. Returns, by
    table, the name under which its rows are stored; nothing where the chapters have no rows.
    """
    related = [*keys, "from_position", "to_position"]
    probes = (_PROBES.format(table=table.name, seen=_columns("seen", related)) for table, _ in read)
    engine.keep("probes", "UNION ALL".join(probes))
    first = engine.rows("SELECT part_of, MIN(from_position) AS first FROM probes GROUP BY part_of")
    # what ends where another row begins does not overlap it
    earlier: list[Condition] = [
        {
            "cluster": row["part_of"],
            CHAPTER: Within(below=history.first[row["part_of"]]),
            "to_position": end,
        }
        for row in first
        if row["first"] is not None
        for end in (Within(least=row["first"] + 1), None)
    ]
    names = {}
    for table, columns in read if earlier else ():
        engine.fetch("older", table, earlier, ("cluster", CHAPTER, *columns))
        lists = {name: _columns(name, columns) for name in ("seen", "older", "known", "earlier")}
        engine.keep("known", _KNOWN.format(table=table.name, **lists))
        names[table.name] = table.name.replace("silver.", "overlapping_")
        sql = _BESIDE.format(
            table=table.name,
            label=_EARLIER,
            known_probes=_columns("known", related),
            same=" AND ".join(f"probes.{each} = known.{each}" for each in keys),
            alike=" AND ".join(f"overlapping.{each} IS NOT DISTINCT FROM known.{each}" for each in related),
            **lists,
        )
        engine.keep(names[table.name], sql)
    return names


def without_earlier(query: Query) -> Query:
    """The query without the results of earlier rows alone."""
    others = RESULT.replace("cluster", f"SUBSTRING(cluster, {len(_EARLIER) + 1}) AS cluster")
    sql = f"""WITH joined AS (
{query.sql}
)
SELECT {RESULT} FROM joined WHERE NOT cluster LIKE '{_EARLIER}%'
EXCEPT ALL
SELECT {others} FROM joined WHERE cluster LIKE '{_EARLIER}%'"""
    return replace(query, sql=sql)


def _columns(of: str, names: Sequence[str]) -> str:
    return ", ".join(f"{of}.{name}" for name in names)
