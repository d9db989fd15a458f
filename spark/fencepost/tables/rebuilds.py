"""The tables that a rebuild writes beside silver: the snapshots with which chapters begin, how long history
is, and the evidence that is missing.
"""

from __future__ import annotations

from fencepost.tables.bronze import BATCHES, RECORDS
from fencepost.tables.table import Table

_CHAPTER = {"chapter": "bigint"}  # the begin of the one that it lies before, in ms

COMPACTED_BATCHES = Table(
    "bronze.compacted_batches",
    "What compaction left, before a chapter, of the batches of coordinators' logs.",
    # crc is null where one row stands for several batches, of which nothing else is left
    {**BATCHES.columns, **_CHAPTER},
    (*BATCHES.key, "chapter"),
    ("cluster", "chapter"),
)

COMPACTED_RECORDS = Table(
    "bronze.compacted_records",
    "What compaction left, before a chapter, of the records of coordinators' logs.",
    {**RECORDS.columns, **_CHAPTER},
    (*RECORDS.key, "chapter"),
    ("cluster", "chapter"),
)

COMPACTED_LOGS = Table(
    "bronze.compacted_logs",
    "One row per coordinator's log and chapter: how far compacted_records and compacted_batches reach.",
    {
        "cluster": "string",
        "topic": "string",
        "topic_id": "string",
        "partition": "int",
        "compacted_to": "bigint",  # the first offset that the chapter reads
        "whole": "boolean",  # what was left tells the state there: no hole lies before it
        "since_ms": "bigint",  # from when on the chapter reads logs of the cluster
        **_CHAPTER,
    },
    ("cluster", "topic", "topic_id", "partition", "chapter"),
)

WINDOWS = Table(
    "silver.windows",
    "One row per cluster: from when on the rebuild looked at it.",
    {
        "cluster": "string",
        "since": "timestamp",  # null: everything is looked at
        "newest": "timestamp",  # of its evidence, by the clocks of its brokers
    },
    ("cluster",),
    is_bookkeeping=True,
)

UNREAD_EVIDENCE = Table(
    "silver.unread_evidence",
    "One row per cluster and protocol: how much is missing or unreadable of what its verdicts rest on.",
    {
        "cluster": "string",
        "protocol": "string",
        "entries": "bigint",  # rows of bronze.quarantine; no row where there are none
    },
    ("cluster", "protocol"),
    is_bookkeeping=True,
)

LINE_COUNTS = Table(
    "silver.line_counts",
    "How many lines the request logs of a cluster have in each part of its history: one row per part with "
    "lines. They decide where chapters begin.",
    {
        "cluster": "string",
        "begins_at_ms": "bigint",  # a multiple of length_ms
        "lines": "bigint",
        "length_ms": "bigint",  # of all parts
        "seen": "bigint",  # the snapshot of bronze.requests up to which lines were counted
    },
    ("cluster", "begins_at_ms"),
    is_bookkeeping=True,
)

HANDED_DOWN = Table(
    "silver.handed_down",
    "What a chapter begins with: the rows that were true when the one before ended. One row per cluster, "
    "chapter and table of silver.",
    {
        "cluster": "string",
        "chapter": "bigint",
        "table_name": "string",
        "rows": "binary",  # Arrow's IPC stream, zstd
    },
    ("cluster", "chapter", "table_name"),
    ("cluster", "chapter"),
    is_bookkeeping=True,
)
