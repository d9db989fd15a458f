"""Rows of the tables of one instance's log."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fencepost.protocols.lag_report.directories import DELETED_BY, FRESH, Change, changes, since_release
from fencepost.protocols.lag_report.instance_logs import InstanceLog, number_of
from fencepost.protocols.lag_report.log_files import Line
from fencepost.protocols.lag_report.stores import Stores
from fencepost.protocols.lag_report.tables import (
    DIRECTORY_DELETIONS,
    STREAMS_COVERAGE,
    STREAMS_INSTANCES,
    STREAMS_REBALANCES,
    TASK_DIRECTORIES,
)
from fencepost.protocols.lag_report.tasks import task_columns
from fencepost.protocols.lag_report.thread_rebalances import ThreadRebalances
from fencepost.replay.keys import digest_of
from fencepost.tables import Table

Row = tuple[Any, ...]
_NUMBERS = {
    "cleanup_delay_ms": "state.cleanup.delay.ms",
    "acceptable_recovery_lag": "acceptable.recovery.lag",
    "probing_rebalance_interval_ms": "probing.rebalance.interval.ms",
    "num_standby_replicas": "num.standby.replicas",
}
_TEXTS = {
    "state_dir": "state.dir",
    "processing_guarantee": "processing.guarantee",
    "group_protocol": "group.protocol",
}


@dataclass(frozen=True, slots=True)
class InstanceFacts:
    """A log, and what its rows are made of."""

    log: InstanceLog
    process_id: str | None
    stores: Stores
    rebalances: ThreadRebalances
    changes: tuple[Change, ...]
    changes_of: Mapping[str, Sequence[Change]]
    """The same changes by task."""
    starts: Sequence[tuple[int, str | None]]
    """The positions at which a process starts, each with its version."""

    @classmethod
    def of(cls, log: InstanceLog, stores: Stores, rebalances: ThreadRebalances) -> InstanceFacts:
        """The facts of a log, with the stores that its application has."""
        process_ids = {
            line["told"] for line in log.lines if line is not None and line["event"] in ("process_id", FRESH)
        }
        process_id = process_ids.pop() if len(process_ids) == 1 else None
        all_changes = tuple(changes(log, stores))
        by_task: defaultdict[str, list[Change]] = defaultdict(list)
        for each in all_changes:
            by_task[each.task_id].append(each)
        starts = [
            (position, line["told"])
            for position, line in enumerate(log.lines)
            if line is not None and line["event"] == "version"
        ]
        return cls(log, process_id, stores, rebalances, all_changes, by_task, starts)

    def row(self, table: Table, **values: Any) -> Row:
        """A row of a table of this log."""
        row = {**self.log.key, "process_id": self.process_id, **values}
        return tuple(row.get(name) for name in table.columns)

    def ms(self, position: int | None) -> int | None:
        """The time at which the line at a position was logged."""
        line = None if position is None or position >= len(self.log.lines) else self.log.lines[position]
        return None if line is None else line["logged_at_ms"]

    def span(self, begin: int, end: int | None) -> dict[str, Any]:
        """The columns of an interval of positions."""
        times = {"from_time": self.ms(begin), "to_time": self.ms(end)}
        return {"from_position": begin, "to_position": end, **times}


def place(line: Line | None) -> dict[str, Any]:
    """The columns of a line's place."""
    return {} if line is None else {"file": line["file"], "position": line["position"]}


def coverage(facts: InstanceFacts) -> Iterator[tuple[Table, Row]]:
    """The parts of the log between its holes; none is covered if its files overlap in time."""
    begin = 0
    for position, line in enumerate(facts.log.lines):
        if line is None:
            if begin < position:
                is_ordered = facts.log.is_ordered
                yield (
                    STREAMS_COVERAGE,
                    facts.row(STREAMS_COVERAGE, covered=is_ordered, **facts.span(begin, position)),
                )
            hole = facts.span(position, position + 1)
            yield STREAMS_COVERAGE, facts.row(STREAMS_COVERAGE, covered=False, **hole)
            begin = position + 1
    if begin < len(facts.log.lines):
        rest = facts.span(begin, None)
        yield STREAMS_COVERAGE, facts.row(STREAMS_COVERAGE, covered=facts.log.is_ordered, **rest)


