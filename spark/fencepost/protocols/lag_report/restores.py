"""The restores of threads: each of a changelog, from its checkpoint or its beginning to its end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fencepost.protocols.lag_report.log_messages import ACTIVE, STANDBY
from fencepost.protocols.lag_report.rows import InstanceFacts, Row, place
from fencepost.protocols.lag_report.tables import TASK_RESTORES
from fencepost.protocols.lag_report.tasks import task_columns
from fencepost.replay.keys import digest_of
from fencepost.tables import Table

_STORE = {"store_from_checkpoint", "store_from_beginning"}


def restores(facts: InstanceFacts) -> Iterator[tuple[Table, Row]]:
    """One row for each restore of a store, with its end if the log shows one."""
    running: dict[str, dict[str, Any]] = {}
    newest: dict[str, dict[str, Any]] = {}
    for position, line in enumerate(facts.log.lines):
        if line is None or line["event"] == "version":
            # a restore does not outlive its process
            yield from (_row(facts, each) for each in running.values())
            running = {}
            continue
        if line["changelog"] is not None:
            ended = _ended_by(facts, position, line, running, newest)
            if ended is not None:
                yield _row(facts, ended)
    yield from (_row(facts, each) for each in running.values())


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
