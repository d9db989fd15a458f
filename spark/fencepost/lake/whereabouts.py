"""Tells where the tables of a catalog lie: a catalog goes on with the warehouse in which it made them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import unquote

from fencepost.settings import SQLITE, Lake


class MisplacedLakeError(Exception):
    """The catalog has its tables in another warehouse than the configured one; the message says so."""


def misplaced(lake: Lake) -> str | None:
    """What is wrong where every table of a catalog in SQLite lies outside of the configured warehouse."""
    database = Path(lake.catalog.removeprefix(SQLITE))
    if not lake.catalog.startswith(SQLITE) or not database.is_file():
        return None
    places = _places(database)
    warehouse = _resolved(lake.warehouse)
    if not places or any(place.startswith(f"{warehouse}/") for place in places):
        return None
    # <warehouse>/<schema>/<table>/metadata/<file>
    there = places[0].rsplit("/", 4)[0]
    return (
        f"the catalog {database} has its tables in {there}, and the configured warehouse is {warehouse}. "
        f'Write warehouse = "{there}" below [lake], or give the new warehouse a catalog of its own, in which '
        "audits begin anew."
    )


def _places(database: Path) -> list[str]:
    """Where the metadata of each table is; none where the file is no catalog yet."""
    try:
        with closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            found = connection.execute("SELECT metadata_location FROM iceberg_tables ORDER BY 1").fetchall()
    except sqlite3.Error:
        return []
    return [_resolved(place) for (place,) in found if place is not None]


def _resolved(place: str) -> str:
    """A local path without links, or a URL."""
    if place.startswith("file:"):
        place = unquote("/" + place.removeprefix("file:").lstrip("/"))
    return str(Path(place).resolve()) if place.startswith("/") else place.rstrip("/")
