"""One or more applications whole: what their group says, beside what the logs of their instances do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import pyarrow as pa

from fencepost.protocols.lag_report import rows
from fencepost.protocols.lag_report.assigned_tasks import Reports, assigned_tasks
from fencepost.protocols.lag_report.changelog_ends import ChangelogEnds
from fencepost.protocols.lag_report.instance_logs import InstanceLog, instance_logs
from fencepost.protocols.lag_report.lag_reports import lag_reports
from fencepost.protocols.lag_report.leaders import Decisions
from fencepost.protocols.lag_report.restores import restores
from fencepost.protocols.lag_report.stores import Stores, stores_of
from fencepost.protocols.lag_report.tables import LAG_REPORTS, STREAMS_GROUP_TASKS, TABLES
from fencepost.protocols.lag_report.tasks import subtopology_of
from fencepost.protocols.lag_report.thread_rebalances import thread_rebalances
from fencepost.replay.columns import Columns
from fencepost.tables import Table

_Key = tuple[str, str]
"""Cluster and application id."""

_PARTS = (rows.coverage, rows.instances, rows.rebalances, rows.directories, rows.deletions, restores)


@dataclass(frozen=True, slots=True)
class ApplicationEvidence:
    """What is known of an application beside its reports."""

    stores: Stores
    decisions: Decisions
    ends: ChangelogEnds


def replay_application(
    messages: pa.Table,
    ends: pa.Table,
    lines: pa.Table,
    holes: Mapping[str, Mapping[str, list[int]]],
    tolerance_ms: int,
) -> Iterable[tuple[Table, pa.Table]]:
    """The rows of TABLES but of STREAMS_GROUP_TASKS, from rows of MESSAGES, of ENDS and of STREAMS_LINES.

    ``holes``: by cluster and file. ``tolerance_ms``: how much clocks of brokers may differ.
    """
    found = {table.name: Columns(table) for table in TABLES}
    reports = lag_reports(messages)
    told = reports.to_pylist()
    said = _by_application(told, "application_id")
    logs = _logs(lines, holes)
    stores = _stores(logs, said)
    spoken, ended = _by_application(messages.to_pylist()), _by_application(ends.to_pylist())
    known = {
        key: ApplicationEvidence(
            each,
            Decisions.of(logs.get(key, ())),
            ChangelogEnds.of(spoken.get(key, ()), ended.get(key, ()), tolerance_ms),
        )
        for key, each in stores.items()
    }
    sums: dict[str, int] = {}
    for key, own in sorted(logs.items()):
        by_member = Reports.of(said.get(key, ()))
        for log in own:
            of_log = rows.InstanceFacts.of(log, stores[key], thread_rebalances(log))
            parts = [part(of_log) for part in _PARTS]
            for table, row in chain(*parts, assigned_tasks(of_log, by_member, known[key].decisions, sums)):
                found[table.name].add(*row)
    yield LAG_REPORTS, _with_known(reports, told, known, sums)
    for table in TABLES:
        if table not in (LAG_REPORTS, STREAMS_GROUP_TASKS):
            yield table, found[table.name].to_arrow()


def _by_application(
    each_row: Iterable[dict[str, Any]], name: str = "group_id"
) -> Mapping[_Key, list[dict[str, Any]]]:
    found: defaultdict[_Key, list[dict[str, Any]]] = defaultdict(list)
    for row in each_row:
        found[row["cluster"], row[name]].append(row)
    return found


def _logs(lines: pa.Table, holes: Mapping[str, Mapping[str, list[int]]]) -> Mapping[_Key, list[InstanceLog]]:
    logs: defaultdict[_Key, list[InstanceLog]] = defaultdict(list)
    for cluster, own in _by_cluster(lines).items():
        for log in instance_logs(own, holes.get(cluster, {})):
            logs[cluster, log.application_id].append(log)
    return logs


def _stores(
    logs: Mapping[_Key, list[InstanceLog]], said: Mapping[_Key, list[dict[str, Any]]]
) -> Mapping[_Key, Stores]:
    stores = {key: stores_of(own) for key, own in logs.items()}
    for key, told in said.items():
        reported = {subtopology_of(row["task_id"]) for row in told if row["reported"]}
        # what is reported has a logged store, however many
        stores.setdefault(key, Stores()).reported.update(each for each in reported if each is not None)
    return stores


def _by_cluster(lines: pa.Table) -> dict[str, list[dict[str, Any]]]:
    found: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in lines.to_pylist():
        found[line["cluster"]].append(line)
    return found


def _with_known(
    reports: pa.Table,
    told: Sequence[Mapping[str, Any]],
    known: Mapping[_Key, ApplicationEvidence],
    sums: Mapping[str, int],
) -> pa.Table:
    """The reports with what is known of the stores of their tasks, and of their offsets."""
    columns: dict[str, list[Any]] = defaultdict(list)
    for row in told:
        of_application = known[row["cluster"], row["application_id"]]
        logged, others = of_application.stores.counts(row["task_id"])
        columns["logged_stores"].append(logged)
        columns["non_logged_stores"].append(others)
        columns["logged_offset_sum"].append(sums.get(row["lag_report_id"]))
        end, lag = _lag_of(row, of_application)
        columns["end_offset_sum"].append(end)
        columns["leader_lag"].append(lag)
    for name, values in columns.items():
        field = reports.schema.field(name)
        column = pa.array(values, field.type)
        reports = reports.set_column(reports.schema.get_field_index(name), field, column)
    return reports


def _lag_of(row: Mapping[str, Any], known: ApplicationEvidence) -> tuple[int | None, int | None]:
    """The end of a task's changelogs when its leader assigned, and the lag that the leader made of it.

    Brokers told the end, or the leader's log shows it. Where both do and differ, one is not what it seems.
    """
    member, task_id = (row["generation"], row["member_id"]), row["task_id"]
    topics = known.stores.changelogs(row["application_id"], task_id)
    end = known.ends.sum_of(*member, topics, row["partition"])
    decision = known.decisions.of_member(*member)
    if decision is None:
        return end, None
    decided = decision.end_offset_sum(task_id)
    lag = decision.lag(row["process_id"], task_id, row["offset_sum"])
    if end is None or decided is None:
        return (decided if end is None else end), lag
    return (end if end == decided else None), lag
