"""The tasks that threads were newly assigned, beside what their instance had reported of them."""

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
    """The reports of an application: exact, since application and group name member and generation alike."""

    by_member: dict[tuple[int, str], list[Report]] = field(default_factory=lambda: defaultdict(list))
    by_process: dict[tuple[int, str, str], list[Report]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(cls, rows: Iterable[Report]) -> Reports:
        """Of rows of silver.lag_reports that all are one application's."""
        found = cls()
        for row in rows:
            if row["generation"] is None or row["member_id"] is None:
                continue
            found.by_member[row["generation"], row["member_id"]].append(row)
            if row["process_id"] is not None and row["reported"]:
                found.by_process[row["generation"], row["process_id"], row["task_id"]].append(row)
        return found

    def of_task(
        self, generation: int | None, member_id: str | None, task_id: str, process_id: str | None
    ) -> tuple[bool | None, Report | None]:
        """Whether the instance of a member had reported a task in a generation, and its newest report."""
        if generation is None or member_id is None:
            return None, None
        own = self.by_member.get((generation, member_id), ())
        listed_here = [row for row in own if row["task_id"] == task_id]
        # a report without tasks has no row: then the log names the process
        named = {process_id, *(row["process_id"] for row in own)}
        processes = [each for each in named if each is not None]
        stand_for = {row["group_instance_id"] for row in own} - {None}
        for process in processes:
            # a static member that comes back in the generation reports anew
            listed_here += [
                row
                for row in self.by_process.get((generation, process, task_id), ())
                if row["group_instance_id"] not in stand_for
            ]
        reported = [row for row in listed_here if row["reported"]]
        if reported:
            return True, reported[-1]
        return (False if any(row["reported"] is False for row in listed_here) else None), None


def assigned_tasks(
    told: InstanceFacts, reports: Reports, decisions: Decisions, sums: dict[str, int]
) -> Iterator[tuple[Table, Row]]:
    """One row for each task that is new to a thread, from its assignment to when it is initialised.

    ``sums`` is given what the log shows of the offset sums that were reported of them, by report.
    """
    warmups: dict[str | None, set[str] | None] = {}
    for position, line in enumerate(told.log.lines):
        if line is not None and line["event"] == "streams_assignment":
            warmups[line["thread"]] = None if line["told"] is None else listed(line["told"])
        if line is None or line["event"] != "assignment":
            continue
        of_broker = warmups.pop(line["thread"], None)
        before = listed(line["existing_active"]) | listed(line["existing_standby"])
        rebalance = told.rebalances.of_thread(line["thread"], position)
        member = (None, None) if rebalance is None else (rebalance.generation, rebalance.member_id)
        for kind, column in ((ACTIVE, "new_active"), (STANDBY, "new_standby")):
            for task_id in sorted(listed(line[column]) - before):
                taken = _taken(told, position, line["thread"], task_id)
                reported, report = reports.of_task(*member, task_id, told.process_id)
                if told.rebalances.is_streams_protocol(position):
                    reported = False  # its members report no lag
                standby_as: str | None = ""
                if kind == STANDBY and told.rebalances.is_streams_protocol(position):
                    is_warmup = of_broker is not None and task_id in of_broker
                    standby_as = None if of_broker is None else WARMUP if is_warmup else REPLICA
                elif kind == STANDBY:
                    decision = decisions.of_member(*member)
                    standby_as = None if decision is None else decision.standby_as(told.process_id, task_id)
                if report is not None and taken is not None and rebalance is not None:
                    offset_sum = logged_offset_sum(told, rebalance.begin, taken)
                    sums |= {} if offset_sum is None else {report["lag_report_id"]: offset_sum}
                was = Directory() if taken is None else taken.before
                end = None if taken is None else taken.position
                values = {
                    **task_columns(task_id),
                    "assigned_task_id": digest_of(
                        told.log.cluster, told.log.name, line["thread"], task_id, position
                    ),
                    "thread": line["thread"],
                    "kind": kind,
                    "standby_as": standby_as,
                    "on_reported_lag": reported,
                    "lag_report_id": None if report is None else report["lag_report_id"],
                    "offset_sum": None if report is None else report["offset_sum"],
                    "directory_exists": _exists(told, position, end, task_id, was),
                    "deleted_by": was.deleted_by,
                    "assigned_at": line["logged_at_ms"],
                    "initialized_at": told.ms(end),
                    **place(line),
                    **told.span(position, None if end is None else end + 1),
                }
                yield ASSIGNED_TASKS, told.row(ASSIGNED_TASKS, **values)


def logged_offset_sum(told: InstanceFacts, begin: int, taken: Change) -> int | None:
    """What a report made at ``begin`` had to say of a task: its stores begin there when it is taken up.

    None where a thread had the task then, or where a store does not begin at a checkpoint: what was deleted
    or lost meanwhile does not tell what there was. Since 4.3 offsets are in the stores, as those of the last
    record, and a report counts the next one. Up to 4.2 it takes them from the checkpoint file as they are.
    """
    started = bisect_right(told.starts, begin, key=lambda each: each[0])
    version = told.starts[started - 1][1] if started else None
    release = re.match(r"(\d{1,4})\.(\d{1,4})", version or "")
    own = told.changes_of.get(taken.task_id, ())
    before = bisect_right(own, begin, key=lambda each: each.position)
    held_for = own[before - 1].after.held_for if before else None
    if release is None or held_for == TASK or taken.before.exists is False:
        return None
    offsets: dict[str, int | None] = {
        line["changelog"]: line["changelog_offset"]
        for line in told.log.lines[begin : taken.position]
        if line is not None and line["event"] == "store_from_checkpoint" and line["task_id"] == taken.task_id
    }
    logged, _ = told.stores.counts(taken.task_id)
    known = [offset for offset in offsets.values() if offset is not None]
    if not known or len(known) != len(offsets) or len(known) != logged:
        return None
    next_ones = len(known) if (int(release[1]), int(release[2])) >= (4, 3) else 0
    total = sum(known) + next_ones
    return total if total < 2**63 else None


def _taken(told: InstanceFacts, position: int, thread: str | None, task_id: str) -> Change | None:
    """Where the thread said that the task is initialised, unless it was assigned something else before."""
    later = next(
        (
            at
            for at in range(position + 1, len(told.log.lines))
            if (line := told.log.lines[at]) is None
            or line["event"] == "version"
            or (line["event"] == "assignment" and line["thread"] == thread
                and task_id not in listed(line["new_active"]) | listed(line["new_standby"]))
        ),
        len(told.log.lines),
    )  # fmt: skip
    own = told.changes_of.get(task_id, ())
    first = bisect_right(own, position, key=lambda each: each.position)
    for each in (own[number] for number in range(first, len(own))):
        if each.position >= later:
            break
        line = each.line
        if line is not None and line["event"] == "initialized" and line["thread"] == thread:
            return each
    return None


def _exists(told: InstanceFacts, begin: int, end: int | None, task_id: str, was: Directory) -> bool | None:
    """Whether the directory was there: a store that begins at a checkpoint was in it.

    Where none of its stores was, and nobody is seen to delete it, it is not known what there was.
    """
    begun = {
        line["event"]
        for line in told.log.lines[begin : begin if end is None else end]
        if line is not None and line["task_id"] == task_id
    }
    if "store_from_checkpoint" in begun:
        return True
    return None if was.exists and "store_from_beginning" in begun else was.exists
