"""Requests by which members leave, or are removed by an administrator: ``silver.member_departures``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.offset_commit.member_fencings import SHARE_GROUP_HEARTBEAT
from fencepost.protocols.offset_commit.member_lines import CONSUMER_GROUP_HEARTBEAT, STREAMS_GROUP_HEARTBEAT
from fencepost.protocols.offset_commit.tables import MEMBER_DEPARTURES
from fencepost.replay.columns import Columns
from fencepost.replay.group_coordinator.requests import LEAVE_GROUP
from fencepost.replay.requests import RequestLine, each_reading, host_of, text

APIS = {
    LEAVE_GROUP: "LEAVE_GROUP",
    CONSUMER_GROUP_HEARTBEAT: "CONSUMER_GROUP_HEARTBEAT",
    SHARE_GROUP_HEARTBEAT: "SHARE_GROUP_HEARTBEAT",
    STREAMS_GROUP_HEARTBEAT: "STREAMS_GROUP_HEARTBEAT",
}
_LEAVES = {-1: "left", -2: "away"}
"""ConsumerGroupHeartbeatRequest.LEAVE_GROUP_MEMBER_EPOCH and LEAVE_GROUP_STATIC_MEMBER_EPOCH."""
_LEAVING = '"memberEpoch":-'
"""Quotes in names are escaped, so no name can pass for it."""


class _Leaver(NamedTuple):
    kind: str
    group_id: str | None
    member_id: str | None
    instance_id: str | None
    reason: str | None


def departures(requests: pa.Table) -> pa.Table:
    """Rows of ``silver.member_departures`` from rows of ``bronze.requests``, of any clusters and brokers."""
    is_leave = pc.equal(requests["api_key"], LEAVE_GROUP)
    is_heartbeat = pc.is_in(requests["api_key"], pa.array(sorted(APIS), pa.int32()))
    # most heartbeats say nothing here: only the text of the others is parsed
    leaves = pc.and_(is_heartbeat, pc.match_substring(requests["request"], _LEAVING))
    rows = Columns(MEMBER_DEPARTURES)
    for cluster, line, leavers in each_reading(requests.filter(pc.or_(is_leave, leaves)), APIS, _leavers):
        for each in dict.fromkeys(leavers):
            rows.add(
                cluster, line.request_id, line.broker_id, APIS[line.api_key], each.kind, each.group_id,
                each.member_id, each.instance_id, each.reason, line.client_id, host_of(line.connection),
                line.requested_ms, line.responded_ms, line.file, line.position,
            )  # fmt: skip
    return rows.to_arrow()


def _leavers(line: RequestLine) -> Iterator[_Leaver]:
    """The members that left by a request, by its answer."""
    sent, answer = line.sent, line.answer
    if answer is None or answer["errorCode"] != 0:
        return
    group_id = text(sent["groupId"])
    if line.api_key != LEAVE_GROUP:
        kind = _LEAVES.get(sent["memberEpoch"])
        if kind is not None:
            yield _Leaver(kind, group_id, text(sent["memberId"]), text(sent.get("instanceId")), None)
        return
    if "members" not in sent:
        # before version 3 a request has one member, and the answer no more than an error
        yield _Leaver("leave_group", group_id, text(sent["memberId"]), None, None)
        return
    for asked, told in zip(sent["members"], answer["members"], strict=False):
        if told["errorCode"] == 0:
            named = (asked["memberId"] or None, asked.get("groupInstanceId"), asked.get("reason"))
            yield _Leaver("leave_group", group_id, *map(text, named))
