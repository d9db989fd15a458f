"""Queries that all pictures need: which entity a name means, the limits of time, and rows for drawing."""

from __future__ import annotations

import datetime as dt
import difflib
from collections.abc import Collection
from typing import TYPE_CHECKING

from fencepost.words import printable

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


class PlotError(Exception):
    """The lake does not have what is to be drawn; the message says what it has."""


def limits(start: dt.datetime | None, end: dt.datetime | None) -> dict[str, object]:
    """The first and the last time as parameters of a query: null without a limit."""
    # without a zone an engine would take it for a local time of this machine
    named = {"start": start, "end": end}
    return {name: each and each.replace(tzinfo=dt.UTC) for name, each in named.items()}


def frame(result: pa.Table) -> pd.DataFrame:
    """Rows for a picture: times in UTC and without zone."""
    table: pd.DataFrame = result.to_pandas()
    for name in table.select_dtypes("datetimetz"):
        table[name] = table[name].dt.tz_localize(None)
    return table


def find(
    known: Collection[tuple[str, str]], name: str, cluster: str | None, what: str = "group"
) -> tuple[str, str]:
    """The ``(cluster, id)`` that ``name`` means: the id itself, or the id as ``fencepost`` prints it.

    ``known``: all of them; ``what``: the kind of entity. Raises PlotError with near matches, or with the
    clusters to choose from.
    """
    clusters = sorted({each for each, _ in known})
    if cluster is not None and cluster not in clusters:
        raise PlotError(f"No cluster {printable(cluster)!r}. There are: {_listed(clusters)}.")
    in_cluster = [each for each in known if cluster in (None, each[0])]
    exact = [each for each in in_cluster if each[1] == name]
    matches = sorted(exact or [each for each in in_cluster if printable(each[1]) == name])
    if len({each for each, _ in matches}) > 1:
        raise PlotError(
            f"Several clusters have a {what} {printable(name)!r}: {_listed([each for each, _ in matches])}. "
            "Choose one with --cluster."
        )
    if not matches:
        raise PlotError(f"No {what} {printable(name)!r}. {_near({each for _, each in in_cluster}, name)}")
    if len(matches) > 1:
        raise PlotError(f"{printable(name)!r} is how each of several is printed; give the id itself.")
    return matches[0]


def _near(ids: Collection[str], name: str) -> str:
    if not ids:
        return "There is none."
    close = difflib.get_close_matches(name, ids, n=5)
    close += sorted(each for each in ids if name.lower() in each.lower() and each not in close)[:5]
    if close:
        return f"Near: {_listed(close)}."
    return f"There are {len(ids)}: {_listed(sorted(ids)[:10])}{', ...' if len(ids) > 10 else ''}."


def _listed(names: Collection[str]) -> str:
    return ", ".join(repr(printable(name)) for name in names)
