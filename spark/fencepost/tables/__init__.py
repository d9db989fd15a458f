"""Every table of the lake: its name, columns and key. The one contract between the layers.

Data flows one way: bronze (what was written), silver (what was believed, from when to when),
verdicts (what the specification says of it), marts (built by dbt, not listed here).

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

import json
from collections.abc import Sequence

from fencepost.tables.bronze import (
    ABORTED_TRANSACTIONS,
    BATCHES,
    CLEANED,
    CLIENT_LINES,
    FILES,
    PRODUCER_SNAPSHOT_ENTRIES,
    QUARANTINE,
    RECORDS,
    REQUESTS,
)
from fencepost.tables.groups import (
    COMMIT_STATES,
    COMMITS,
    COVERAGE,
    GROUPS,
    MEMBERS,
    OWNED_PARTITIONS,
    REVOKED_PARTITIONS,
)
from fencepost.tables.producers import (
    CLIENT_EVENTS,
    INIT_PRODUCER_ID_STATES,
    INIT_PRODUCER_IDS,
    LOG_COVERAGE,
    PARTITION_TRANSACTIONS,
    PRODUCER_FENCINGS,
    PRODUCER_REQUESTS,
    PRODUCER_SNAPSHOTS,
    PRODUCER_STATES,
    TRANSACTION_MARKERS,
    TRANSACTIONAL_IDS,
    TRANSACTIONS,
)
from fencepost.tables.table import Table
from fencepost.tables.verdicts import DECISIONS, EPISODES, VERDICT_COVERAGE

TABLES: tuple[Table, ...] = (
    BATCHES,
    RECORDS,
    REQUESTS,
    PRODUCER_SNAPSHOT_ENTRIES,
    ABORTED_TRANSACTIONS,
    CLIENT_LINES,
    FILES,
    CLEANED,
    QUARANTINE,
    GROUPS,
    MEMBERS,
    OWNED_PARTITIONS,
    REVOKED_PARTITIONS,
    COVERAGE,
    COMMITS,
    COMMIT_STATES,
    LOG_COVERAGE,
    TRANSACTIONAL_IDS,
    PRODUCER_STATES,
    TRANSACTIONS,
    TRANSACTION_MARKERS,
    PARTITION_TRANSACTIONS,
    PRODUCER_SNAPSHOTS,
    PRODUCER_REQUESTS,
    PRODUCER_FENCINGS,
    INIT_PRODUCER_IDS,
    INIT_PRODUCER_ID_STATES,
    CLIENT_EVENTS,
    EPISODES,
    VERDICT_COVERAGE,
    DECISIONS,
)
SCHEMAS: tuple[str, ...] = ("bronze", "silver", "verdicts", "marts")

__all__ = [
    "ABORTED_TRANSACTIONS",
    "BATCHES",
    "CLEANED",
    "CLIENT_EVENTS",
    "CLIENT_LINES",
    "COMMITS",
    "COMMIT_STATES",
    "COVERAGE",
    "DECISIONS",
    "EPISODES",
    "FILES",
    "GROUPS",
    "INIT_PRODUCER_IDS",
    "INIT_PRODUCER_ID_STATES",
    "LOG_COVERAGE",
    "MEMBERS",
    "OWNED_PARTITIONS",
    "PARTITION_TRANSACTIONS",
    "PRODUCER_FENCINGS",
    "PRODUCER_REQUESTS",
    "PRODUCER_SNAPSHOTS",
    "PRODUCER_SNAPSHOT_ENTRIES",
    "PRODUCER_STATES",
    "QUARANTINE",
    "RECORDS",
    "REQUESTS",
    "REVOKED_PARTITIONS",
    "SCHEMAS",
    "TABLES",
    "TRANSACTIONAL_IDS",
    "TRANSACTIONS",
    "TRANSACTION_MARKERS",
    "VERDICT_COVERAGE",
    "Table",
    "schemas_json",
]


def schemas_json(tables: Sequence[Table] = TABLES) -> str:
    """``{table: {column: Spark type}}``, as the compiler of the specification reads it."""
    return json.dumps({table.name: table.columns for table in tables}, indent=2)
