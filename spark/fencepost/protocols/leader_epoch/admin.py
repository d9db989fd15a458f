"""The requests that created or deleted topics, added partitions or triggered elections; and how these
requests bound the clocks of brokers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.leader_epoch.clocks import Order, controller_at
from fencepost.protocols.leader_epoch.cluster import ClusterHistory, PartitionLife
from fencepost.protocols.leader_epoch.elections import AdminRequest, Election
from fencepost.protocols.leader_epoch.lines import (
    CREATE_PARTITIONS,
    CREATE_TOPICS,
    DELETE_TOPICS,
    ELECT_LEADERS,
)
from fencepost.replay.keys import OFFSETS_TOPIC
from fencepost.replay.logs import by_log, longs
from fencepost.replay.metadata_records import MetadataRecord
from fencepost.replay.requests import RequestLine, each_line


@dataclass(slots=True)
class AdminRequests:
    """The requests of one cluster that created and removed topics, by topic id.

    ``lines``: the line of each such request, with the record of the metadata log that the request wrote.
    """

    created: dict[str, AdminRequest] = field(default_factory=dict)
    removed: dict[str, AdminRequest] = field(default_factory=dict)
    lines: list[tuple[RequestLine, MetadataRecord]] = field(default_factory=list)


ADMIN_APIS = (CREATE_TOPICS, DELETE_TOPICS, CREATE_PARTITIONS, ELECT_LEADERS)
"""The requests of administrators that are read."""
_PREFERRED, _UNCLEAN = 0, 1
_ELECTED = {_PREFERRED: "preferred", _UNCLEAN: "unclean"}
"""``Election.how`` by the type of an election (org.apache.kafka.common.ElectionType)."""


def admin_requests(requests: pa.Table, histories: Mapping[str, ClusterHistory]) -> dict[str, AdminRequests]:
    """The requests of each cluster, from rows of ``bronze.requests``.

    Sets ``Election.request`` of each election in ``histories`` that such a request caused.
    """
    by_cluster = {}
    for cluster, history in histories.items():
        rows = requests.filter(pc.equal(requests["cluster"], cluster))
        principals = dict(
            zip(zip(rows["broker_id"].to_pylist(), rows["connection"].to_pylist(), strict=True),
                rows["principal"].to_pylist(), strict=True)
        )  # fmt: skip
        admin = by_cluster[cluster] = AdminRequests()
        for line in each_line(rows, ADMIN_APIS):
            request = AdminRequest(
                line.request_id, principals[line.broker_id, line.connection], line.client_id
            )
            if line.api_key in (CREATE_PARTITIONS, ELECT_LEADERS):
                _set_requests(line, request, history)
                continue
            created = line.api_key == CREATE_TOPICS
            for topic_id, partitions in _changed_topics(line):
                life = history.topics.get(topic_id)
                record = None if life is None else life.created if created else life.removed
                if record is None:
                    continue
                (admin.created if created else admin.removed)[topic_id] = request
                admin.lines.append((line, record))
                for number, partition in life.partitions.items() if life is not None else ():
                    if number < partitions and partition.elections:
                        partition.elections[0].request = request
    return by_cluster


def _set_requests(line: RequestLine, request: AdminRequest, history: ClusterHistory) -> None:
    """Set ``Election.request`` of the elections that a request triggered, or that gave the partitions that it
    created their first leader.

    The controller that logs the request also dates the elections, by the same clock.
    """
    for topic, partition in _granted(line):
        lives = history.by_name.get(topic, ())
        partitions = [each for life in lives for each in life.partitions.values()]
        caused = [
            election
            for each in partitions
            if partition in (None, each.id.partition)
            for election in each.elections
            if _is_caused_by(line, each, election)
            and election.at.ms is not None
            and line.requested_ms <= election.at.ms <= line.responded_ms
            and controller_at(history, election.at.position) == line.broker_id
        ]
        for election in caused:
            election.request = request


def _is_caused_by(line: RequestLine, partition: PartitionLife, election: Election) -> bool:
    if line.api_key == CREATE_PARTITIONS:
        return election.how == "created" and election is partition.elections[0]
    return election.how == _ELECTED.get(line.sent.get("electionType", _PREFERRED))


def _granted(line: RequestLine) -> Iterator[tuple[str, int | None]]:
    """Topic and partition of each success in the answer; no partition for topics that got more partitions."""
    answer = line.answer or {}
    try:
        if line.api_key == CREATE_PARTITIONS:
            for each in answer.get("results") or ():
                if each["errorCode"] == 0 and not line.sent.get("validateOnly"):
                    yield each["name"], None
            return
        for each in answer.get("replicaElectionResults") or ():
            for result in each["partitionResult"]:
                if result["errorCode"] == 0:
                    yield each["topic"], result["partitionId"]
    except (AttributeError, KeyError, TypeError):
        # no broker writes such JSON
        return


def _changed_topics(line: RequestLine) -> Iterator[tuple[str, int]]:
    """The id of each topic that a request created or deleted, and its number of partitions if created, else
    0.
    """
    answer = line.answer or {}
    topics = answer.get("topics") if line.api_key == CREATE_TOPICS else answer.get("responses")
    for topic in topics if isinstance(topics, list) else ():
        if isinstance(topic, dict) and topic.get("errorCode") == 0 and isinstance(topic.get("topicId"), str):
            count = topic.get("numPartitions")
            yield topic["topicId"], count if isinstance(count, int) else 0


DATED_BY = ("cluster", "topic_id", "partition", "leader_epoch", "base_offset", "max_timestamp_ms")
"""The columns of batches from which ``orders`` takes when a leader wrote."""


def orders(history: ClusterHistory, admin: AdminRequests, offsets: pa.Table) -> Iterator[Order]:
    """Pairs of events whose order is certain, dated by different clocks.

    A request comes before the record that it wrote, and the record before the answer; a controller writes
    before the next one does; a leader of ``__consumer_offsets`` is elected before it writes, and a deposed
    leader writes before its successor. ``offsets``: rows of ``bronze.batches`` (DATED_BY).
    """
    for line, record in admin.lines:
        controller = controller_at(history, record.offset)
        yield Order(line.broker_id, line.requested_ms, controller, record.timestamp_ms)
        yield Order(controller, record.timestamp_ms, line.broker_id, line.responded_ms)
    for before, term in pairwise(history.log.terms):
        last = [point.ms for point in history.commits if before.position <= point.position < term.position]
        if last and last[-1] is not None:
            yield Order(
                controller_at(history, before.position), last[-1], controller_at(history, term.position),
                term.ms,
            )  # fmt: skip
    logs = by_log(offsets, "topic_id", "partition")
    for life, partition in history.partitions():
        rows = logs.get((partition.id.topic_id, partition.id.partition)) if life.topic in _TOPICS else None
        if rows is None:
            continue
        epochs, times = longs(rows["leader_epoch"]), longs(rows["max_timestamp_ms"])
        offsets_of = longs(rows["base_offset"])
        deposed: Election | None = None
        for election in partition.elections:
            is_own = epochs == (-1 if election.leader_epoch is None else election.leader_epoch)
            if not is_own.any() or election.at.ms is None:
                continue
            first = int(times[is_own].min())
            yield Order(controller_at(history, election.at.position), election.at.ms, election.leader, first)
            if deposed is not None:
                # what a deposed leader wrote behind its successor's first batch may be later
                older = (epochs == deposed.leader_epoch) & (offsets_of < offsets_of[is_own].min())
                if older.any():
                    yield Order(deposed.leader, int(times[older].max()), election.leader, first)
            deposed = election


_TOPICS = (OFFSETS_TOPIC,)
