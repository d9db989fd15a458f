"""The rebuild of silver from bronze: every protocol's logs are replayed, and its tables replaced."""

from __future__ import annotations

import logging
from collections.abc import Callable

from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.engines import Engine
from fencepost.protocols import protocols
from fencepost.replay.carried import carried
from fencepost.replay.collection import collection_paused
from fencepost.replay.evidence import evidence
from fencepost.replay.window import windows
from fencepost.settings import Settings
from fencepost.tables import BATCHES, RECORDS, WINDOWS

log = logging.getLogger(__name__)


def rebuild(settings: Settings, catalog: Catalog, engine_for: Callable[[int, str], Engine]) -> dict[str, int]:
    """Rebuild every history of silver from bronze; each table is replaced whole, in one commit.

    Gives back how many rows each table holds, by name. Running it again on the same bronze gives the same
    tables. ``engine_for`` gives the engine for so many bytes of evidence (and what they are).
    """
    window = windows(catalog, settings)
    lake.replace(catalog, WINDOWS, window.rows())
    before = carried(catalog, window.logs_since_ms)
    size = window.size(catalog)
    if window.since_ms and before is None:
        size += sum(lake.size(catalog, table) for table in (BATCHES, RECORDS))
    engine = engine_for(size, "rebuild")
    given = evidence(engine, catalog, settings, window, before)
    counts: dict[str, int] = {}
    for protocol in protocols():
        with collection_paused():
            found = protocol.rebuild(given)
        for table in protocol.tables:
            counts[table.name] = engine.replace(table, found[table.name])
            log.info("%s: %d rows", table.name, counts[table.name])
    return counts
