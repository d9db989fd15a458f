"""What every picture asks of the lake: which entity a name means, from when to when, and rows for drawing."""

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
    """What is to be drawn is not in the lake; the message says what is."""


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
