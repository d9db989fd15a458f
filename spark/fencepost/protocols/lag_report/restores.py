"""The restores of threads: each of a changelog, from its checkpoint or its beginning to its end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fencepost.protocols.lag_report.directories import DELETED_BY, FRESH, SHOW_DIRECTORIES
from fencepost.protocols.lag_report.instance_logs import InstanceLog
from fencepost.protocols.lag_report.log_messages import ACTIVE, STANDBY
from fencepost.protocols.lag_report.rows import InstanceFacts, Row, place
from fencepost.protocols.lag_report.tables import TASK_RESTORES
from fencepost.protocols.lag_report.tasks import listed, task_columns
from fencepost.replay.keys import digest_of
from fencepost.tables import Table

NEW_DISK, NO_CHECKPOINT, CORRUPTED = "new_disk", "no_checkpoint", "corrupted"
_STORE = {"store_from_checkpoint", "store_from_beginning"}


def restores(facts: InstanceFacts) -> Iterator[tuple[Table, Row]]:
    """One row for each restore of a store, with its end if the log shows one."""
    running: dict[str, dict[str, Any]] = {}
    newest: dict[str, dict[str, Any]] = {}
    causes = _Causes(facts.log)
    for position, line in enumerate(facts.log.lines):
        causes.read(position, line)
        if line is None or line["event"] == "version":
            # a restore does not outlive its process
            yield from (_row(facts, each) for each in running.values())
            running = {}
            continue
        if line["changelog"] is not None:
            ended = _ended_by(facts, position, line, running, newest)
            if line["event"] in _STORE:
                running[line["changelog"]]["restore_cause"] = causes.of_restore(position, line)
            if ended is not None:
                yield _row(facts, ended)
    yield from (_row(facts, each) for each in running.values())


class _Causes:
    """Why stores are restored from the beginning: what happened to their directory since the log shows it.

    Where a line of the log may be missing, nothing of the time before it counts.
    """

    def __init__(self, log: InstanceLog) -> None:
        self._is_told = log.is_ordered and any(
            line is not None and line["event"] in SHOW_DIRECTORIES for line in log.lines
        )
        self._fresh_at: int | None = None
        self._deleted: dict[str, tuple[int, str]] = {}
        self._corrupted: set[str] = set()
        self._restored_at: dict[str, int] = {}

    def read(self, position: int, line: dict[str, Any] | None) -> None:
        """Read a line, None for a hole."""
        if line is None:
            self._fresh_at = None
            self._deleted.clear()
            self._corrupted.clear()
            self._restored_at.clear()
        elif line["event"] == FRESH:
            self._fresh_at = position
        elif line["event"] == CORRUPTED:
            self._corrupted |= listed(line["told"])
            self._deleted |= dict.fromkeys(listed(line["told"]), (position, CORRUPTED))
        elif line["event"] in DELETED_BY and line["task_id"] is not None:
            # with exactly-once, the thread wipes what it found corrupted
            is_corrupted = line["event"] == "wiped" and line["task_id"] in self._corrupted
            self._deleted[line["task_id"]] = (
                position,
                CORRUPTED if is_corrupted else DELETED_BY[line["event"]],
            )
        elif line["event"] == "deletion_failed":
            self._deleted.pop(line["task_id"] or "", None)

    def of_restore(self, position: int, line: dict[str, Any]) -> str | None:
        """Why the store is restored from the beginning, if it is: the newest of what happened since it was
        initialized before.
        """
        restored_at = self._restored_at.get(line["changelog"], -1)
        self._restored_at[line["changelog"]] = position
        self._corrupted.discard(line["task_id"] or "")
        if line["event"] != "store_from_beginning" or not self._is_told:
            return None
        happened = [self._deleted.get(line["task_id"] or "", (-1, ""))]
        if self._fresh_at is not None:
            happened.append((self._fresh_at, NEW_DISK))
        at, cause = max(happened)
        if at > restored_at:
            return cause
        return NO_CHECKPOINT if restored_at >= 0 else None


def _ended_by(
    facts: InstanceFacts,
    position: int,
    line: dict[str, Any],
    running: dict[str, dict[str, Any]],
    newest: dict[str, dict[str, Any]],
) -> dict[str, Any] | None:
    """Read a line about a changelog, and return the restore that it ends, if it ends one.

    ``running``: the restores that have not ended, ``newest``: the newest restore, both by changelog.
    """
    event, changelog = line["event"], line["changelog"]
    restore = running.get(changelog)
    if event in _STORE:
        running[changelog] = newest[changelog] = _started(facts, position, line)
        return restore
    if event == "restored" and restore is not None:
        del running[changelog]
        ended = {"restored_records": line["records"], "ended_at": line["logged_at_ms"]}
        return {**restore, **ended, "to_position": position, "to_time": line["logged_at_ms"]}
    if event != "end_offset" or changelog not in newest:
        return None
    as_standby = restore is not None and restore["kind"] == STANDBY
    if restore is None or as_standby:
        # a standby task that becomes active goes on restoring the same stores
        running[changelog] = _continued(facts, position, line, newest[changelog])
    running[changelog]["end_offset"] = line["changelog_offset"]
    return restore if as_standby else None


def _continued(
    facts: InstanceFacts, position: int, line: dict[str, Any], before: dict[str, Any]
) -> dict[str, Any]:
    return {
        **before,
        "restore_id": digest_of(facts.log.cluster, facts.log.name, line["changelog"], position),
        "thread": line["thread"],
        "kind": ACTIVE,
        "start_offset": None,
        "from_the_beginning": False,
        "restore_cause": None,
        "started_at": line["logged_at_ms"],
        **place(line),
        **facts.span(position, None),
    }


def _started(facts: InstanceFacts, position: int, line: dict[str, Any]) -> dict[str, Any]:
    topic, _, partition = line["changelog"].rpartition("-")
    return {
        **task_columns(line["task_id"] or ""),
        "restore_id": digest_of(facts.log.cluster, facts.log.name, line["changelog"], position),
        "thread": line["thread"],
        "kind": line["kind"],
        "store": line["store"],
        "changelog_topic": topic,
        "changelog_partition": int(partition) if partition.isdecimal() and len(partition) < 10 else None,
        "start_offset": line["changelog_offset"],
        "from_the_beginning": line["event"] == "store_from_beginning",
        "started_at": line["logged_at_ms"],
        **place(line),
        **facts.span(position, None),
    }


def _row(facts: InstanceFacts, values: dict[str, Any]) -> tuple[Table, Row]:
    return TASK_RESTORES, facts.row(TASK_RESTORES, **values)
