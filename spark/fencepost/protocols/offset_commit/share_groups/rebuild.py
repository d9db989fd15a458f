"""Rebuilds ``silver.share_redeliveries``: each share group in one task, with its lines and records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from statistics import median
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.engines import Rows, on_engine
from fencepost.protocols.offset_commit.share_groups import lines as of_lines
from fencepost.protocols.offset_commit.share_groups.causes import SLACK_MS, MemberLines
from fencepost.protocols.offset_commit.share_groups.lines import APIS, LINES, ShareLine, share_lines
from fencepost.protocols.offset_commit.share_groups.share_partition import Redelivery, SharePartition
from fencepost.protocols.offset_commit.share_groups.state_log import (
    ACKNOWLEDGED,
    ARCHIVED,
    AVAILABLE,
    BATCH_COLUMNS,
    RECORD_COLUMNS,
    SharePartitionKey,
    StateLogs,
    StateRecord,
    group_ids,
    state_logs,
    state_records,
)
from fencepost.protocols.offset_commit.tables import SHARE_REDELIVERIES
from fencepost.replay.columns import Columns
from fencepost.replay.correlation_ids import Connection, CorrelationIds, by_counter, sent_of
from fencepost.replay.entities import bucket_of, tuples
from fencepost.replay.evidence import Evidence
from fencepost.replay.keys import SHARE_STATE_TOPIC, digest_of
from fencepost.replay.logs import by_log
from fencepost.replay.metadata import Topics
from fencepost.tables import BATCHES, FILES, QUARANTINE, RECORDS, REQUEST_IDS, REQUESTS, Table

_OF_STATE = [{"topic": SHARE_STATE_TOPIC}]
_CLIENTS = pa.schema([("cluster", pa.string()), ("client_id", pa.string())])
_ENTITY = pa.field("entity", pa.string())
_STORED = {of_lines.ACCEPT: ACKNOWLEDGED, of_lines.RELEASE: AVAILABLE, of_lines.REJECT: ARCHIVED}
"""Acknowledge type -> the delivery state that it leads to (unless there were too many deliveries)."""

Client = tuple[str, str | None, str | None]
"""Cluster, client id and host."""


def share_redeliveries(evidence: Evidence) -> Rows:
    """The rows of SHARE_REDELIVERIES. Nothing is read where nobody has used share groups."""
    engine = evidence.engine
    if not _are_used(evidence):
        return on_engine(engine, SHARE_REDELIVERIES, SHARE_REDELIVERIES.arrow_schema.empty_table())
    requests = engine.scan(REQUESTS, where=[{"api_key": frozenset(APIS)}])
    lines = engine.keep(engine.map(requests, share_lines, LINES))
    clients = engine.collect(engine.map(lines, _clients_of, _CLIENTS)).group_by(_CLIENTS.names).aggregate([])
    numbers = engine.collect(
        engine.map(engine.scan(REQUEST_IDS), partial(_of_clients, clients), REQUEST_IDS.arrow_schema)
    )
    records = engine.scan(RECORDS, RECORD_COLUMNS, _OF_STATE)
    headers = [name for name in RECORD_COLUMNS if name not in ("key", "value")]
    logs = state_logs(
        engine.collect(engine.scan(BATCHES, BATCH_COLUMNS, _OF_STATE)),
        engine.collect(engine.scan(RECORDS, headers, _OF_STATE)),
        engine.collect(engine.scan(QUARANTINE)),
    )
    by_group = partial(bucket_of, ("cluster", "group_id"), engine.parallelism)

    def of_group(rows: pa.Table) -> pa.Table:
        return rows.append_column(_ENTITY, by_group(rows))

    def of_key(rows: pa.Table) -> pa.Table:
        named = rows.append_column("group_id", group_ids(rows))
        return rows.append_column(_ENTITY, by_group(named))

    replayed = engine.replay(
        {
            "lines": [engine.map(lines, of_group, LINES.append(_ENTITY))],
            "records": [engine.map(records, of_key, RECORDS.schema_of(RECORD_COLUMNS).append(_ENTITY))],
        },
        Groups(
            {name: each.topics for name, each in evidence.metadata.items()}, logs, ids_of_clients(numbers)
        ).replay,
        [SHARE_REDELIVERIES],
    )
    return replayed[SHARE_REDELIVERIES.name]


def _are_used(evidence: Evidence) -> bool:
    """Whether some cluster has, or had, the topic in which share coordinators store their state."""
    if any(each.topics.id_at(SHARE_STATE_TOPIC, 0) for each in evidence.metadata.values()):
        return True
    files = evidence.engine.collect(evidence.engine.scan(FILES, ("file",)))["file"]
    return bool(pc.any(pc.match_substring(files, f"/{SHARE_STATE_TOPIC}-")).as_py())


def _clients_of(lines: pa.Table) -> pa.Table:
    return lines.group_by(_CLIENTS.names).aggregate([]).select(_CLIENTS.names).cast(_CLIENTS)


def _of_clients(clients: pa.Table, rows: pa.Table) -> pa.Table:
    return rows.filter(pc.is_in(rows["client_id"], clients["client_id"].combine_chunks()))


def ids_of_clients(numbers: pa.Table) -> dict[Client, Mapping[Connection, CorrelationIds]]:
    """By client and connection, the ids of the counter that numbers its requests, from rows of
    ``bronze.request_ids``.
    """
    return {
        (cluster, *client): by_counter(sent.values())
        for (cluster,), rows in by_log(numbers, "cluster").items()
        for client, sent in sent_of(rows).items()
    }


class Groups:
    """Replays the groups of a bucket. ``topics``: cluster -> its topics; ``ids``: ids_of_clients."""

    def __init__(
        self,
        topics: Mapping[str, Topics],
        logs: StateLogs,
        ids: Mapping[Client, Mapping[Connection, CorrelationIds]],
    ) -> None:
        self._topics, self._logs, self._ids = topics, logs, ids

    def replay(self, _: str, evidence: Mapping[str, pa.Table]) -> Iterable[tuple[Table, pa.Table]]:
        """The rows of all groups in the bucket."""
        rows = Columns(SHARE_REDELIVERIES)
        lines = by_log(evidence["lines"], "cluster")
        records = by_log(evidence["records"], "cluster")
        for cluster, of_cluster in sorted(lines.items()):
            stored = records.get(cluster)
            known = {} if stored is None else state_records(stored, self._logs)
            for key, found in self._of_cluster(cluster[0], of_cluster, known):
                for each in found:
                    self._add(rows, cluster[0], key, each)
        yield SHARE_REDELIVERIES, rows.to_arrow()

    def _of_cluster(
        self, cluster: str, lines: pa.Table, records: Mapping[SharePartitionKey, Sequence[StateRecord]]
    ) -> Iterator[tuple[SharePartitionKey, list[Redelivery]]]:
        acquired: dict[SharePartitionKey, list[ShareLine]] = defaultdict(list)
        given: dict[SharePartitionKey, list[ShareLine]] = defaultdict(list)
        sessions: dict[str, dict[str, list[ShareLine]]] = defaultdict(lambda: defaultdict(list))
        for _, group_id, topic_id, partition, *line in tuples(lines):
            each = ShareLine(*line)
            if each.kind == of_lines.SESSION:
                sessions[group_id][each.member_id].append(each)
            else:
                place = acquired if each.kind == of_lines.ACQUIRED else given
                place[group_id, topic_id, partition].append(each)
        apart = clocks_apart(given, records)
        for key in sorted(acquired):
            acknowledged: dict[str, list[ShareLine]] = defaultdict(list)
            for each in sorted(given[key], key=lambda each: each.requested_ms):
                acknowledged[each.member_id].append(each)
            stored = records.get(key, ())
            holes = sorted({ms for log in {each.log for each in stored} for ms in self._logs.begun[log]})
            undated = {broker for broker, ms in apart[key[0]].items() if ms > SLACK_MS}
            dated = apart[key[0]].keys() - undated
            of_members = MemberLines(acknowledged, sessions[key[0]], self._whole_in(cluster), dated, undated)
            deliveries = sorted(acquired[key], key=_in_order)
            yield key, SharePartition(of_members, holes).replay(deliveries, stored)

    def _whole_in(self, cluster: str) -> Callable[[ShareLine, ShareLine], bool]:
        def is_whole(one: ShareLine, other: ShareLine) -> bool:
            if (one.client_id, one.client_host) != (other.client_id, other.client_host):
                return False
            of_client = self._ids.get((cluster, one.client_id or "", one.client_host or ""), {})
            # a client that was started again counts from 0 again
            ids, of_other = (of_client.get((of.broker_id, of.connection or "")) for of in (one, other))
            if ids is None or ids is not of_other:
                return False
            return ids.is_whole(one.correlation_id, other.correlation_id)

        return is_whole

    def _add(self, rows: Columns, cluster: str, key: SharePartitionKey, each: Redelivery) -> None:
        group_id, topic_id, partition = key
        before, to, record, of = each.before, each.to, each.record, each.ended
        place: Any = to or record
        topics = self._topics.get(cluster)
        rows.add(
            cluster,
            digest_of(cluster, *key, each.first_offset, to.request_id if to else (place.log, place.offset)),
            group_id, topics.name_of(topic_id) if topics else None, topic_id, partition, each.first_offset,
            each.last_offset, "delivered_again" if to else "archived", of.cause, list(of.possible) or None,
            of.told_by, *((before.member_id, before.client_id, before.client_host, before.number,
            before.responded_ms) if before else (None,) * 5), of.locked_until_ms, of.renewals,
            record.timestamp_ms if record and before else None,
            *((to.member_id, to.client_id, to.client_host, to.number, to.broker_id, to.request_id,
            to.responded_ms) if to else (*(None,) * 6, place.timestamp_ms)),
            of.reason, place.file, place.position,
        )  # fmt: skip


def _in_order(line: ShareLine) -> tuple[int, str, int, int]:
    return line.responded_ms, line.file, line.position, line.first_offset


def clocks_apart(
    given: Mapping[SharePartitionKey, Sequence[ShareLine]],
    records: Mapping[SharePartitionKey, Sequence[StateRecord]],
) -> Mapping[str, Mapping[int, float]]:
    """By group and broker, by how many ms lines and the records of what they acknowledged are apart."""
    apart: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for key, lines in given.items():
        stored: dict[tuple[int, int, int], list[int]] = defaultdict(list)
        for record in records.get(key, ()):
            for batch in record.batches:
                stored[batch[:3]].append(record.timestamp_ms)
        told: dict[tuple[int, int, int], list[ShareLine]] = defaultdict(list)
        for line in lines:
            told[line.first_offset, line.last_offset, _STORED.get(line.number, -1)].append(line)
        for place, same in told.items():
            for line, ms in _pairs(same, stored.get(place, ())):
                apart[key[0]][line.broker_id].append(_apart(line, ms))
    found = {group: {broker: median(ms) for broker, ms in of.items()} for group, of in apart.items()}
    return defaultdict(dict, found)


def _pairs(lines: Sequence[ShareLine], times: Sequence[int]) -> Iterator[tuple[ShareLine, int]]:
    """The lines and the times of records that are each other's nearest: who acknowledges what is no longer
    locked for it is answered as if it were, and leaves no record.
    """
    for line in lines:
        nearest = min(times, key=lambda ms: _apart(line, ms), default=None)
        if nearest is not None and min(lines, key=lambda each: _apart(each, nearest)) is line:
            yield line, nearest


def _apart(line: ShareLine, ms: int) -> int:
    return max(line.requested_ms - ms, ms - line.responded_ms, 0)
