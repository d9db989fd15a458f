"""The tables that every protocol shares: name, columns and key. The one contract between the layers.

Data flows one way: bronze (what was written), silver (what was believed, from when to when: each protocol
has tables of its own, see :mod:`fencepost.protocols`), verdicts (what the specification says of it), marts
(built by dbt, not listed here). Beside them all steps write the ledger.

Conventions shared by every table:

* ``cluster`` is the configured name of the Kafka cluster.
* ``*_position`` are offsets in one partition: a group's in the coordinator's partition of
  ``__consumer_offsets``, a transactional id's in that of ``__transaction_state``, a producer's in the data
  partition it writes to. A history row is true on the half-open range ``[from_position, to_position)``;
  ``to_position`` is null while it is still true. ``from_time``/``to_time`` are the timestamps of the batches
  there.
* A null value in a state column means *unknown* (missing evidence), never zero and never "none".
* Times are Spark ``timestamp`` in UTC; columns ending in ``_ms`` are milliseconds since the epoch.
* ``topic_id`` is Kafka's text form of the uuid (url-safe base64, no padding).
"""

from __future__ import annotations

from fencepost.tables.bronze import (
    ABORTED_TRANSACTIONS,
    BATCHES,
    BORDERS,
    BROKER_SETTINGS,
    CLEANED,
    CLIENT_LINES,
    FILES,
    HIGH_WATERMARKS,
    LOG_DIRS,
    LOG_ENDS,
    LOG_STARTS,
    METADATA_SNAPSHOTS,
    PRODUCER_SNAPSHOT_ENTRIES,
    QUARANTINE,
    RECORDS,
    REQUEST_IDS,
    REQUESTS,
    TOPIC_ANSWERS,
    TOPIC_LISTS,
)
from fencepost.tables.incidents import ALERT_NOTES, AUDIT_RUNS, INCIDENT_NOTES, WAIVERS
from fencepost.tables.ledger import LEASES, LEDGER
from fencepost.tables.names import WITHOUT_NAMES, ByEvent, Names
from fencepost.tables.rebuilds import (
    COMPACTED_BATCHES,
    COMPACTED_LOGS,
    COMPACTED_RECORDS,
    HANDED_DOWN,
    LINE_COUNTS,
    UNREAD_EVIDENCE,
    WINDOWS,
)
from fencepost.tables.table import CHAPTER, Table
from fencepost.tables.verdicts import (
    DECISIONS,
    EPISODES,
    PIECES,
    UNKNOWN_REASONS,
    VERDICT_COVERAGE,
)

BRONZE: tuple[Table, ...] = (
    BATCHES,
    RECORDS,
    REQUESTS,
    REQUEST_IDS,
    TOPIC_LISTS,
    TOPIC_ANSWERS,
    METADATA_SNAPSHOTS,
    LOG_DIRS,
    BROKER_SETTINGS,
    PRODUCER_SNAPSHOT_ENTRIES,
    ABORTED_TRANSACTIONS,
    CLIENT_LINES,
    FILES,
    CLEANED,
    HIGH_WATERMARKS,
    LOG_ENDS,
    LOG_STARTS,
    QUARANTINE,
)
"""What a capture writes."""
OF_REBUILDS: tuple[Table, ...] = (
    COMPACTED_BATCHES,
    COMPACTED_RECORDS,
    COMPACTED_LOGS,
    WINDOWS,
    UNREAD_EVIDENCE,
    LINE_COUNTS,
    HANDED_DOWN,
)
"""What a rebuild writes of the window and the chapters that it looks at, of what lies before them, and of
what it could not read.
"""
VERDICTS: tuple[Table, ...] = (EPISODES, VERDICT_COVERAGE, UNKNOWN_REASONS, DECISIONS)
OF_VERDICTS: tuple[Table, ...] = (PIECES,)
"""What the judge keeps from run to run."""
OF_RUNS: tuple[Table, ...] = (INCIDENT_NOTES, ALERT_NOTES, WAIVERS, AUDIT_RUNS)
"""What runs note of themselves, and of the incidents that they reported."""
SCHEMAS: tuple[str, ...] = ("bronze", "silver", "verdicts", "marts", "ledger")

__all__ = [
    "ABORTED_TRANSACTIONS",
    "ALERT_NOTES",
    "AUDIT_RUNS",
    "BATCHES",
    "BORDERS",
    "BROKER_SETTINGS",
    "BRONZE",
    "CHAPTER",
    "CLEANED",
    "CLIENT_LINES",
    "COMPACTED_BATCHES",
    "COMPACTED_LOGS",
    "COMPACTED_RECORDS",
    "DECISIONS",
    "EPISODES",
    "FILES",
    "HANDED_DOWN",
    "HIGH_WATERMARKS",
    "INCIDENT_NOTES",
    "LEASES",
    "LEDGER",
    "LINE_COUNTS",
    "LOG_DIRS",
    "LOG_ENDS",
    "LOG_STARTS",
    "METADATA_SNAPSHOTS",
    "OF_REBUILDS",
    "OF_RUNS",
    "OF_VERDICTS",
    "PIECES",
    "PRODUCER_SNAPSHOT_ENTRIES",
    "QUARANTINE",
    "RECORDS",
    "REQUESTS",
    "REQUEST_IDS",
    "SCHEMAS",
    "TOPIC_ANSWERS",
    "TOPIC_LISTS",
    "UNKNOWN_REASONS",
    "UNREAD_EVIDENCE",
    "VERDICTS",
    "VERDICT_COVERAGE",
    "WAIVERS",
    "WINDOWS",
    "WITHOUT_NAMES",
    "ByEvent",
    "Names",
    "Table",
]
