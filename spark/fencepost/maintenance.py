"""The maintenance of a lake: it deletes files that no table needs any more, notes that later ones have
replaced, and evidence by its age.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.capture.superseded import delete_superseded
from fencepost.expiry import Expired, expire
from fencepost.iceberg.orphans import remove_orphans
from fencepost.ledger import Ledger
from fencepost.settings import Settings
from fencepost.tables import FILES, SCHEMAS

log = logging.getLogger(__name__)

KEPT = timedelta(days=3)
"""A file that is younger stays: a run may be about to commit it, or a query of an analyst may read it."""


@dataclass(frozen=True)
class MaintenanceSummary:
    """How many files were removed, how many bytes they had, and which notes and evidence were deleted."""

    files: int
    bytes: int
    notes: lake.Forgotten = field(default_factory=lake.Forgotten)
    evidence: Expired = field(default_factory=Expired)


def maintain(catalog: Catalog, settings: Settings) -> MaintenanceSummary:
    """Delete old files, notes that are replaced, and the evidence that is older than the settings want. The
    process must hold the lake's lock. Files with rows that are deleted now are deleted later, when no
    snapshot names them.
    """
    removed = remove_old_files(catalog)
    notes = delete_superseded(catalog, Ledger(catalog, settings).read_at(FILES))
    return replace(removed, notes=notes, evidence=expire(catalog, settings))


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
