"""Finds the incarnations of the coordinators' topics in the evidence: the metadata log says when each was
created and deleted, and the captured logs have topic ids.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.capture.plan import SEGMENT
from fencepost.conditions import Condition, Within
from fencepost.replay.coordinator_logs import (
    ALWAYS,
    ONLY,
    CoordinatorLogs,
    CoordinatorTerm,
    Incarnation,
)
from fencepost.replay.entities import tuples
from fencepost.replay.evidence import Evidence
from fencepost.replay.keys import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from fencepost.replay.logs import by_log
from fencepost.replay.metadata import CLOCKS_DIFFER_MS, ClusterMetadata
from fencepost.replay.requests import LINE_COLUMNS, each_line
from fencepost.tables import BATCHES, FILES, REQUESTS

_TOPICS = frozenset({OFFSETS_TOPIC, TRANSACTIONS_TOPIC})
_LOG = ("cluster", "topic", "topic_id", "partition")
_TERM = (*_LOG, "leader_epoch")
TERM_COLUMNS = (*_TERM, "max_timestamp_ms", "last_offset")
FILE_COLUMNS = ("cluster", "broker_id", "file", "topic_id")
"""The columns of ``bronze.batches`` and ``bronze.files`` that are read."""
_TERMS = pa.schema(
    [
        *((name, BATCHES.arrow_schema.field(name).type) for name in _TERM),
        ("first_ms", pa.int64()),
        ("last_ms", pa.int64()),
        ("last_offset", pa.int64()),
    ]
)
_SEGMENT = re.compile(
    r"/(__consumer_offsets|__transaction_state)-(\d+)(\.[0-9a-f]{32}-(?:delete|stray))?/(\d{20})\.log"
)
_DELETE_TOPICS = 20
_OF_COORDINATORS = frozenset({8, 11, 12, 13, 14, 22, 24, 25, 26, 28, 68})
"""OffsetCommit to ConsumerGroupHeartbeat: requests that nobody answers before a broker has registered."""
_MANY = 20
"""So many requests show that a cluster has logged some since it was formatted."""

Captured = Mapping[tuple[str, str, str, int], Mapping[int | None, bool]]
"""(cluster, topic, topic id, partition) -> broker -> whether it has the whole log."""


def coordinator_logs(evidence: Evidence) -> dict[tuple[str, str], CoordinatorLogs]:
    """The incarnations of the coordinators' topics, by cluster and topic: of ``evidence.logs`` and of the
    logs in bronze.
    """
    engine = evidence.engine
    batches = engine.scan(BATCHES, TERM_COLUMNS, [{"topic": _TOPICS}])
    terms = engine.collect(engine.map(batches, terms_of, _TERMS))
    logs = logs_of(terms, evidence.metadata, evidence.tolerance_ms, _formatted_again(evidence))
    if not any(each.is_gone for of in logs.values() for each in of.incarnations):
        return logs
    files = engine.collect(engine.scan(FILES, FILE_COLUMNS, [{"kind": SEGMENT}]))
    requests = engine.collect(engine.scan(REQUESTS, LINE_COLUMNS, [{"api_key": _DELETE_TOPICS}]))
    return with_ends(logs, files, requests)


def _formatted_again(evidence: Evidence) -> frozenset[str]:
    """The clusters whose request logs have requests from before any broker registered, and many from after:
    their brokers' disks were formatted anew in between, and the files of logs stayed. If nearly all requests
    are from before, their times are of another zone.
    """
    begin_ms = {}
    for cluster, each in evidence.metadata.items():
        starts = [start.from_ms for of_broker in each.registrations.values() for start in of_broker]
        if each.from_beginning and starts:
            begin_ms[cluster] = min(starts) - (CLOCKS_DIFFER_MS if len(each.registrations) > 1 else 0)
    before = _requests_of(evidence, {cluster: Within(below=ms) for cluster, ms in begin_ms.items()})
    after = _requests_of(evidence, {cluster: Within(least=begin_ms[cluster]) for cluster in before})
    return frozenset(cluster for cluster, number in after.items() if number >= _MANY)


def _requests_of(evidence: Evidence, logged: Mapping[str, Within]) -> Counter[str]:
    """How many requests to coordinators the clusters have from these times."""
    where: list[Condition] = [
        {"cluster": cluster, "api_key": _OF_COORDINATORS, "logged_at_ms": times}
        for cluster, times in logged.items()
    ]
    if not where:
        return Counter()
    found = evidence.engine.scan(REQUESTS, ("cluster",), where)
    return Counter(evidence.engine.collect(found)["cluster"].to_pylist())


def logs_of(
    terms: pa.Table,
    metadata: Mapping[str, ClusterMetadata],
    tolerance_ms: int,
    formatted_again: Set[str] = frozenset(),
) -> dict[tuple[str, str], CoordinatorLogs]:
    """The incarnations, from ``terms_of`` of several parts of the evidence; without what ``with_ends``
    adds. ``formatted_again``: clusters that were there before their metadata log.
    """
    captured: defaultdict[tuple[str, str], dict[str | None, list[_Term]]] = defaultdict(dict)
    for cluster, topic, topic_id, *term in tuples(_together(terms)):
        captured[cluster, topic].setdefault(topic_id, []).append(_Term(*term))
    names = {(cluster, topic) for cluster, each in metadata.items() for topic in each.coordinators}
    logs = {}
    for cluster, topic in sorted(names | captured.keys()):
        of_cluster = metadata.get(cluster, ClusterMetadata())
        had_another = cluster in formatted_again or not of_cluster.from_beginning
        incarnations = _incarnations(
            topic, captured.get((cluster, topic), {}), of_cluster, had_another=had_another
        )
        logs[cluster, topic] = CoordinatorLogs(incarnations, tolerance_ms)
    return logs


def with_ends(
    logs: Mapping[tuple[str, str], CoordinatorLogs], files: pa.Table, requests: pa.Table
) -> dict[tuple[str, str], CoordinatorLogs]:
    """The incarnations, with how much of the deleted ones was captured, and with the clients that deleted
    them. ``files``: rows of ``bronze.files`` about segments; ``requests``: rows of ``bronze.requests``.
    """
    whole, deletions = _captured_to_the_end(files), _deletions(requests)
    return {
        of: replace(
            each, incarnations=tuple(_with_end(of, one, whole, deletions) for one in each.incarnations)
        )
        for of, each in logs.items()
    }


def _deletions(rows: pa.Table) -> Mapping[tuple[str, str], tuple[str | None, str | None]]:
    """(cluster, topic id) -> the client that deleted a topic, and its connection. If a broker forwarded the
    request, the controller logged it, too, before the client was answered.
    """
    found: dict[tuple[str, str], tuple[str | None, str | None]] = {}
    for (cluster,), of_cluster in sorted(by_log(rows, "cluster").items()):
        for line in each_line(of_cluster, (_DELETE_TOPICS,)):
            topics = (line.answer or {}).get("responses")
            for topic in topics if isinstance(topics, list) else ():
                if isinstance(topic, dict) and topic.get("errorCode") == 0:
                    found[cluster, str(topic.get("topicId"))] = line.client_id, line.connection
    return found


def _with_end(
    of: tuple[str, str],
    one: Incarnation,
    whole: Captured,
    requests: Mapping[tuple[str, str], tuple[str | None, str | None]],
) -> Incarnation:
    """The incarnation with ``whole``: the leader of a log has all that was ever in effect in it; and with the
    client that deleted it.
    """
    cluster, topic = of
    last = {term.partition: term.led_by for term in sorted(one.terms, key=lambda term: term.leader_epoch)}
    known = {
        partition
        for partition, leader in last.items()
        for brokers in [whole.get((cluster, topic, one.topic_id or "", partition), {})]
        if (brokers.get(leader, False) if leader is not None else brokers and all(brokers.values()))
    }
    removed_by, removed_on = requests.get((cluster, one.topic_id or ""), (None, None))
    return replace(one, whole=frozenset(known), removed_by=removed_by, removed_on=removed_on)


def _captured_to_the_end(files: pa.Table) -> Captured:
    """Of each log, by the brokers with a replica, whether its last segment was captured after the deletion:
    Kafka renames the folder, and later removes its segments, the oldest first.
    """
    # first of all, since bronze.files has notes of every run about every partition of the cluster
    files = files.filter(pc.match_substring_regex(files["file"], "|".join(sorted(_TOPICS))))
    newest: defaultdict[tuple[str, str, str, int], dict[int | None, tuple[int, bool]]] = defaultdict(dict)
    for cluster, broker_id, file, topic_id in tuples(files.group_by(list(FILE_COLUMNS)).aggregate([])):
        if name := _SEGMENT.search(file):
            brokers = newest[cluster, name[1], topic_id or "", int(name[2])]
            segment = (int(name[4]), name[3] is not None)
            brokers[broker_id] = max(brokers.get(broker_id, segment), segment)
    return {
        log: {broker_id: deleted for broker_id, (_, deleted) in brokers.items()}
        for log, brokers in newest.items()
    }


@dataclass(frozen=True, slots=True)
class _Term:
    partition: int
    leader_epoch: int
    first_ms: int
    last_ms: int
    last_offset: int


def terms_of(batches: pa.Table) -> pa.Table:
    """The terms of the logs in rows of ``bronze.batches`` (TERM_COLUMNS), and when they began and ended."""
    ms = batches["max_timestamp_ms"]
    columns = [*(batches[name] for name in _TERM), ms, ms, batches["last_offset"]]
    return _together(pa.table(columns, names=_TERMS.names))


def _together(terms: pa.Table) -> pa.Table:
    of_each = [("first_ms", "min"), ("last_ms", "max"), ("last_offset", "max")]
    grouped = terms.group_by(list(_TERM)).aggregate(of_each)
    return grouped.select([*_TERM, *("_".join(each) for each in of_each)]).rename_columns(_TERMS.names)


def _incarnations(
    topic: str,
    captured: Mapping[str | None, list[_Term]],
    metadata: ClusterMetadata,
    *,
    had_another: bool,
) -> tuple[Incarnation, ...]:
    known, elected = metadata.coordinators.get(topic, ()), metadata.elected.get(topic, {})
    found = [
        Incarnation(each.topic_id, 0, each.partitions, each.created, each.removed, is_gone=each.is_gone)
        for each in known
    ]
    ids = {each.topic_id for each in known}
    # a log without a topic id may be of any incarnation
    found += [Incarnation(topic_id) for topic_id in captured if topic_id is not None and topic_id not in ids]
    found = [replace(each, terms=_led(captured.get(each.topic_id, ()), each, elected)) for each in found]
    found.sort(key=lambda each: (_begin(each) or -ALWAYS, each.topic_id))
    if not found:
        return (ONLY,)
    in_order = [
        replace(
            each,
            number=number,
            is_gone=each.is_gone or following is not None,
            ended_ms=each.removed.ms if each.removed else _begin(following),
        )
        for number, (each, following) in enumerate(zip(found, [*found[1:], None], strict=True))
    ]
    first = in_order[0]
    if first.created is not None and had_another:
        # the metadata log begins later than the cluster: there may have been another one before
        return (Incarnation(ended_ms=first.created.ms, is_gone=True), *in_order)
    return tuple(in_order)


def _begin(incarnation: Incarnation | None) -> int | None:
    if incarnation is None:
        return None
    if incarnation.created is not None:
        return incarnation.created.ms
    return min((term.first_ms for term in incarnation.terms), default=None)


def _led(
    terms: Iterable[_Term], incarnation: Incarnation, elected: Mapping[tuple[str, int, int], int]
) -> tuple[CoordinatorTerm, ...]:
    return tuple(
        CoordinatorTerm(
            term.partition,
            term.leader_epoch,
            elected.get((incarnation.topic_id or "", term.partition, term.leader_epoch)),
            term.first_ms,
            term.last_ms,
            term.last_offset,
        )
        for term in terms
    )
