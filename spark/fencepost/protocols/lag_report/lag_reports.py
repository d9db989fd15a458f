"""The lag reports of one application: each beside the assignment that it led to."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from fencepost.protocols.lag_report.assignor_data import (
    LATEST_OFFSET,
    UNKNOWN_OFFSET_SUM,
    Assignment,
    Report,
    TaskId,
    assigned,
    assignments,
    reports,
    subscribed,
)
from fencepost.protocols.lag_report.messages import GIVEN, JOINED, RECEIVED, STORED, TOLD
from fencepost.protocols.lag_report.tables import GROUP_LOG, LAG_REPORTS
from fencepost.replay.columns import Columns
from fencepost.replay.keys import digest_of

SUM, NOT_REPORTED, UNREADABLE = "SUM", "NOT_REPORTED", "UNREADABLE"
_SENTINELS = {LATEST_OFFSET: "LATEST_OFFSET", UNKNOWN_OFFSET_SUM: "UNKNOWN_OFFSET_SUM"}
_THREAD = re.compile(r"(?P<instance>.+)-StreamThread-\d+-consumer", re.DOTALL)

_Member = tuple[int | None, str | None]
"""Generation and member id."""


@dataclass(slots=True)
class _Sent:
    """One report of a member: what is known of it from a line, a record, or both."""

    message: dict[str, Any]
    report: Report | None
    record_offset: int | None
    number: int  # of the member's reports for this generation: it may join again before the others have

    @property
    def member(self) -> _Member:
        return self.message["generation"], self.message["member_id"]

    @property
    def stands_for(self) -> str | None:
        """The same for a static member before and after it comes back under another member id."""
        stands_for: str | None = self.message["group_instance_id"] or self.message["member_id"]
        return stands_for


@dataclass(frozen=True, slots=True)
class _Given:
    """What a member was assigned, and when it heard of it; None where no line tells."""

    assignment: Assignment | None
    at_ms: int | None


_SAID = (JOINED, STORED, TOLD)
"""What tells of a report, by what it tells: a record has the member's client, too."""


def instance_of(client_id: str | None) -> str | None:
    """The client id of a KafkaStreams, of the client id of one of its threads' consumers."""
    thread = None if client_id is None else _THREAD.fullmatch(client_id)
    return None if thread is None else thread["instance"]


def lag_reports(messages: pa.Table) -> pa.Table:
    """Rows of LAG_REPORTS, from all rows of MESSAGES of some groups."""
    found = Columns(LAG_REPORTS)
    groups = defaultdict(list)
    order = [(name, "ascending") for name in ("requested_ms", "request_id", "record_offset", "member_id")]
    for message in messages.sort_by(order).to_pylist():
        groups[message["cluster"], message["group_id"]].append(message)
    for (cluster, group_id), said in sorted(groups.items()):
        for row in _Application(cluster, group_id, said).rows():
            found.add(*row)
    return found.to_arrow()


