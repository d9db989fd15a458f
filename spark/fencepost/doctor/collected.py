"""Looks into the lake for what `fencepost collect` has read elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from fencepost import lake
from fencepost.capture.log_dirs import partition_of
from fencepost.capture.plan import SEGMENT, is_text
from fencepost.capture.server_logs import SETTINGS_LOG
from fencepost.doctor.checks import OF_MACHINE, Check, Mark
from fencepost.iceberg.catalog import OF_S3, RETRY, CatalogError, catalog_properties, open_catalog
from fencepost.lake.failures import describe_failure
from fencepost.lake.whereabouts import MisplacedLakeError, require_placed
from fencepost.settings import Lake, Settings
from fencepost.tables import FILES
from fencepost.words import as_utc

_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass
class Collected:
    """What was read of a broker (None: of clients): its kinds of logs in text, its partitions, and when a
    file of it held something new for the last time.
    """

    logs: set[str] = field(default_factory=set)
    partitions: set[tuple[str, int]] = field(default_factory=set)
    newest: datetime = _NEVER


Places = Mapping[tuple[str, int | None], Collected]
"""By cluster and broker."""


def catalog_check(settings: Settings) -> tuple[list[Check], Places]:
    """Checks of whether the catalog answers, if it is not a file, and the store, and what the lake has of
    each broker.
    """
    kind = settings.lake.catalog
    try:
        checks = [*_store(settings.lake)]
        found = _collected(settings)
    except MisplacedLakeError as error:
        return [Check(OF_MACHINE, Mark.WRONG, str(error))], {}
    except CatalogError as error:
        unexamined = f"the lake's catalog is of type {kind}: not examined here ({error})"
        return [Check(OF_MACHINE, Mark.NOTE, unexamined)], {}
    except Exception as error:
        if (says := describe_failure(error, settings.lake)) is None:
            raise
        return [Check(OF_MACHINE, Mark.WRONG, says)], {}
    if settings.lake.folder is None:
        checks.insert(0, Check(OF_MACHINE, Mark.GOOD, f"the lake's catalog, of type {kind}, answers"))
    return checks, found


def _store(lake: Lake) -> Iterator[Check]:
    """A check of the store that has the lake's files. Raises OSError if it does not answer, or refuses."""
    properties = catalog_properties(lake)
    # a catalog behind REST may have the keys
    if not lake.warehouse.startswith(OF_S3) or properties["type"] == "rest":
        return
    # a run has more patience
    properties.pop(RETRY, None)
    from pyiceberg.io import load_file_io

    load_file_io(properties, lake.warehouse).new_input(f"{lake.warehouse}/doctor").exists()
    yield Check(OF_MACHINE, Mark.GOOD, f"the lake's store, {lake.warehouse}, answers")


def _collected(settings: Settings) -> Places:
    """What the lake has of each broker; nothing of a lake that is not there yet, which is not created."""
    if settings.lake.is_missing:
        return {}
    catalog = open_catalog(settings.lake)
    require_placed(catalog, settings.lake)
    if not catalog.table_exists(FILES.name):
        return {}
    found: dict[tuple[str, int | None], Collected] = {}
    columns = ("cluster", "broker_id", "kind", "file", "captured_at")
    rows = lake.scan(catalog, FILES, columns)
    rows = rows.group_by(list(columns[:-1])).aggregate([("captured_at", "max")])
    for row in rows.to_pylist():
        place = found.setdefault((row["cluster"], row["broker_id"]), Collected())
        place.newest = max(place.newest, as_utc(row["captured_at_max"]))
        if row["kind"] == SETTINGS_LOG:
            continue  # these are files of SERVER_LOG
        if is_text(row["kind"]):
            place.logs.add(row["kind"])
        elif row["kind"] == SEGMENT:
            place.partitions |= set(_partitions(row["file"]))
    return found


def _partitions(file: str) -> Iterator[tuple[str, int]]:
    if (partition := partition_of(file)) is not None:
        yield partition
