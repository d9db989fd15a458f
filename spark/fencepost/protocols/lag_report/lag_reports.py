"""The lag reports of one application, each with the assignment that followed."""

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
from fencepost.protocols.lag_report.messages import DISTRIBUTED, JOINED, LISTED, RECEIVED, STORED
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
    """One report of a member, from a line, a record, or both."""

    message: dict[str, Any]
    report: Report | None
    record_offset: int | None
    number: int  # among the member's reports for this generation: it may join again before other members do

    @property
    def member(self) -> _Member:
        return self.message["generation"], self.message["member_id"]

    @property
    def stands_for(self) -> str | None:
        """The name that a static member keeps when it returns under another member id."""
        stands_for: str | None = self.message["group_instance_id"] or self.message["member_id"]
        return stands_for


@dataclass(frozen=True, slots=True)
class _Received:
    """The assignment of a member, and when the member received it; None where no line shows it."""

    assignment: Assignment | None
    at_ms: int | None


_WITH_REPORT = (JOINED, STORED, LISTED)
"""The kinds of messages with a report, the most informative first: a record has the member's client, too."""


def instance_of(client_id: str | None) -> str | None:
    """The client id of a KafkaStreams, from the client id of the consumer of one of its threads."""
    thread = None if client_id is None else _THREAD.fullmatch(client_id)
    return None if thread is None else thread["instance"]


def lag_reports(messages: pa.Table) -> pa.Table:
    """Rows of LAG_REPORTS, from all rows of MESSAGES of some groups."""
    columns = Columns(LAG_REPORTS)
    groups = defaultdict(list)
    order = [(name, "ascending") for name in ("requested_ms", "request_id", "record_offset", "member_id")]
    for message in messages.sort_by(order).to_pylist():
        groups[message["cluster"], message["group_id"]].append(message)
    for (cluster, group_id), group_messages in sorted(groups.items()):
        for row in _Application(cluster, group_id, group_messages).rows():
            columns.add(*row)
    return columns.to_arrow()


class _Application:
    def __init__(self, cluster: str, group_id: str, messages: list[dict[str, Any]]) -> None:
        self._cluster, self._group_id = cluster, group_id
        self._sent = _each_report(messages)
        self._assignments = _each_assignment(messages)
        # generations with the reports of all members: they were listed for the leader, or stored
        self._complete = {each["generation"] for each in messages if each["kind"] in (LISTED, STORED)}
        self._owners = _owners(self._sent, self._assignments)
        # the reports from which the leader assigned: the last of each member, by generation and process
        self._last = {each.member: each for each in self._sent}
        self._of_process: defaultdict[tuple[int | None, str], list[_Sent]] = defaultdict(list)
        for each in self._last.values():
            if each.report is not None:
                generation, _ = each.member
                self._of_process[generation, each.report.process_id].append(each)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        for each in self._sent:
            received = self._assignments.get(each.member, _Received(None, None))
            if each.report is None:
                yield self._row(each, received, None, None)
                continue
            for task in sorted(each.report.offset_sums, key=str):
                yield self._row(each, received, task, True)
            for task in sorted(self._unreported(each, received), key=str):
                generation, _ = each.member
                yield self._row(each, received, task, False if generation in self._complete else None)

    def _unreported(self, sent: _Sent, received: _Received) -> Iterable[TaskId]:
        """The tasks that the member was assigned although no thread of its process reported them."""
        generation, _ = sent.member
        if sent.report is None or received.assignment is None or generation is None:
            return ()
        if self._last[sent.member] is not sent:
            return ()
        listed: set[TaskId] = set()
        for each in self._of_process[generation, sent.report.process_id]:
            # a static member that returns later in the generation replaces its earlier report
            if each.report is not None and (each is sent or each.stands_for != sent.stands_for):
                listed |= each.report.offset_sums.keys()
        return (received.assignment.active | received.assignment.standby) - listed

    def _row(
        self, sent: _Sent, received: _Received, task: TaskId | None, reported: bool | None
    ) -> tuple[Any, ...]:
        message, report = sent.message, sent.report
        generation, member_id = sent.member
        client_id = message["client_id"]
        by_line = message["kind"] == JOINED
        reported_ms = message["requested_ms"]
        assigned_ms = reported_ms if received.at_ms is None else max(received.at_ms, reported_ms)
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
            "reported_at": reported_ms if by_line else None,
            "assigned_at": received.at_ms,
            "assigned_to": self._owners.get((generation, task)) if task is not None else None,
            "assigned_as": _assigned_as(received.assignment, task),
            "request_id": message["request_id"] if by_line else None,
            "record_offset": sent.record_offset,
            "file": message["file"],
            "position": message["position"],
            "from_position": reported_ms,
            "to_position": assigned_ms + 1,
            "from_time": reported_ms,
            "to_time": assigned_ms + 1,
        }
        return tuple(row.get(name) for name in LAG_REPORTS.columns)


