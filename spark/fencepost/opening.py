"""Opens the lake with what the protocols bring to it: their tables, and functions for queries."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fencepost.iceberg.catalog import CatalogError, MissingPackageError, catalog_properties
from fencepost.protocols import functions, tables
from fencepost.settings import Lake, Settings
from fencepost.waiting import told_if_slow

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

    from fencepost.reading import Reader
    from fencepost.reading.iceberg import IcebergReader
    from fencepost.tables import Table

_log = logging.getLogger(__name__)


def ensure(place: Lake, some: Sequence[Table] | None = None) -> Catalog:
    """Open the catalog of the lake, and make it have every table, or ``some``, with the declared columns."""
    from fencepost import lake  # reports and queries do without it

    return lake.ensure(place, tables() if some is None else some)


@contextmanager
def open_lake(settings: Settings, engine: str | None = None) -> Iterator[Reader]:
    """A reader of the configured lake; ``engine`` asks for one of reading.ENGINES. Raises LakeError.

    A Spark session is started only if Spark is needed. It is stopped afterwards, unless it was open before.
    """
    reader = None if engine == "spark" else _iceberg_reader(settings.lake, insist=engine == "duckdb")
    if reader is not None:
        with reader:
            yield reader
    else:
        from fencepost.reading.spark import session_reader

        with session_reader(settings) as through_spark:
            yield through_spark


def reads_without_spark(place: Lake) -> bool:
    """Whether PyIceberg can open a catalog of this kind."""
    try:
        catalog_properties(place)
    except CatalogError:
        return False
    return True


def _iceberg_reader(place: Lake, *, insist: bool) -> IcebergReader | None:
    """A reader that needs no Spark, or None if Spark must read this lake. With ``insist`` that is
    an error.
    """
    from fencepost.reading.iceberg import IcebergReader

    if not insist and not reads_without_spark(place):
        return None
    try:
        with told_if_slow(place):
            return IcebergReader(place, functions())
    except MissingPackageError as error:
        if insist:
            raise
        _log.warning("%s Spark reads the lake instead.", error)
        return None
