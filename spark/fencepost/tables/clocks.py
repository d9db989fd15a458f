"""The tables of silver that say by how much brokers' request logs have another clock than their records."""

from __future__ import annotations

from fencepost.tables.table import Table


def clock_table(name: str, topic: str) -> Table:
    """A protocol's table of silver for the differences that it found in the coordinators' logs of a topic."""
    return Table(
        name,
        f"One row per broker, partition of {topic}, hour and difference: by how much the clock of the "
        "broker's request log is ahead of that of its records. Only of brokers where they differ, or "
        "of which accepted requests have no records.",
        {
            "cluster": "string",
            "broker_id": "int",
            "coordinator_partition": "int",
            "ahead_ms": "bigint",  # negative: behind; null: the requests have no records
            "requests": "bigint",  # accepted requests whose record was found without a clock
            "first_at": "timestamp",  # time of the first of these records, by the broker's clock
            "last_at": "timestamp",
        },
        ("cluster", "broker_id", "coordinator_partition", "first_at", "ahead_ms"),
        end_columns=("last_at",),
    )
