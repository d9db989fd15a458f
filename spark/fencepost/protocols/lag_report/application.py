"""The replay of one or more applications, from all messages of their groups and all logs of their
instances.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import pyarrow as pa

from fencepost.protocols.lag_report import rows
from fencepost.protocols.lag_report.assigned_tasks import Reports, assigned_tasks
from fencepost.protocols.lag_report.changelog_ends import ChangelogEnds
from fencepost.protocols.lag_report.directories import with_lost_releases
from fencepost.protocols.lag_report.instance_logs import InstanceLog, instance_logs
from fencepost.protocols.lag_report.lag_reports import lag_reports
from fencepost.protocols.lag_report.leaders import Decisions
from fencepost.protocols.lag_report.restores import restores
from fencepost.protocols.lag_report.stores import Stores, stores_of
from fencepost.protocols.lag_report.tables import LAG_REPORTS, STREAMS_GROUP_TASKS, TABLES
from fencepost.protocols.lag_report.tasks import subtopology_of
from fencepost.protocols.lag_report.thread_rebalances import thread_rebalances
from fencepost.reasons import NOT_CAPTURED, NOT_LOGGED
from fencepost.replay.columns import Columns
from fencepost.tables import Table

_Key = tuple[str, str]
"""Cluster and application id."""

_PARTS = (rows.coverage, rows.instances, rows.rebalances, rows.directories, rows.deletions, restores)


@dataclass(frozen=True, slots=True)
class ApplicationEvidence:
    """The evidence of an application beside its reports and logs."""

    stores: Stores
    decisions: Decisions
    ends: ChangelogEnds


class Sums(NamedTuple):
    """The offset sums that logs of instances show, by report id. ``since``: by cluster, application and
    instance, the date of the first line of its log.
    """

    by_report: Mapping[str, int]
    since: Mapping[tuple[str, str, str], int]

    def why_unknown(self, report: Mapping[str, Any]) -> str:
        """Why no log shows the sum of a report. An instance logs its offsets only when it begins with a task,
        so a log that was captured need not show them.
        """
        since = self.since.get((report["cluster"], report["application_id"], report["instance"]))
        at = report["reported_at"]
        is_captured = since is not None and at is not None and since <= at.timestamp() * 1000
        return NOT_LOGGED if is_captured else NOT_CAPTURED


def _first_lines(logs: Mapping[_Key, Sequence[InstanceLog]]) -> dict[tuple[str, str, str], int]:
    first: dict[tuple[str, str, str], int] = {}
    for log in chain.from_iterable(logs.values()):
        dates = [each["logged_at_ms"] for each in log.lines if each and each["logged_at_ms"] is not None]
        if dates:
            key = (log.cluster, log.application_id, log.instance)
            first[key] = min(first.get(key, dates[0]), *dates)
    return first


def replay_application(
    messages: pa.Table,
    ends: pa.Table,
    lines: pa.Table,
    holes: Mapping[str, Mapping[str, list[int]]],
    tolerance_ms: int,
) -> Iterable[tuple[Table, pa.Table]]:
    """The rows of TABLES except STREAMS_GROUP_TASKS, from rows of MESSAGES, ENDS and STREAMS_LINES.

    ``holes``: positions by cluster and file. ``tolerance_ms``: how far clocks of brokers may differ.
    """
    columns_of_tables = {table.name: Columns(table) for table in TABLES}
    reports = lag_reports(messages)
    report_rows = reports.to_pylist()
    reports_by_application = _by_application(report_rows, "application_id")
    logs = _logs(lines, holes)
    stores = _stores(logs, reports_by_application)
    logs = {key: [with_lost_releases(log, stores[key]) for log in own] for key, own in logs.items()}
    messages_by_application, ends_by_application = (
        _by_application(messages.to_pylist()),
        _by_application(ends.to_pylist()),
    )
    evidence_by_application = {
        key: ApplicationEvidence(
            each,
            Decisions.of(logs.get(key, ())),
            ChangelogEnds.of(
                messages_by_application.get(key, ()), ends_by_application.get(key, ()), tolerance_ms
            ),
        )
        for key, each in stores.items()
    }
    sums: dict[str, int] = {}
    for key, own_logs in sorted(logs.items()):
        by_member = Reports.of(reports_by_application.get(key, ()))
        for log in own_logs:
            facts = rows.InstanceFacts.of(log, stores[key], thread_rebalances(log))
            parts = [part(facts) for part in _PARTS]
            for table, row in chain(
                *parts, assigned_tasks(facts, by_member, evidence_by_application[key].decisions, sums)
            ):
                columns_of_tables[table.name].add(*row)
    found = Sums(sums, _first_lines(logs))
    yield LAG_REPORTS, _with_evidence(reports, report_rows, evidence_by_application, found)
    for table in TABLES:
        if table not in (LAG_REPORTS, STREAMS_GROUP_TASKS):
            yield table, columns_of_tables[table.name].to_arrow()


def _by_application(
    each_row: Iterable[dict[str, Any]], name: str = "group_id"
) -> Mapping[_Key, list[dict[str, Any]]]:
    by_application: defaultdict[_Key, list[dict[str, Any]]] = defaultdict(list)
    for row in each_row:
        by_application[row["cluster"], row[name]].append(row)
    return by_application


def _logs(lines: pa.Table, holes: Mapping[str, Mapping[str, list[int]]]) -> Mapping[_Key, list[InstanceLog]]:
    logs: defaultdict[_Key, list[InstanceLog]] = defaultdict(list)
    for cluster, lines_of_cluster in _by_cluster(lines).items():
        for log in instance_logs(lines_of_cluster, holes.get(cluster, {})):
            logs[cluster, log.application_id].append(log)
    return logs


def _stores(
    logs: Mapping[_Key, list[InstanceLog]], reports_by_application: Mapping[_Key, list[dict[str, Any]]]
) -> Mapping[_Key, Stores]:
    stores = {key: stores_of(own_logs) for key, own_logs in logs.items()}
    for key, rows_of_application in reports_by_application.items():
        reported = {subtopology_of(row["task_id"]) for row in rows_of_application if row["reported"]}
        # a task with a reported sum has at least one logged store
        stores.setdefault(key, Stores()).reported.update(each for each in reported if each is not None)
    return stores


def _by_cluster(lines: pa.Table) -> dict[str, list[dict[str, Any]]]:
    by_cluster: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in lines.to_pylist():
        by_cluster[line["cluster"]].append(line)
    return by_cluster


def _with_evidence(
    reports: pa.Table,
    report_rows: Sequence[Mapping[str, Any]],
    evidence_by_application: Mapping[_Key, ApplicationEvidence],
    sums: Sums,
) -> pa.Table:
    """The reports, with the columns about the stores of their tasks and the offsets of these."""
    columns: dict[str, list[Any]] = defaultdict(list)
    for row in report_rows:
        of_application = evidence_by_application[row["cluster"], row["application_id"]]
        logged, others = of_application.stores.counts(row["task_id"])
        columns["logged_stores"].append(logged)
        columns["non_logged_stores"].append(others)
        logged_sum = sums.by_report.get(row["lag_report_id"])
        columns["logged_offset_sum"].append(logged_sum)
        columns["sum_unknown"].append(sums.why_unknown(row) if logged_sum is None else None)
        end, lag = _lag_of(row, of_application)
        columns["end_offset_sum"].append(end)
        columns["leader_lag"].append(lag)
    for name, values in columns.items():
        field = reports.schema.field(name)
        column = pa.array(values, field.type)
        reports = reports.set_column(reports.schema.get_field_index(name), field, column)
    return reports


def _lag_of(row: Mapping[str, Any], evidence: ApplicationEvidence) -> tuple[int | None, int | None]:
    """The end of a task's changelogs when its leader assigned, and the lag that the leader computed from it.

    The end is the one that brokers answered, or the one in the leader's log; it is unknown if they differ.
    """
    member, task_id = (row["generation"], row["member_id"]), row["task_id"]
    topics = evidence.stores.changelogs(row["application_id"], task_id)
    end = evidence.ends.sum_of(*member, topics, row["partition"])
    decision = evidence.decisions.of_member(*member)
    if decision is None:
        return end, None
    decided_end = decision.end_offset_sum(task_id)
    lag = decision.lag(row["process_id"], task_id, row["offset_sum"])
    if end is None or decided_end is None:
        return (decided_end if end is None else end), lag
    return (end if end == decided_end else None), lag
