"""The rebuild of Kafka Streams: each application is replayed alone, on any engine.

An application's logs are matched with its group by member id and generation, which both have; never by time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.engines import Rows
from fencepost.protocols.lag_report import changelog_ends, streams_groups
from fencepost.protocols.lag_report.application import replay_application
from fencepost.protocols.lag_report.bronze import STREAMS_LINES
from fencepost.protocols.lag_report.changelog_ends import ENDS
from fencepost.protocols.lag_report.logs import STREAMS_LOG
from fencepost.protocols.lag_report.messages import APIS, GROUP_METADATA, MESSAGES, of_lines, of_records
from fencepost.protocols.lag_report.tables import STREAMS_GROUP_TASKS, TABLES
from fencepost.replay.entities import bucket_of, tuples, with_entity
from fencepost.replay.evidence import Evidence
from fencepost.replay.incarnations import coordinator_logs
from fencepost.replay.keys import OFFSETS_TOPIC
from fencepost.tables import QUARANTINE, RECORDS, REQUESTS, Table

_MESSAGES, _ENDS, _LINES, _TASKS = "messages", "ends", "lines", "tasks"
_APPLICATION = ("cluster", "application_id")
_BUCKETS_PER_PART = 4
_NAMES = ("cluster", "client", "instance", "group_id")
_GROUPS = MESSAGES.arrow_schema.empty_table().select(MESSAGES.key).schema
_NAMED = STREAMS_LINES.arrow_schema.empty_table().select(_NAMES).schema
_Holes = Mapping[str, Mapping[str, list[int]]]
"""Positions of entries that cannot be read, by cluster and file."""


def rebuild(evidence: Evidence) -> Mapping[str, Rows]:
    """The rows of TABLES, by the table's name."""
    engine = evidence.engine
    records = engine.scan(RECORDS, where=[{"topic": OFFSETS_TOPIC, "record_type": GROUP_METADATA}])
    requests = engine.scan(REQUESTS, where=[{"api_key": frozenset(APIS)}])
    messages = [
        engine.keep(engine.map(records, of_records, MESSAGES.arrow_schema)),
        engine.keep(engine.map(requests, of_lines, MESSAGES.arrow_schema)),
    ]
    task_records = engine.scan(
        RECORDS, where=[{"topic": OFFSETS_TOPIC, "record_type": frozenset(streams_groups.RECORD_TYPES)}]
    )
    later_logs = {
        (cluster, each.topic_id)
        for (cluster, topic), logs in evidence.once(coordinator_logs).items()
        for each in logs.incarnations
        if topic == OFFSETS_TOPIC and each.named_in_ids is not None
    }
    of_records_of_tasks = partial(streams_groups.of_records, later_logs)
    tasks = engine.map(task_records, of_records_of_tasks, STREAMS_GROUP_TASKS.arrow_schema)
    groups = _groups(evidence, messages)
    end_requests = engine.scan(REQUESTS, where=[{"api_key": frozenset(changelog_ends.APIS)}])
    ends = engine.map(end_requests, partial(changelog_ends.of_lines, groups), ENDS.arrow_schema)
    buckets = engine.parallelism * _BUCKETS_PER_PART
    bucket = partial(bucket_of, MESSAGES.key, buckets)
    applications = _applications(evidence)
    lines = with_entity(
        engine, STREAMS_LINES, engine.scan(STREAMS_LINES), partial(_bucket_of_client, applications, buckets)
    )
    rows_by_kind = {
        _MESSAGES: [with_entity(engine, MESSAGES, each, bucket) for each in messages],
        _ENDS: [with_entity(engine, ENDS, ends, bucket)],
        _LINES: [lines],
        _TASKS: [with_entity(engine, STREAMS_GROUP_TASKS, tasks, partial(bucket_of, _APPLICATION, buckets))],
    }
    return engine.replay(rows_by_kind, _replay(_holes(evidence), evidence.tolerance_ms), TABLES)


def _replay(
    holes: _Holes, tolerance_ms: int
) -> Callable[[str, Mapping[str, pa.Table]], Iterable[tuple[Table, pa.Table]]]:
    def run(_: str, rows_by_kind: Mapping[str, pa.Table]) -> Iterable[tuple[Table, pa.Table]]:
        parts = rows_by_kind[_MESSAGES], rows_by_kind[_ENDS], rows_by_kind[_LINES]
        yield from replay_application(*parts, holes, tolerance_ms)
        yield STREAMS_GROUP_TASKS, streams_groups.with_members(rows_by_kind[_TASKS])

    return run


def _groups(evidence: Evidence, messages: Sequence[Rows]) -> Mapping[str, Collection[str]]:
    """The applications that have messages, by cluster."""
    groups: defaultdict[str, set[str]] = defaultdict(set)
    for each in messages:
        distinct = evidence.engine.collect(evidence.engine.map(each, _named_groups, _GROUPS))
        for cluster, group_id in tuples(distinct):
            groups[cluster].add(group_id)
    return dict(groups)


def _named_groups(messages: pa.Table) -> pa.Table:
    named = messages.select(_GROUPS.names)
    return named.group_by(_GROUPS.names).aggregate([]).select(_GROUPS.names).cast(_GROUPS)


def _applications(evidence: Evidence) -> Mapping[tuple[str, str], str]:
    """The application of the logs of each client; of several, the first by name."""
    rows = evidence.engine.scan(STREAMS_LINES, _NAMES)
    distinct = evidence.engine.collect(evidence.engine.map(rows, _distinct_names, _NAMED))
    applications: dict[tuple[str, str], str] = {}
    for cluster, client, _, group_id in sorted(set(tuples(distinct)), key=repr):
        if group_id is not None:
            applications.setdefault((cluster, client), group_id)
    return applications


def _distinct_names(rows: pa.Table) -> pa.Table:
    named = rows.filter(pc.is_valid(rows["group_id"])).select(_NAMES)
    return named.group_by(list(_NAMES)).aggregate([]).select(_NAMES).cast(_NAMED)


def _bucket_of_client(applications: Mapping[tuple[str, str], str], buckets: int, rows: pa.Table) -> pa.Array:
    clients = zip(rows["cluster"].to_pylist(), rows["client"].to_pylist(), strict=True)
    group_ids = pa.array([applications.get(client) for client in clients], pa.string())
    keyed = pa.table({"cluster": rows["cluster"], "group_id": group_ids})
    return bucket_of(MESSAGES.key, buckets, keyed)


def _holes(evidence: Evidence) -> _Holes:
    columns = ("cluster", "file", "position")
    rows = evidence.engine.collect(evidence.engine.scan(QUARANTINE, columns, [{"kind": STREAMS_LOG}]))
    holes: defaultdict[str, defaultdict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for cluster, file, position in tuples(rows):
        if position is not None:
            holes[cluster][file].append(position)
    return {cluster: dict(files) for cluster, files in holes.items()}
