"""The maintenance of a lake: it deletes files that no table needs any more."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pyiceberg.catalog import Catalog

from fencepost.iceberg.orphans import remove_orphans
from fencepost.tables import SCHEMAS

log = logging.getLogger(__name__)

KEPT = timedelta(days=3)
"""A file that is younger stays: a run may be about to commit it, or a query of an analyst may read it."""


@dataclass(frozen=True)
class MaintenanceSummary:
    """How many files were removed, and how many bytes they had."""

    files: int
    bytes: int


def remove_old_files(catalog: Catalog, kept: timedelta = KEPT) -> MaintenanceSummary:
    """Delete the files of all tables that no snapshot names, and that are older than ``kept``. What cannot be
    listed or deleted is left to the next time, with a warning.
    """
    before, files, size = datetime.now(UTC) - kept, 0, 0
    for schema in SCHEMAS:
        for name in catalog.list_tables(schema):
            try:
                removed, freed = remove_orphans(catalog.load_table(name), before)
            except (OSError, ValueError) as error:
                log.warning("%s: old files are left: %s", ".".join(name), error)
                continue
            files, size = files + removed, size + freed
    return MaintenanceSummary(files, size)
