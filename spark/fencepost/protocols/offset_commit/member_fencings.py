"""Requests of members, other than commits, that a coordinator refused: ``silver.member_fencings``.

The request log alone shows who sent the request, which epoch it presented, and with which error the
coordinator refused it. Refused commits are in ``silver.offset_commits``; only those that were refused because
the coordinator's log had been deleted are here as well. LeaveGroup is left out: a member that leaves and was
removed before loses nothing, and administrators send it for others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from fencepost.protocols.offset_commit.forgotten_members import ForgottenMembers
from fencepost.protocols.offset_commit.member_lines import CONSUMER_GROUP_HEARTBEAT, STREAMS_GROUP_HEARTBEAT
from fencepost.protocols.offset_commit.tables import MEMBER_FENCINGS
from fencepost.replay.columns import Columns
from fencepost.replay.group_coordinator.requests import (
    HEARTBEAT,
    JOIN_GROUP,
    OFFSET_COMMIT,
    SYNC_GROUP,
    TXN_OFFSET_COMMIT,
)
from fencepost.replay.requests import RequestLine, each_reading, error_name, integer, text

OFFSET_FETCH, SHARE_GROUP_HEARTBEAT = 9, 76
APIS = {
    OFFSET_FETCH: "OFFSET_FETCH",
    JOIN_GROUP: "JOIN_GROUP",
    HEARTBEAT: "HEARTBEAT",
    SYNC_GROUP: "SYNC_GROUP",
    CONSUMER_GROUP_HEARTBEAT: "CONSUMER_GROUP_HEARTBEAT",
    SHARE_GROUP_HEARTBEAT: "SHARE_GROUP_HEARTBEAT",
    STREAMS_GROUP_HEARTBEAT: "STREAMS_GROUP_HEARTBEAT",
}
"""The requests that a member sends beside commits: api keys and Kafka's names."""
_COMMITS = {OFFSET_COMMIT: "OFFSET_COMMIT", TXN_OFFSET_COMMIT: "TXN_OFFSET_COMMIT"}
_NAMES = APIS | _COMMITS

CAUSES = {
    "ILLEGAL_GENERATION": "generation",
    "FENCED_MEMBER_EPOCH": "member_epoch",
    "STALE_MEMBER_EPOCH": "member_epoch",
    "UNKNOWN_MEMBER_ID": "membership",
    "GROUP_ID_NOT_FOUND": "membership",
    "FENCED_INSTANCE_ID": "instance",
    "UNRELEASED_INSTANCE_ID": "instance",
}
"""The part of the request that the coordinator refused, by the error. REBALANCE_IN_PROGRESS is no refusal
here: it asks a member to join again.
"""


class _Member(NamedTuple):
    group_id: str
    member_id: str
    instance_id: str | None
    epoch: int | None
    error: str | None


LOG_DELETED = "log_deleted"
"""The cause if the coordinator's log, which had the member, was deleted (forgotten_members)."""

_UNKNOWN = frozenset({"UNKNOWN_MEMBER_ID", "GROUP_ID_NOT_FOUND"})


def member_fencings(requests: pa.Table, forgotten: ForgottenMembers) -> pa.Table:
    """Rows of ``silver.member_fencings`` from rows of ``bronze.requests``, of any clusters and brokers.
    ``forgotten``: the members whose coordinator's log was deleted.
    """
    rows = Columns(MEMBER_FENCINGS)
    for cluster, line, members in each_reading(requests, _NAMES, _members):
        for each in members:
            if each.error in CAUSES:
                cause = _cause(cluster, line, each, forgotten)
                if cause == LOG_DELETED or line.api_key in APIS:
                    _add(rows, cluster, line, each, cause)
    return rows.to_arrow()


def _cause(cluster: str, line: RequestLine, member: _Member, forgotten: ForgottenMembers) -> str:
    if member.error in _UNKNOWN and forgotten.has(cluster, member.group_id, member.member_id, line):
        return LOG_DELETED
    return CAUSES[member.error or ""]


def _add(rows: Columns, cluster: str, line: RequestLine, member: _Member, cause: str) -> None:
    rows.add(
        cluster,
        line.request_id,
        line.broker_id,
        _NAMES[line.api_key],
        member.group_id,
        member.member_id,
        member.instance_id,
        line.client_id,
        line.connection,
        member.epoch,
        member.error,
        cause,
        line.requested_ms,
        line.responded_ms,
        line.file,
        line.position,
    )


def _members(line: RequestLine) -> Iterator[_Member]:
    """The member that sent a request, once for each group that it names, with that group's error."""
    sent, answer = line.sent, line.answer or {}
    if line.api_key == OFFSET_FETCH:
        # before version 8 OffsetFetch names one group and no member
        errors = {text(each.get("groupId")): each.get("errorCode") for each in answer.get("groups") or ()}
        for group in sent.get("groups") or ():
            yield _member(group, errors.get(text(group.get("groupId"))))
        return
    code = answer.get("errorCode")
    if line.api_key in _COMMITS:
        # a coordinator that does not know the member refuses all of its partitions
        code = next((each["errorCode"] for topic in answer["topics"] for each in topic["partitions"]), None)
    yield _member(sent, code)


def _member(named: Mapping[str, Any], code: int | None) -> _Member:
    epochs = (named.get(each) for each in ("memberEpoch", "generationIdOrMemberEpoch", "generationId"))
    epoch = next((each for each in epochs if each is not None), None)
    instance_id = named.get("groupInstanceId")
    return _Member(
        text(named["groupId"]),
        text(named.get("memberId")) or "",
        text(named.get("instanceId") if instance_id is None else instance_id),
        integer(epoch),
        error_name(integer(code)),
    )
