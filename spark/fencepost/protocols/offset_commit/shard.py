"""The decoded evidence of one coordinator's log: the input of the replay of groups and commits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.offset_commit.commit_lines import commit_lines
from fencepost.protocols.offset_commit.commit_records import CommitRecords
from fencepost.protocols.offset_commit.member_lines import (
    HEARTBEAT_APIS,
    HeartbeatAnswer,
    MemberLine,
    heartbeat_answer,
    member_lines,
)
from fencepost.protocols.offset_commit.request_columns import Requests
from fencepost.protocols.offset_commit.requests import COMMIT_APIS
from fencepost.replay.coordinator_logs import ONLY, Incarnation
from fencepost.replay.garbage_collection import give_back
from fencepost.replay.group_coordinator.contradictions import Member, consistent
from fencepost.replay.group_coordinator.decoding import commit_records, group_records, log_of, markers
from fencepost.replay.group_coordinator.evidence import ShardRows
from fencepost.replay.group_coordinator.needed_records import select_needed_records
from fencepost.replay.group_coordinator.records import GroupRecord, Marker
from fencepost.replay.group_coordinator.requests import CLASSIC_APIS
from fencepost.replay.line_times import LineTimesOfCluster
from fencepost.replay.log_ends import NO_END, LogEnd
from fencepost.replay.logs import Log, Longs
from fencepost.replay.metadata import Topics
from fencepost.replay.requests import each_line
from fencepost.replay.unread_lines import UnreadLines

MEMBER_APIS = (*CLASSIC_APIS, *HEARTBEAT_APIS)
APIS = (*COMMIT_APIS, *MEMBER_APIS)
"""The api keys of the requests that are read."""


@dataclass(slots=True)
class ShardEvidence:
    """``ShardRows``, decoded: requests, rows of COMMIT_RECORDS and objects, in any order. Handwritten test
    cases are made of this.
    """

    cluster: str
    partition: int | None
    log: Log
    group_records: Sequence[GroupRecord]
    commit_records: pa.Table
    markers: Sequence[Marker]
    requests: Requests
    member_lines: Sequence[MemberLine]
    heartbeats: Sequence[HeartbeatAnswer]
    unread_lines: UnreadLines = field(default_factory=dict)
    line_times: LineTimesOfCluster = field(default_factory=LineTimesOfCluster)
    incarnation: Incarnation = ONLY
    moved: frozenset[str] = frozenset()
    end: LogEnd = NO_END


@dataclass(slots=True)
class GroupEvidence:
    """The evidence about one group. ``requests`` and ``commit_records`` have numbers of rows."""

    records: list[GroupRecord] = field(default_factory=list)
    commit_records: Longs = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    requests: Longs = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    member_lines: list[MemberLine] = field(default_factory=list)
    heartbeats: list[HeartbeatAnswer] = field(default_factory=list)


def decode_shard(rows: ShardRows, topics: Topics) -> ShardEvidence:
    """Decode everything. Raises ValueError for a record that was captured as readable and is not.

    ``rows`` has no requests afterwards: they are most of a large group's evidence, so they are freed at once.
    """
    lines: list[MemberLine] = []
    heartbeats: list[HeartbeatAnswer] = []
    log = log_of(rows)
    read_members(rows.requests, lines, heartbeats, with_assignments=log.base is not None)
    requests = Requests(commit_lines(rows.requests, topics))
    rows.requests = rows.requests.schema.empty_table()
    give_back()
    return ShardEvidence(
        rows.cluster,
        rows.partition,
        log,
        group_records(select_needed_records(rows.records, log, rows.cut, requests.texts("member_id").names)),
        commit_records(rows.records),
        markers(rows.records),
        requests,
        lines,
        heartbeats,
        rows.unread_lines,
        rows.line_times.of(rows.cluster),
        rows.incarnation,
        rows.moved,
        rows.end,
    )


def with_consistent_log(evidence: ShardEvidence) -> ShardEvidence:
    """The evidence, whose log has no compacted beginning if that contradicts what follows."""
    base, records = evidence.log.base, evidence.group_records
    if base is None or base.ms is None or consistent(evidence.log, records) is evidence.log:
        return evidence
    return replace(evidence, log=consistent(evidence.log, records, set(_heard_after(base.ms, evidence))))


def _heard_after(ms: int, evidence: ShardEvidence) -> Iterator[Member]:
    """The members of whom the coordinator was told after a time."""
    for answer in evidence.heartbeats:
        if answer.requested_ms > ms and answer.member_epoch is not None:
            yield answer.group_id, answer.member_id
    for line in evidence.member_lines:
        if line.requested_ms > ms and line.fine:
            yield line.group_id, line.member_id
    requests = evidence.requests
    later = np.flatnonzero(requests["requested_ms"][requests.request] > ms)
    accepted = later[np.asarray(pc.fill_null(requests.accepted(later), False))]
    for request in requests.each_alone(np.unique(requests.request[accepted])):
        yield request.group_id, request.member_id


def read_members(
    rows: pa.Table, lines: list[MemberLine], heartbeats: list[HeartbeatAnswer], *, with_assignments: bool
) -> None:
    """Add the answers to members to ``lines`` and ``heartbeats``. ``with_assignments``: as in member_lines,
    for a log of which compaction has removed records.
    """
    for line in each_line(rows, MEMBER_APIS):
        try:
            if line.api_key in HEARTBEAT_APIS:
                heartbeat = heartbeat_answer(line)
                heartbeats += [] if heartbeat is None else [heartbeat]
            else:
                lines += member_lines(line, with_assignments=with_assignments)
        except (AttributeError, KeyError, TypeError):
            # the line is JSON, but not a broker's: it must not end the run
            continue


def by_group(
    records: Iterable[GroupRecord],
    commit_records: CommitRecords,
    requests: Requests,
    member_lines: Iterable[MemberLine],
    heartbeats: Iterable[HeartbeatAnswer],
) -> dict[str, GroupEvidence]:
    """The evidence of each group, by its id; records and requests in order."""
    groups: defaultdict[str, GroupEvidence] = defaultdict(GroupEvidence)
    for record in records:
        groups[record.group_id].records.append(record)
    for group_id, numbers in commit_records.by_group().items():
        groups[group_id].commit_records = numbers
    for group_id, numbers in requests.by_group().items():
        groups[group_id].requests = numbers
    for line in member_lines:
        groups[line.group_id].member_lines.append(line)
    for answer in heartbeats:
        groups[answer.group_id].heartbeats.append(answer)
    return dict(groups)
