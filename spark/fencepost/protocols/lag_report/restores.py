"""What threads restored: a changelog from its checkpoint, or from its beginning, to its end."""

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


def restores(told: InstanceFacts) -> Iterator[tuple[Table, Row]]:
    """One row for each store that a task began to restore, with its end where the log shows one."""
    begun: dict[str, dict[str, Any]] = {}
    known: dict[str, dict[str, Any]] = {}
    for position, line in enumerate(told.log.lines):
        if line is None or line["event"] == "version":
            # a restore does not outlive its process
            yield from (_row(told, each) for each in begun.values())
            begun = {}
            continue
        if line["changelog"] is not None:
            ended = _told(told, position, line, begun, known)
            if ended is not None:
                yield _row(told, ended)
    yield from (_row(told, each) for each in begun.values())


def _told(
    told: InstanceFacts,
    position: int,
    line: dict[str, Any],
    begun: dict[str, dict[str, Any]],
    known: dict[str, dict[str, Any]],
) -> dict[str, Any] | None:
    """What a line says of a changelog: the restore that it ends, if it ends one."""
    event, changelog = line["event"], line["changelog"]
    now = begun.get(changelog)
    if event in _STORE:
        begun[changelog] = known[changelog] = _begun(told, position, line)
        return now
    if event == "restored" and now is not None:
        del begun[changelog]
        ended = {"restored_records": line["records"], "ended_at": line["logged_at_ms"]}
        return {**now, **ended, "to_position": position, "to_time": line["logged_at_ms"]}
    if event != "end_offset" or changelog not in known:
        return None
    as_standby = now is not None and now["kind"] == STANDBY
    if now is None or as_standby:
        # a standby task that was made active goes on with its stores
        begun[changelog] = _goes_on(told, position, line, known[changelog])
    begun[changelog]["end_offset"] = line["changelog_offset"]
    return now if as_standby else None


def _goes_on(
    told: InstanceFacts, position: int, line: dict[str, Any], before: dict[str, Any]
) -> dict[str, Any]:
    return {
        **before,
        "restore_id": digest_of(told.log.cluster, told.log.name, line["changelog"], position),
        "thread": line["thread"],
        "kind": ACTIVE,
        "start_offset": None,
        "from_the_beginning": False,
        "started_at": line["logged_at_ms"],
        **place(line),
        **told.span(position, None),
    }


def _begun(told: InstanceFacts, position: int, line: dict[str, Any]) -> dict[str, Any]:
    topic, _, partition = line["changelog"].rpartition("-")
    return {
        **task_columns(line["task_id"] or ""),
        "restore_id": digest_of(told.log.cluster, told.log.name, line["changelog"], position),
        "thread": line["thread"],
        "kind": line["kind"],
        "store": line["store"],
        "changelog_topic": topic,
        "changelog_partition": int(partition) if partition.isdecimal() and len(partition) < 10 else None,
        "start_offset": line["changelog_offset"],
        "from_the_beginning": line["event"] == "store_from_beginning",
        "started_at": line["logged_at_ms"],
        **place(line),
        **told.span(position, None),
    }


def _row(told: InstanceFacts, values: dict[str, Any]) -> tuple[Table, Row]:
    return TASK_RESTORES, told.row(TASK_RESTORES, **values)
