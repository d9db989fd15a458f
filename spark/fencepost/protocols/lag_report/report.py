"""The findings of an audit about state directories of Kafka Streams, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fencepost.protocols.reported import lines_of, row_of_each_cluster
from fencepost.reading import Reader, rows
from fencepost.words import counted, duration, printable, time_of

Row = Mapping[str, Any]

RACES = "marts.fct_cleanup_races"
WITHOUT_DIRECTORY = "marts.fct_assigned_without_directory"
REPORTS = "marts.fct_lag_reports"
RESTORES = "marts.fct_full_restores"

_REPORTED = f"""
SELECT cluster, count(DISTINCT application_id) AS applications, count(DISTINCT process_id) AS instances,
  count(*) FILTER (WHERE kind IS DISTINCT FROM 'UNREADABLE') AS reports,
  count(*) FILTER (WHERE kind = 'UNREADABLE') AS unreadable
FROM {REPORTS} GROUP BY cluster
"""
_RACED = f"SELECT * FROM {RACES} ORDER BY restored_records DESC NULLS LAST, deleted_at, deletion_id"
_WITHOUT = f"""
SELECT cluster, count(*) AS tasks, sum(restored_records) AS restored_records
FROM {WITHOUT_DIRECTORY} GROUP BY cluster
"""
_RESTORED = f"""
SELECT cluster, restore_cause, count(*) AS stores, sum(restored_records) AS records FROM {RESTORES}
WHERE coalesce(restored_records, 0) > 0 GROUP BY cluster, restore_cause
ORDER BY records DESC, restore_cause NULLS LAST
"""
RESTORE_CAUSES = {
    "cleaner": "that the state cleaner had deleted",
    "startup": "deleted as too old when the process started",
    "user": "deleted by cleanUp()",
    "wipe": "wiped after an unclean end of a task",
    "corrupted": "found corrupted",
    "new_disk": "of an instance without a state directory",
    "no_checkpoint": "without a checkpoint",
    None: "for an unknown cause",
}
"""Why stores were restored from the beginning, in words."""
_MOST = 3


class StateDirectories:
    """Lag reports, deletions and their costs in all clusters; each mart is queried once."""

    def __init__(self, reader: Reader) -> None:
        self._reported = row_of_each_cluster(reader, _REPORTED)
        self._without_directory = row_of_each_cluster(reader, _WITHOUT)
        self._raced, self._restored = rows(reader.query(_RACED)), rows(reader.query(_RESTORED))

    def __call__(self, cluster: str) -> list[str]:
        """The lines about one cluster; none without applications of Kafka Streams."""
        parts = (self._reports, self._restores, self._races, self._assigned_without_directory)
        return lines_of(parts, cluster)

    def _reports(self, cluster: str) -> Iterator[str]:
        counts = self._reported.get(cluster)
        if counts is not None:
            yield (
                f"Kafka Streams: {counted(counts['reports'], 'lag report')} of tasks, by "
                f"{counted(counts['instances'], 'instance')} of "
                f"{counted(counts['applications'], 'application')}."
            )
        if counts is not None and counts["unreadable"]:
            yield (
                f"{counted(counts['unreadable'], 'report')} could not be read, and verdicts about them are "
                f"unknown: {REPORTS}, kind UNREADABLE."
            )

    def _restores(self, cluster: str) -> Iterator[str]:
        restored = [row for row in self._restored if row["cluster"] == cluster]
        if restored:
            causes = "; ".join(
                f"{counted(row['stores'], 'store')} {RESTORE_CAUSES.get(row['restore_cause'])} "
                f"({counted(row['records'], 'record')})"
                for row in restored
            )
            yield f"Restored from the beginning: {causes}; {RESTORES}."

    def _races(self, cluster: str) -> Iterator[str]:
        races = [row for row in self._raced if row["cluster"] == cluster]
        if not races:
            return
        records = sum(row["restored_records"] or 0 for row in races)
        yield (
            f"The state cleaner deleted {counted(len(races), 'directory', 'directories')} of tasks that "
            f"came back, or whose lag had just been reported: {counted(records, 'record')} restored again."
        )
        for row in races[:_MOST]:
            released = row["since_release_ms"]
            after = "" if released is None else f", {duration(released)} after it was released"
            delay = row["cleanup_delay_ms"]
            of = "" if delay is None else f" (state.cleanup.delay.ms {delay})"
            yield (
                f"    {time_of(row['deleted_at'])}  {printable(row['instance'])!r} task "
                f"{printable(row['task_id'])}{after}{of}"
            )

    def _assigned_without_directory(self, cluster: str) -> Iterator[str]:
        counts = self._without_directory.get(cluster)
        if counts is not None:
            yield (
                f"{counted(counts['tasks'], 'task')} went to an instance for state that it had reported and "
                f"no longer had: {WITHOUT_DIRECTORY}."
            )
