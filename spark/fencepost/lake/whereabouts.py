"""Tells where the tables of a catalog lie: a catalog goes on with the warehouse in which it made them."""

from __future__ import annotations

import os
from typing import Protocol, runtime_checkable
from urllib.parse import unquote

from pyiceberg.catalog import Catalog

from fencepost.settings import Lake


class MisplacedLakeError(Exception):
    """The catalog has its tables in another warehouse than the configured one; the message says so."""


@runtime_checkable
class _OfSql(Protocol):
    """A catalog of SQL (``CachingSqlCatalog``), whose module takes long to import."""

    def locations(self) -> list[str]: ...


def require_placed(catalog: Catalog, lake: Lake) -> None:
    """Raise MisplacedLakeError where every table of a database lies outside of the configured warehouse.

    Catalogs of other kinds decide themselves where their tables lie.
    """
    if not isinstance(catalog, _OfSql):
        return
    places = sorted(map(_resolved, catalog.locations()))
    warehouse = _resolved(lake.warehouse)
    if not places or any(place.startswith(f"{warehouse}/") for place in places):
        return
    # <warehouse>/<schema>/<table>/metadata/<file>
    there = places[0].rsplit("/", 4)[0]
    raise MisplacedLakeError(
        f"the catalog {lake.database or f'of type {lake.catalog}'} has its tables in {there}, and the "
        f'configured warehouse is {warehouse}. Write warehouse = "{there}" below [lake], or give the new '
        "warehouse a catalog of its own, in which audits begin anew."
    )


def _resolved(place: str) -> str:
    """A local path without links, or a URL, in which a store of S3's protocol has one name."""
    if place.startswith("file:"):
        place = unquote("/" + place.removeprefix("file:").lstrip("/"))
    if place.startswith("/"):
        return os.path.realpath(place)
    return place.replace("s3a://", "s3://", 1).rstrip("/")
