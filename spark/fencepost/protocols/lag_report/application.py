"""One or more applications whole: what their group says, beside what the logs of their instances do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

import pyarrow as pa

from fencepost.protocols.lag_report import rows
from fencepost.protocols.lag_report.assigned_tasks import Reports, assigned_tasks
from fencepost.protocols.lag_report.instance_logs import InstanceLog, instance_logs
from fencepost.protocols.lag_report.restores import restores
from fencepost.protocols.lag_report.stores import Stores, stores_of
from fencepost.protocols.lag_report.tables import LAG_REPORTS, TABLES
from fencepost.protocols.lag_report.tasks import subtopology_of
from fencepost.protocols.lag_report.thread_rebalances import thread_rebalances
from fencepost.replay.columns import Columns
from fencepost.tables import Table

_Key = tuple[str, str]
"""Cluster and application id."""

_PARTS = (rows.coverage, rows.instances, rows.rebalances, rows.directories, rows.deletions, restores)


def replay_application(
    reports: pa.Table, lines: pa.Table, holes: Mapping[str, Mapping[str, list[int]]]
) -> Iterable[tuple[Table, pa.Table]]:
    """The rows of TABLES, from rows of LAG_REPORTS and of STREAMS_LINES. ``holes``: by cluster and file."""
    found = {table.name: Columns(table) for table in TABLES}
    said: defaultdict[_Key, list[dict[str, Any]]] = defaultdict(list)
    told = reports.to_pylist()
    for row in told:
        said[row["cluster"], row["application_id"]].append(row)
    logs = _logs(lines, holes)
    stores = _stores(logs, said)
    sums: dict[str, int] = {}
    for key, own in sorted(logs.items()):
        by_member = Reports.of(said.get(key, ()))
        for log in own:
            of_log = rows.Told.of(log, stores[key], thread_rebalances(log))
            parts = [part(of_log) for part in _PARTS]
            for table, row in chain(*parts, assigned_tasks(of_log, by_member, sums)):
                found[table.name].add(*row)
    yield LAG_REPORTS, _with_stores(reports, told, stores, sums)
    for table in TABLES:
        if table is not LAG_REPORTS:
            yield table, found[table.name].to_arrow()


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


def _with_stores(
    reports: pa.Table,
    told: list[dict[str, Any]],
    stores: Mapping[tuple[str, str], Stores],
    sums: Mapping[str, int],
) -> pa.Table:
    """The reports with what the logs show of the stores of their tasks, and of their offsets."""
    counts = [stores[row["cluster"], row["application_id"]].counts(row["task_id"]) for row in told]
    columns = {
        "logged_stores": [logged for logged, _ in counts],
        "non_logged_stores": [others for _, others in counts],
        "logged_offset_sum": [sums.get(row["lag_report_id"]) for row in told],
    }
    for name, values in columns.items():
        field = reports.schema.field(name)
        column = pa.array(values, field.type)
        reports = reports.set_column(reports.schema.get_field_index(name), field, column)
    return reports