def _each_report(messages: list[dict[str, Any]]) -> list[_Sent]:
    """Every report once, from the request of its member if that is there. The same report in a record, or in
    the responses to leaders, which may repeat it, is not another one.
    """
    of_kinds = [each for each in messages if each["kind"] in _WITH_REPORT]
    reports_found: list[_Sent] = []
    last: dict[_Member, _Sent] = {}
    decoded = reports(subscribed([each["subscription"] for each in of_kinds]))
    for kind in _WITH_REPORT:
        for message, report in zip(of_kinds, decoded, strict=True):
            if message["kind"] != kind:
                continue
            earlier = last.get((message["generation"], message["member_id"]))
            number = 0 if earlier is None else earlier.number + 1
            sent = _Sent(message, report, message["record_offset"], number)
            if kind != JOINED and earlier is not None and earlier.report == report:
                if earlier.record_offset is None:
                    earlier.record_offset = sent.record_offset
                continue
            last[sent.member] = sent
            reports_found.append(sent)
    return reports_found


def _each_assignment(messages: list[dict[str, Any]]) -> dict[_Member, _Received]:
    """The assignment of each member of each generation: as it received it, else as it was distributed or
    stored.
    """
    of_kinds = [each for each in messages if each["kind"] in (DISTRIBUTED, STORED, RECEIVED)]
    of_kinds.sort(key=lambda each: (DISTRIBUTED, STORED, RECEIVED).index(each["kind"]))
    received: dict[_Member, _Received] = {}
    decoded = assignments(assigned([each["assignment"] for each in of_kinds]))
    for message, assignment in zip(of_kinds, decoded, strict=True):
        member = message["generation"], message["member_id"]
        before = received.get(member, _Received(None, None))
        at_ms = message["responded_ms"] if message["kind"] == RECEIVED else None
        received[member] = _Received(assignment or before.assignment, at_ms or before.at_ms)
    return received


def _owners(
    sent: list[_Sent], received: Mapping[_Member, _Received]
) -> dict[tuple[int | None, TaskId], str | None]:
    """The process that got each active task, by generation; None if two processes got it."""
    owners: dict[tuple[int | None, TaskId], str | None] = {}
    for each in sent:
        assignment = received.get(each.member, _Received(None, None)).assignment
        if each.report is not None and assignment is not None:
            generation, _ = each.member
            for task in assignment.active:
                process = owners.setdefault((generation, task), each.report.process_id)
                if process != each.report.process_id:
                    owners[generation, task] = None
    return owners


def _kind(reported: bool | None, offset_sum: int | None) -> str | None:
    if reported is None:
        return None
    return NOT_REPORTED if offset_sum is None else _SENTINELS.get(offset_sum, SUM)


def _assigned_as(assignment: Assignment | None, task: TaskId | None) -> str | None:
    if assignment is None or task is None:
        return None
    return "active" if task in assignment.active else "standby" if task in assignment.standby else ""
