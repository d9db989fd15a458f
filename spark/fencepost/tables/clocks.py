"""The tables of silver that say what is wrong with the times of brokers' request logs, and of which times
they have no lines.
"""

from __future__ import annotations

from fencepost.tables.table import Table

OTHER_CLOCK = "other_clock"
"""Finding: the log has another clock than the records, as with a wrong ``timezone``."""
OTHER_LOG = "other_log"
"""Finding: accepted requests have no records, so the log does not belong to them."""
RECORDS_LOST = "records_lost"
"""Finding: accepted requests have no records, and those before and after them have theirs: what the broker
wrote then is gone, as where its disk was restored from a copy.
"""
DATED_BY_OTHERS = "dated_by_others"
"""Finding: a program that collected the lines dated them."""
WHOLE_SECONDS = "whole_seconds"
"""Finding: the lines have no fractions of a second."""
WENT_BACK = "went_back"
"""Finding: the times of lines went back, as of a clock that was set back: what is dated from ``first_at`` to
``last_at`` may be of any moment between them.
"""
LINES_MISSING = "lines_missing"
"""Finding: clients sent requests between ``first_at`` and ``last_at``, and the log has no line of that time,
as when its logger was switched off.
"""


def clock_table(name: str, topic: str) -> Table:
    """A protocol's table of silver for the differences that it found in the coordinators' logs of a topic."""
    return Table(
        name,
        f"One row per broker, partition of {topic}, hour, finding and difference: by how much the clock of "
        "the broker's request log is ahead of that of its records, where they differ, or what else is wrong "
        "with the times of its lines, or that it has none.",
        {
            "cluster": "string",
            "broker_id": "int",
            "coordinator_partition": "int",
            "finding": "string",  # one of those above
            "ahead_ms": "bigint",  # negative: behind; null: of another finding than other_clock
            "requests": "bigint",  # that show it, for the first three findings
            "first_at": "timestamp",  # time of the first of their records, or of these lines
            "last_at": "timestamp",
        },
        ("cluster", "broker_id", "coordinator_partition", "finding", "first_at", "ahead_ms"),
        end_columns=("last_at",),
    )
