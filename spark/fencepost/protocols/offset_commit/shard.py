"""The decoded evidence of one coordinator's log: what a replay of groups and commits starts from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from fencepost.protocols.offset_commit.requests import (
    APIS,
    COMMIT_APIS,
    HEARTBEAT_APIS,
    CommitRequest,
    HeartbeatAnswer,
    MemberLine,
    commit_request,
    heartbeat_answer,
    member_lines,
)
from fencepost.replay.group_coordinator.decoding import commit_records, group_records, log_of, markers
from fencepost.replay.group_coordinator.evidence import ShardRows, UnreadLines
from fencepost.replay.group_coordinator.records import GroupRecord, Marker, OffsetCommitRecord
from fencepost.replay.logs import Log
from fencepost.replay.metadata import Topics
from fencepost.replay.requests import each_line


@dataclass(slots=True)
class ShardEvidence:
    """``ShardRows``, decoded: plain objects, in any order. A case written by hand begins here."""

    cluster: str
    partition: int | None
    log: Log
    group_records: Sequence[GroupRecord]
    commit_records: Sequence[OffsetCommitRecord]
    markers: Sequence[Marker]
    requests: Sequence[CommitRequest]
    member_lines: Sequence[MemberLine]
    heartbeats: Sequence[HeartbeatAnswer]
    unread_lines: UnreadLines = field(default_factory=dict)


def decode_shard(rows: ShardRows, topics: Topics) -> ShardEvidence:
    """Decode everything; raises ValueError for a record that was captured as readable and is not."""
    requests, lines, heartbeats = _requests(rows.requests, topics)
    return ShardEvidence(
        rows.cluster,
        rows.partition,
        log_of(rows),
        group_records(rows.records),
        commit_records(rows.records),
        markers(rows.records),
        requests,
        lines,
        heartbeats,
        rows.unread_lines,
    )


def _requests(
    rows: pa.Table, topics: Topics
) -> tuple[list[CommitRequest], list[MemberLine], list[HeartbeatAnswer]]:
    requests: list[CommitRequest] = []
    lines: list[MemberLine] = []
    heartbeats: list[HeartbeatAnswer] = []
    for line in each_line(rows, APIS):
        try:
            if line.api_key in HEARTBEAT_APIS:
                heartbeat = heartbeat_answer(line)
                heartbeats += [] if heartbeat is None else [heartbeat]
                continue
            if line.api_key not in COMMIT_APIS:
                lines += member_lines(line)
                continue
            request = commit_request(line, topics)
        except (AttributeError, KeyError, TypeError):
            # it is JSON, but no broker's: it names nothing, and ends no run
            continue
        if request is not None:
            requests.append(request)
    return requests, lines, heartbeats