class _Application:
    def __init__(self, cluster: str, group_id: str, messages: list[dict[str, Any]]) -> None:
        self._cluster, self._group_id = cluster, group_id
        self._sent = _each_report(messages)
        self._given = _each_assignment(messages)
        # generations of which every member's report is known: the leader was told of all, or all were stored
        self._complete = {each["generation"] for each in messages if each["kind"] in (TOLD, STORED)}
        self._owners = _owners(self._sent, self._given)
        # what the leader assigned by: the last report of each member, by generation and process
        self._last = {each.member: each for each in self._sent}
        self._of_process: defaultdict[tuple[int | None, str], list[_Sent]] = defaultdict(list)
        for each in self._last.values():
            if each.report is not None:
                generation, _ = each.member
                self._of_process[generation, each.report.process_id].append(each)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        for each in self._sent:
            given = self._given.get(each.member, _Given(None, None))
            if each.report is None:
                yield self._row(each, given, None, None)
                continue
            for task in sorted(each.report.offset_sums, key=str):
                yield self._row(each, given, task, True)
            for task in sorted(self._not_listed(each, given), key=str):
                generation, _ = each.member
                yield self._row(each, given, task, False if generation in self._complete else None)

    def _not_listed(self, sent: _Sent, given: _Given) -> Iterable[TaskId]:
        """The tasks that the member was assigned, and that no thread of its process reported."""
        generation, _ = sent.member
        if sent.report is None or given.assignment is None or generation is None:
            return ()
        if self._last[sent.member] is not sent:
            return ()
        listed: set[TaskId] = set()
        for each in self._of_process[generation, sent.report.process_id]:
            # a static member that comes back later in the generation reports for itself
            if each.report is not None and (each is sent or each.stands_for != sent.stands_for):
                listed |= each.report.offset_sums.keys()
        return (given.assignment.active | given.assignment.standby) - listed

    def _row(self, sent: _Sent, given: _Given, task: TaskId | None, reported: bool | None) -> tuple[Any, ...]:
        message, report = sent.message, sent.report
        generation, member_id = sent.member
        client_id = message["client_id"]
        by_line = message["kind"] == JOINED
        begun = message["requested_ms"]
        ended = begun if given.at_ms is None else max(given.at_ms, begun)
        offset_sum = None if report is None or task is None else report.offset_sums.get(task)
        row = {
            "cluster": self._cluster,
            "application_id": self._group_id,
            "log": GROUP_LOG,
            "instance": instance_of(client_id),
            "process_id": None if report is None else report.process_id,
            "task_id": None if task is None else str(task),
            "topology": None if task is None else task.topology,
            "subtopology": None if task is None else task.subtopology,
            "partition": None if task is None else task.partition,
            "lag_report_id": digest_of(
                self._cluster,
                self._group_id,
                message["request_id"] if by_line else generation,
                member_id,
                0 if by_line else sent.number,
                task,
            ),
            "member_id": member_id,
            "group_instance_id": message["group_instance_id"],
            "client_id": client_id,
            "client_host": message["client_host"],
            "generation": generation,
            "subscription_info_version": None if report is None else report.version,
            "latest_supported_version": None if report is None else report.latest_supported_version,
            "reported": reported,
            "kind": UNREADABLE if report is None else _kind(reported, offset_sum),
            "offset_sum": 0 if reported is False else offset_sum,
            "reported_at": begun if by_line else None,
            "assigned_at": given.at_ms,
            "assigned_to": self._owners.get((generation, task)) if task is not None else None,
            "assigned_as": _assigned_as(given.assignment, task),
            "request_id": message["request_id"] if by_line else None,
            "record_offset": sent.record_offset,
            "file": message["file"],
            "position": message["position"],
            "from_position": begun,
            "to_position": ended + 1,
            "from_time": begun,
            "to_time": ended + 1,
        }
        return tuple(row.get(name) for name in LAG_REPORTS.columns)


def _each_report(messages: list[dict[str, Any]]) -> list[_Sent]:
    """Every report once: a line tells of it first. What was stored of it is no other, nor is what a leader
    was told, which it may be again and again.
    """
    said = [each for each in messages if each["kind"] in _SAID]
    found: list[_Sent] = []
    last: dict[_Member, _Sent] = {}
    read = reports(subscribed([each["subscription"] for each in said]))
    for kind in _SAID:
        for message, report in zip(said, read, strict=True):
            if message["kind"] != kind:
                continue
            known = last.get((message["generation"], message["member_id"]))
            number = 0 if known is None else known.number + 1
            sent = _Sent(message, report, message["record_offset"], number)
            if kind != JOINED and known is not None and known.report == report:
                if known.record_offset is None:
                    known.record_offset = sent.record_offset
                continue
            last[sent.member] = sent
            found.append(sent)
    return found


def _each_assignment(messages: list[dict[str, Any]]) -> dict[_Member, _Given]:
    """What each member of each generation was assigned: as it received it, else as it was given or stored."""
    said = [each for each in messages if each["kind"] in (GIVEN, STORED, RECEIVED)]
    said.sort(key=lambda each: (GIVEN, STORED, RECEIVED).index(each["kind"]))
    found: dict[_Member, _Given] = {}
    read = assignments(assigned([each["assignment"] for each in said]))
    for message, assignment in zip(said, read, strict=True):
        member = message["generation"], message["member_id"]
        before = found.get(member, _Given(None, None))
        at_ms = message["responded_ms"] if message["kind"] == RECEIVED else None
        found[member] = _Given(assignment or before.assignment, at_ms or before.at_ms)
    return found


def _owners(
    sent: list[_Sent], given: Mapping[_Member, _Given]
) -> dict[tuple[int | None, TaskId], str | None]:
    """The process that each active task went to, by generation; None where two had it."""
    found: dict[tuple[int | None, TaskId], str | None] = {}
    for each in sent:
        assignment = given.get(each.member, _Given(None, None)).assignment
        if each.report is not None and assignment is not None:
            generation, _ = each.member
            for task in assignment.active:
                process = found.setdefault((generation, task), each.report.process_id)
                if process != each.report.process_id:
                    found[generation, task] = None
    return found


def _kind(reported: bool | None, offset_sum: int | None) -> str | None:
    if reported is None:
        return None
    return NOT_REPORTED if offset_sum is None else _SENTINELS.get(offset_sum, SUM)


def _assigned_as(assignment: Assignment | None, task: TaskId | None) -> str | None:
    if assignment is None or task is None:
        return None
    return "active" if task in assignment.active else "standby" if task in assignment.standby else ""
