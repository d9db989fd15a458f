"""What the reports of protocols share: rows of marts by cluster, and sentences as lines."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fencepost.reading import Reader, rows
from fencepost.words import WIDTH, counted, time_of

Row = Mapping[str, Any]


def row_of_each_cluster(reader: Reader, query: str) -> dict[str, Row]:
    """The row of each cluster in the result of a query that has at most one."""
    return {row["cluster"]: row for row in rows(reader.query(query))}


def rows_of_each_cluster(reader: Reader, query: str) -> dict[str, list[Row]]:
    """The rows of each cluster in the result of a query, in its order; an empty list of any other."""
    by_cluster: dict[str, list[Row]] = defaultdict(list)
    for row in rows(reader.query(query)):
        by_cluster[row["cluster"]].append(row)
    return by_cluster


def unlogged_by_cluster(reader: Reader, mart: str, at: str) -> dict[str, Row]:
    """How many changes without a line in a request log a mart has, by cluster, with the first and the last
    of the times ``at``, and their brokers.
    """
    return row_of_each_cluster(
        reader,
        f"SELECT cluster, count(*) AS number, min({at}) AS first_at, max({at}) AS last_at, "
        f"min(broker_id) AS broker_id, count(DISTINCT broker_id) AS brokers FROM {mart} GROUP BY cluster",
    )


def unlogged_sentence(unlogged: Row, mart: str, one: str, many: str) -> str:
    """Which lines are missing, from a row of ``unlogged_by_cluster``."""
    several = unlogged["brokers"] > 1
    whose = f"{unlogged['brokers']} brokers" if several else f"broker {unlogged['broker_id']}"
    return (
        f"Lines are missing in the request logs of {whose}: there is none of "
        f"{counted(unlogged['number'], one, many)} from {time_of(unlogged['first_at'])} to "
        f"{time_of(unlogged['last_at'])}, although there are earlier and later ones. Nothing that rests on "
        f"request logs counts as holding. All of them: {mart}."
    )


def lines_of(parts: Iterable[Callable[[str], Iterable[str]]], cluster: str) -> list[str]:
    """The sentences of the parts of a report about a cluster as lines, after an empty one; nothing without
    any. A sentence that is indented goes on at its second line.
    """
    lines: list[str] = []
    for text in (text for part in parts for text in part(cluster)):
        indent = "      " if text.startswith(" ") else ""
        lines += textwrap.wrap(text, WIDTH, subsequent_indent=indent, break_on_hyphens=False)
    return ["", *lines] if lines else []
