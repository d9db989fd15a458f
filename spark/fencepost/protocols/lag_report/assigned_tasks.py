"""The tasks that were newly assigned to threads, each beside what its instance had reported about it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from fencepost.protocols.lag_report.directories import TASK, Change, Directory
from fencepost.protocols.lag_report.leaders import REPLICA, WARMUP, Decisions
from fencepost.protocols.lag_report.log_messages import ACTIVE, STANDBY
from fencepost.protocols.lag_report.rows import InstanceFacts, Row, place
from fencepost.protocols.lag_report.tables import ASSIGNED_TASKS
from fencepost.protocols.lag_report.tasks import listed, task_columns
from fencepost.replay.keys import digest_of
from fencepost.tables import Table

Report = dict[str, Any]
"""A row of silver.lag_reports."""


@dataclass(frozen=True, slots=True)
class Reports:
    """The reports of an application by member and generation, which its logs and its group both name."""

    by_member: dict[tuple[int, str], list[Report]] = field(default_factory=lambda: defaultdict(list))
    by_process: dict[tuple[int, str, str], list[Report]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(cls, rows: Iterable[Report]) -> Reports:
        """The reports of one application, from its rows of silver.lag_reports."""
        reports = cls()
        for row in rows:
            if row["generation"] is None or row["member_id"] is None:
                continue
            reports.by_member[row["generation"], row["member_id"]].append(row)
            if row["process_id"] is not None and row["reported"]:
                reports.by_process[row["generation"], row["process_id"], row["task_id"]].append(row)
        return reports

    def of_task(
        self, generation: int | None, member_id: str | None, task_id: str, process_id: str | None
    ) -> tuple[bool | None, Report | None]:
        """Whether the instance of a member had reported a task in a generation (None if not known), and its
        newest report.
        """
        if generation is None or member_id is None:
            return None, None
        of_member = self.by_member.get((generation, member_id), ())
        rows_of_task = [row for row in of_member if row["task_id"] == task_id]
        # a report without tasks has no row; then the process id is that of the log
        process_ids = {process_id, *(row["process_id"] for row in of_member)}
        processes = [each for each in process_ids if each is not None]
        instance_ids = {row["group_instance_id"] for row in of_member} - {None}
        for process in processes:
            # a static member that returns in the same generation reports again under another member id
            rows_of_task += [
                row
                for row in self.by_process.get((generation, process, task_id), ())
                if row["group_instance_id"] not in instance_ids
            ]
        reported = [row for row in rows_of_task if row["reported"]]
        if reported:
            return True, reported[-1]
        return (False if any(row["reported"] is False for row in rows_of_task) else None), None


def assigned_tasks(
    facts: InstanceFacts, reports: Reports, decisions: Decisions, sums: dict[str, int]
) -> Iterator[tuple[Table, Row]]:
    """One row for each task that is new to a thread, from its assignment to its initialisation.

    The offset sums that the log shows for reported tasks are added to ``sums``, by report id.
    """
    warmups: dict[str | None, set[str] | None] = {}
    for position, line in enumerate(facts.log.lines):
        if line is not None and line["event"] == "streams_assignment":
            warmups[line["thread"]] = None if line["told"] is None else listed(line["told"])
        if line is None or line["event"] != "assignment":
            continue
        warmup_tasks = warmups.pop(line["thread"], None)
        before = listed(line["existing_active"]) | listed(line["existing_standby"])
        rebalance = facts.rebalances.of_thread(line["thread"], position)
        member = (None, None) if rebalance is None else (rebalance.generation, rebalance.member_id)
        for kind, column in ((ACTIVE, "new_active"), (STANDBY, "new_standby")):
            for task_id in sorted(listed(line[column]) - before):
                initialized = _initialization(facts, position, line["thread"], task_id)
                reported, report = reports.of_task(*member, task_id, facts.process_id)
                if facts.rebalances.is_streams_protocol(position):
                    reported = False  # its members report no lag
                standby_as: str | None = ""
                if kind == STANDBY and facts.rebalances.is_streams_protocol(position):
                    is_warmup = warmup_tasks is not None and task_id in warmup_tasks
                    standby_as = None if warmup_tasks is None else WARMUP if is_warmup else REPLICA
                elif kind == STANDBY:
                    decision = decisions.of_member(*member)
                    standby_as = None if decision is None else decision.standby_as(facts.process_id, task_id)
                if report is not None and initialized is not None and rebalance is not None:
                    offset_sum = logged_offset_sum(facts, rebalance.begin, initialized)
                    sums |= {} if offset_sum is None else {report["lag_report_id"]: offset_sum}
                directory = Directory() if initialized is None else initialized.before
                end = None if initialized is None else initialized.position
                values = {
                    **task_columns(task_id),
                    "assigned_task_id": digest_of(
                        facts.log.cluster, facts.log.name, line["thread"], task_id, position
                    ),
                    "thread": line["thread"],
                    "kind": kind,
                    "standby_as": standby_as,
                    "on_reported_lag": reported,
                    "lag_report_id": None if report is None else report["lag_report_id"],
                    "offset_sum": None if report is None else report["offset_sum"],
                    "directory_exists": _exists(facts, position, end, task_id, directory),
                    "deleted_by": directory.deleted_by,
                    "assigned_at": line["logged_at_ms"],
                    "initialized_at": facts.ms(end),
                    **place(line),
                    **facts.span(position, None if end is None else end + 1),
                }
                yield ASSIGNED_TASKS, facts.row(ASSIGNED_TASKS, **values)


def logged_offset_sum(facts: InstanceFacts, begin: int, initialized: Change) -> int | None:
    """The offset sum that a report at position ``begin`` should have had for a task: the sum of the
    checkpoints from which its stores begin when it is initialised.

    None if a thread had the task at ``begin``, or if a store does not begin from a checkpoint: then it is not
    known what was deleted or lost meanwhile. From 4.3 on the stores keep the offset of the last record, and a
    report counts the offset after it. Up to 4.2 a report has the offsets of the checkpoint file unchanged.
    """
    started = bisect_right(facts.starts, begin, key=lambda each: each[0])
    version = facts.starts[started - 1][1] if started else None
    release = re.match(r"(\d{1,4})\.(\d{1,4})", version or "")
    task_changes = facts.changes_of.get(initialized.task_id, ())
    before = bisect_right(task_changes, begin, key=lambda each: each.position)
    lock_reason = task_changes[before - 1].after.held_for if before else None
    if release is None or lock_reason == TASK or initialized.before.exists is False:
        return None
    offsets: dict[str, int | None] = {
        line["changelog"]: line["changelog_offset"]
        for line in facts.log.lines[begin : initialized.position]
        if line is not None
        and line["event"] == "store_from_checkpoint"
        and line["task_id"] == initialized.task_id
    }
    logged, _ = facts.stores.counts(initialized.task_id)
    offsets_known = [offset for offset in offsets.values() if offset is not None]
    if not offsets_known or len(offsets_known) != len(offsets) or len(offsets_known) != logged:
        return None
    next_ones = len(offsets_known) if (int(release[1]), int(release[2])) >= (4, 3) else 0
    total = sum(offsets_known) + next_ones
    return total if total < 2**63 else None


def _initialization(facts: InstanceFacts, position: int, thread: str | None, task_id: str) -> Change | None:
    """The change at which the thread initialised the task, unless it got another assignment before."""
    later = next(
        (
            at
            for at in range(position + 1, len(facts.log.lines))
            if (line := facts.log.lines[at]) is None
            or line["event"] == "version"
            or (line["event"] == "assignment" and line["thread"] == thread
                and task_id not in listed(line["new_active"]) | listed(line["new_standby"]))
        ),
        len(facts.log.lines),
    )  # fmt: skip
    task_changes = facts.changes_of.get(task_id, ())
    first = bisect_right(task_changes, position, key=lambda each: each.position)
    for each in (task_changes[number] for number in range(first, len(task_changes))):
        if each.position >= later:
            break
        line = each.line
        if line is not None and line["event"] == "initialized" and line["thread"] == thread:
            return each
    return None


def _exists(
    facts: InstanceFacts, begin: int, end: int | None, task_id: str, directory: Directory
) -> bool | None:
    """Whether the directory existed: a store that begins from a checkpoint was in it.

    If no store begins from a checkpoint and the log shows no deletion, it is not known whether it existed.
    """
    store_events = {
        line["event"]
        for line in facts.log.lines[begin : begin if end is None else end]
        if line is not None and line["task_id"] == task_id
    }
    if "store_from_checkpoint" in store_events:
        return True
    return None if directory.exists and "store_from_beginning" in store_events else directory.exists