def instances(facts: InstanceFacts) -> Iterator[tuple[Table, Row]]:
    """The states of the instance (KafkaStreams.State), with its configuration."""
    state: dict[str, Any] = {}
    states: list[tuple[int, dict[str, Any]]] = []
    for position, line in enumerate(facts.log.lines):
        before, state = state, {} if line is None else _state_after(state, line)
        if state != before or not states:
            states.append((position, {**state, **place(line)}))
    ends = [begin for begin, _ in states[1:]]
    for (begin, values), end in zip(states, [*ends, None], strict=True):
        yield STREAMS_INSTANCES, facts.row(STREAMS_INSTANCES, **values, **facts.span(begin, end))


def _state_after(state: dict[str, Any], line: Line) -> dict[str, Any]:
    new: dict[str, Any] = {}
    match line["event"]:
        case "version":
            state, new = _settings_of(state), {"version": line["told"]}
        case "configured":
            new = _configured(line["told"])
        case "streams_protocol":
            new = {"group_protocol": "streams"}
        case "joining":
            new = {"group_protocol": state.get("group_protocol") or "classic"}
        case "client_state":
            new = {"state": line["to_state"]}
        case "deleted_by_cleaner":
            new = {"cleanup_delay_ms": line["delay_ms"]}
    return {**state, **new}


def _settings_of(state: Mapping[str, Any]) -> dict[str, Any]:
    return {name: state[name] for name in (*_NUMBERS, *_TEXTS) if name in state}


def _configured(configured: str | None) -> dict[str, Any]:
    settings = json.loads(configured or "{}")
    columns: dict[str, Any] = {name: settings.get(key) for name, key in _TEXTS.items()}
    for name, key in _NUMBERS.items():
        columns[name] = number_of(configured, key, 31 if name == "num_standby_replicas" else 63)
    return columns


def rebalances(facts: InstanceFacts) -> Iterator[tuple[Table, Row]]:
    """Each rebalance, from a report to its assignment."""
    for each in facts.rebalances.rebalances:
        values = {
            "rebalance_id": digest_of(facts.log.cluster, facts.log.name, each.thread, each.begin),
            "thread": each.thread,
            "member_id": each.member_id,
            "generation": each.generation,
            "reason": each.reason,
            "outcome": each.outcome,
            "reported_at": each.reported_ms,
            "assigned_at": each.ended_ms,
            **place(each.line),
            **facts.span(each.begin, each.end),
        }
        yield STREAMS_REBALANCES, facts.row(STREAMS_REBALANCES, **values)


def directories(facts: InstanceFacts) -> Iterator[tuple[Table, Row]]:
    """The history of each directory."""
    ends: dict[str, int] = {}
    for each in reversed(facts.changes):
        end = ends.get(each.task_id)
        ends[each.task_id] = each.position
        now = each.after
        values = {
            **task_columns(each.task_id),
            "directory_exists": now.exists,
            "locked": now.locked,
            "holder": now.holder,
            "held_for": now.held_for,
            "deleted_by": now.deleted_by,
            "released_at": now.released_ms,
            "modified_at": now.modified_ms,
            **place(each.line),
            **facts.span(each.position, end),
        }
        yield TASK_DIRECTORIES, facts.row(TASK_DIRECTORIES, **values)


def deletions(facts: InstanceFacts) -> Iterator[tuple[Table, Row]]:
    """Each deletion of a directory, with the report that was waiting then, and the release before it."""
    inexact_ms = facts.log.inexact_ms
    for each in facts.changes:
        line, before = each.line, each.before
        if line is None or line["event"] not in DELETED_BY or line["task_id"] != each.task_id:
            continue
        lag_reported, report = facts.rebalances.open_at(each.position)
        ms = line["logged_at_ms"]
        values = {
            **task_columns(each.task_id),
            "deletion_id": digest_of(facts.log.cluster, facts.log.name, each.task_id, each.position),
            "deleted_by": DELETED_BY[line["event"]],
            "deleted_at": ms,
            "has_state": facts.stores.has_state(each.task_id),
            "elapsed_ms": line["elapsed_ms"],
            "cleanup_delay_ms": line["delay_ms"],
            "lag_reported": lag_reported,
            "reported_by": None if report is None else report.thread,
            "reported_at": None if report is None else report.reported_ms,
            "since_release_ms": since_release(before, line, inexact_ms),
            "released_by": before.released_by,
            "released_at": before.released_ms,
            **place(line),
            "from_position": each.position,
            "to_position": each.position + 1,
            "from_time": ms,
            "to_time": None if ms is None else ms + 1,
        }
        yield DIRECTORY_DELETIONS, facts.row(DIRECTORY_DELETIONS, **values)
