"""Who created and deleted topics, added partitions and asked for elections; and what that tells of clocks."""

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
    """The requests of one cluster that created and removed topics, by topic id; ``lines`` of those."""

    created: dict[str, AdminRequest] = field(default_factory=dict)
    removed: dict[str, AdminRequest] = field(default_factory=dict)
    lines: list[tuple[RequestLine, MetadataRecord]] = field(default_factory=list)


ADMIN_APIS = (CREATE_TOPICS, DELETE_TOPICS, CREATE_PARTITIONS, ELECT_LEADERS)
"""The requests of administrators that are read."""
_PREFERRED, _UNCLEAN = 0, 1
_ELECTED = {_PREFERRED: "preferred", _UNCLEAN: "unclean"}
"""What an election of a type (org.apache.kafka.common.ElectionType) is, as ``Election.how``."""


def admin_requests(requests: pa.Table, histories: Mapping[str, ClusterHistory]) -> dict[str, AdminRequests]:
    """By cluster, from rows of ``bronze.requests``. Tells the elections of histories who asked."""
    found = {}
    for cluster, history in histories.items():
        rows = requests.filter(pc.equal(requests["cluster"], cluster))
        principals = dict(
            zip(zip(rows["broker_id"].to_pylist(), rows["connection"].to_pylist(), strict=True),
                rows["principal"].to_pylist(), strict=True)
        )  # fmt: skip
        of = found[cluster] = AdminRequests()
        for line in each_line(rows, ADMIN_APIS):
            asked = AdminRequest(line.request_id, principals[line.broker_id, line.connection], line.client_id)
            if line.api_key in (CREATE_PARTITIONS, ELECT_LEADERS):
                _tell(line, asked, history)
                continue
            created = line.api_key == CREATE_TOPICS
            for topic_id, partitions in _accepted(line):
                life = history.topics.get(topic_id)
                record = None if life is None else life.created if created else life.removed
                if record is None:
                    continue
                (of.created if created else of.removed)[topic_id] = asked
                of.lines.append((line, record))
                for number, partition in life.partitions.items() if life is not None else ():
                    if number < partitions and partition.elections:
                        partition.elections[0].asked = asked
    return found


def _tell(line: RequestLine, asked: AdminRequest, history: ClusterHistory) -> None:
    """Tell the elections that a request asked for, or that gave partitions that it asked for their first
    leader.

    The controller dates them by the clock by which it logs the request.
    """
    for topic, partition in _places(line):
        lives = history.by_name.get(topic, ())
        of = [each for life in lives for each in life.partitions.values()]
        found = [
            election
            for each in of
            if partition in (None, each.id.partition)
            for election in each.elections
            if _is_asked(line, each, election)
            and election.at.ms is not None
            and line.requested_ms <= election.at.ms <= line.responded_ms
            and controller_at(history, election.at.position) == line.broker_id
        ]
        for election in found:
            election.asked = asked


def _is_asked(line: RequestLine, of: PartitionLife, election: Election) -> bool:
    if line.api_key == CREATE_PARTITIONS:
        return election.how == "created" and election is of.elections[0]
    return election.how == _ELECTED.get(line.sent.get("electionType", _PREFERRED))


def _places(line: RequestLine) -> Iterator[tuple[str, int | None]]:
    """The topics, and of elections the partitions, for which a request was granted."""
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


def _accepted(line: RequestLine) -> Iterator[tuple[str, int]]:
    """The ids of topics that a request created or deleted, and with how many partitions it created them."""
    answer = line.answer or {}
    said = answer.get("topics") if line.api_key == CREATE_TOPICS else answer.get("responses")
    for topic in said if isinstance(said, list) else ():
        if isinstance(topic, dict) and topic.get("errorCode") == 0 and isinstance(topic.get("topicId"), str):
            count = topic.get("numPartitions")
            yield topic["topicId"], count if isinstance(count, int) else 0


DATED_BY = ("cluster", "topic_id", "partition", "leader_epoch", "base_offset", "max_timestamp_ms")
"""The columns of batches that tell when a leader wrote."""


def orders(history: ClusterHistory, by: AdminRequests, offsets: pa.Table) -> Iterator[Order]:
    """What was before what, by different clocks: requests and the records that they wrote, leaders of
    ``__consumer_offsets`` and their elections, and each other. ``offsets``: rows of ``bronze.batches``
    (DATED_BY).
    """
    for line, record in by.lines:
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
            mine = epochs == (-1 if election.leader_epoch is None else election.leader_epoch)
            if not mine.any() or election.at.ms is None:
                continue
            first = int(times[mine].min())
            yield Order(controller_at(history, election.at.position), election.at.ms, election.leader, first)
            if deposed is not None:
                # what a deposed leader wrote behind its successor's first batch may be later
                older = (epochs == deposed.leader_epoch) & (offsets_of < offsets_of[mine].min())
                if older.any():
                    yield Order(deposed.leader, int(times[older].max()), election.leader, first)
            deposed = election


_TOPICS = (OFFSETS_TOPIC,)
