"""The rebuild of producers and transactions."""

from __future__ import annotations

from collections.abc import Mapping

from fencepost.engines import Rows
from fencepost.protocols.producer_epoch.replay import replay
from fencepost.replay.evidence import Evidence
from fencepost.tables import (
    ABORTED_TRANSACTIONS,
    BATCHES,
    CLEANED,
    CLIENT_EVENTS,
    CLIENT_LINES,
    FILES,
    INIT_PRODUCER_ID_STATES,
    INIT_PRODUCER_IDS,
    LOG_COVERAGE,
    PARTITION_TRANSACTIONS,
    PRODUCER_FENCINGS,
    PRODUCER_REQUESTS,
    PRODUCER_SNAPSHOT_ENTRIES,
    PRODUCER_SNAPSHOTS,
    PRODUCER_STATES,
    QUARANTINE,
    RECORDS,
    REQUESTS,
    TRANSACTION_MARKERS,
    TRANSACTIONAL_IDS,
    TRANSACTIONS,
)

TABLES = (
    LOG_COVERAGE, TRANSACTIONAL_IDS, PRODUCER_STATES, TRANSACTIONS, TRANSACTION_MARKERS,
    PARTITION_TRANSACTIONS, PRODUCER_SNAPSHOTS, PRODUCER_REQUESTS, PRODUCER_FENCINGS, INIT_PRODUCER_IDS,
    INIT_PRODUCER_ID_STATES, CLIENT_EVENTS,
)  # fmt: skip
_READ = (
    BATCHES, RECORDS, REQUESTS, PRODUCER_SNAPSHOT_ENTRIES, ABORTED_TRANSACTIONS, QUARANTINE, CLEANED, FILES,
    CLIENT_LINES,
)  # fmt: skip


def rebuild(given: Evidence) -> Mapping[str, Rows]:
    """The rows of TABLES, by the table's name."""
    bronze = {table.name: given.engine.collect(given.engine.scan(table)) for table in _READ}
    return replay(bronze, given.metadata, given.tolerance_ms)
