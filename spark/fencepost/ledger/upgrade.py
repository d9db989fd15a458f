"""Removes what earlier releases noted elsewhere than in the ledger."""

from __future__ import annotations

import logging

from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.tables import COMPACTED_BATCHES, COMPACTED_LOGS, COMPACTED_RECORDS, FILES

_TABLES = ("silver.chapters", "verdicts.judged")
_PROPERTIES = ("fencepost.done.", "fencepost.marts")
"""Properties of ``bronze.files`` begin with one of these."""
_BEFORE_WINDOW = -1
"""Stood for the chapter where logs were compacted before a window."""
_log = logging.getLogger(__name__)


def remove_earlier_notes(catalog: Catalog) -> None:
    """Remove them. What they tell of was made by other code, so all of it is made anew."""
    tables = [name for name in _TABLES if catalog.table_exists(name)]
    files = catalog.load_table(FILES.name)
    properties = [each for each in files.properties if each.startswith(_PROPERTIES)]
    if not tables and not properties:
        return
    _log.info("an earlier release has written this lake: everything is rebuilt, once")
    for name in tables:
        catalog.drop_table(name)
    for table in (COMPACTED_LOGS, COMPACTED_BATCHES, COMPACTED_RECORDS):
        lake.delete(catalog, table, [{"chapter": _BEFORE_WINDOW}])
    if properties:
        with files.transaction() as change:
            change.remove_properties(*properties)
