"""Requests of members of classic groups in the brokers' request logs: JoinGroup, and others which show the
generation that a group was in.
"""

from __future__ import annotations

from base64 import b64decode
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from fencepost.protocols.ownership_claim.connect_workers import Worker, worker_of
from fencepost.protocols.ownership_claim.members import CONSUMER
from fencepost.protocols.ownership_claim.repeated_subscriptions import RepeatedSubscriptions
from fencepost.protocols.ownership_claim.subscriptions import SentSubscription
from fencepost.replay.group_coordinator.requests import (
    HEARTBEAT,
    JOIN_GROUP,
    LEAVE_GROUP,
    SYNC_GROUP,
    timeout_of_join,
)
from fencepost.replay.requests import NONE, RequestLine, each_line, error_name, integer, text

APIS = (JOIN_GROUP, HEARTBEAT, LEAVE_GROUP, SYNC_GROUP)

_JOINS_AT_ONCE = 1_000

_IN_GENERATION = frozenset({NONE, "REBALANCE_IN_PROGRESS"})
"""The answers to a heartbeat that only a member of the current generation gets."""


@dataclass(slots=True, eq=False)
class Join:
    """A JoinGroup request. ``subscription``: that of its first assignor, None for other protocol types and
    for a request without one. ``error`` is None if the line has no answer; ``answered_id`` and
    ``generation`` are those of the answer (generation -1 if refused). ``timeout_ms``: the shorter of its
    session timeout and its rebalance timeout; a coordinator keeps the member at least so long. ``worker``:
    what a worker of Kafka Connect says of itself.
    """

    line: RequestLine
    group_id: str
    member_id: str
    instance_id: str | None
    protocol_type: str
    protocols: Sequence[str]
    subscription: SentSubscription | None
    reason: str | None
    error: str | None
    answered_id: str | None
    generation: int
    leader: str | None
    timeout_ms: int | None
    worker: Worker


@dataclass(slots=True, eq=False)
class Sign:
    """A request which shows that a member was in a generation: a heartbeat or a SyncGroup that was not
    refused. A LeaveGroup names no generation (-1): it shows only that the member was one. ``settled``:
    answered NONE, so the group was not about to leave that generation.
    """

    line: RequestLine
    group_id: str
    member_id: str
    generation: int
    settled: bool


@dataclass(slots=True)
class Lines:
    """The lines of request logs about classic groups."""

    joins: list[Join]
    signs: list[Sign]


def read_lines(requests: pa.Table) -> Lines:
    """The lines of APIS among rows of ``bronze.requests``. JSON that no broker wrote is left out."""
    joins: list[Join] = []
    signs: list[Sign] = []
    sent: list[bytes | None] = []
    for line in each_line(requests, APIS):
        try:
            if line.api_key == JOIN_GROUP:
                join = _join(line)
                if join is not None:
                    joins.append(join)
                    sent.append(_first_protocol(line.sent))
            else:
                signs += _leavers(line) if line.api_key == LEAVE_GROUP else _sign(line)
        except (AttributeError, KeyError, TypeError):
            continue
        finally:
            # free memory: the answer to a leader has the subscriptions of all members
            line.sent, line.answer = {}, None
    _read_subscriptions(joins, sent)
    return Lines(joins, signs)


def _join(line: RequestLine) -> Join | None:
    sent, answer = line.sent, line.answer or {}
    group_id = text(sent.get("groupId"))
    if group_id is None:
        return None
    generation = integer(answer.get("generationId"))
    return Join(
        line,
        group_id,
        text(sent.get("memberId")) or "",
        text(sent.get("groupInstanceId")),
        text(sent.get("protocolType")) or "",
        [
            name
            for name in (text(each.get("name")) for each in sent.get("protocols") or ())
            if name is not None
        ],
        None,
        text(sent.get("reason")) or None,
        error_name(integer(answer.get("errorCode"))),
        text(answer.get("memberId")) or None,
        -1 if generation is None else generation,
        text(answer.get("leader")) or None,
        timeout_of_join(sent),
        worker_of(sent),
    )


def _first_protocol(sent: Mapping[str, Any]) -> bytes | None:
    """The first assignor's subscription; b"" if it is not base64, None if there is none."""
    protocols = sent.get("protocols")
    if sent.get("protocolType") != CONSUMER or not protocols:
        return None
    try:
        return b64decode(protocols[0].get("metadata") or "", validate=True)
    except ValueError:
        return b""


def _sign(line: RequestLine) -> Iterable[Sign]:
    error = error_name(integer((line.answer or {}).get("errorCode")))
    group_id, member_id = text(line.sent.get("groupId")), text(line.sent.get("memberId"))
    generation = integer(line.sent.get("generationId"))
    # a SyncGroup that is answered REBALANCE_IN_PROGRESS may be of any earlier generation
    is_member = error in _IN_GENERATION if line.api_key == HEARTBEAT else error == NONE
    if is_member and group_id is not None and member_id and generation is not None:
        yield Sign(line, group_id, member_id, generation, error == NONE)


def _leavers(line: RequestLine) -> Iterable[Sign]:
    answer = line.answer or {}
    group_id = text(line.sent.get("groupId"))
    if group_id is None or error_name(integer(answer.get("errorCode"))) != NONE:
        return
    # before version 3 the request names its only member, and the answer names none
    for member in answer.get("members") or ({**line.sent, "errorCode": 0},):
        member_id = text(member.get("memberId"))
        if member_id and error_name(integer(member.get("errorCode"))) == NONE:
            yield Sign(line, group_id, member_id, -1, False)


def _read_subscriptions(joins: Sequence[Join], sent: Sequence[bytes | None]) -> None:
    repeated = RepeatedSubscriptions()
    by_assignor: dict[str | None, list[tuple[Join, bytes]]] = defaultdict(list)
    for join, data in zip(joins, sent, strict=True):
        if data is not None:
            by_assignor[join.protocols[0] if join.protocols else None].append((join, data))
    for assignor, of_assignor in by_assignor.items():
        for begin in range(0, len(of_assignor), _JOINS_AT_ONCE):
            chunk = of_assignor[begin : begin + _JOINS_AT_ONCE]
            read = repeated.read(assignor, [data for _, data in chunk])
            for (join, _), subscription in zip(chunk, read, strict=True):
                join.subscription = subscription
