"""Requests that removed something of a group or a log, as administrators send them: OffsetDelete,
DeleteGroups, DeleteRecords.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa

from fencepost.protocols.leader_epoch.lines import APIS, DELETE_GROUPS, DELETE_RECORDS, OFFSET_DELETE
from fencepost.protocols.leader_epoch.tables import REMOVAL_REQUESTS
from fencepost.replay.columns import Columns
from fencepost.replay.entities import tuples
from fencepost.replay.requests import RequestLine, each_reading, host_of, integer, text

REMOVAL_APIS = (OFFSET_DELETE, DELETE_GROUPS, DELETE_RECORDS)


class _Removed(NamedTuple):
    """A group's offset of a partition, a whole group, or the records of a partition below an offset."""

    group_id: str | None = None
    topic: str | None = None
    partition: int | None = None
    low_watermark: int | None = None


def removal_requests(requests: pa.Table) -> pa.Table:
    """The rows of REMOVAL_REQUESTS, from rows of ``bronze.requests``."""
    rows = Columns(REMOVAL_REQUESTS)
    names = ("cluster", "broker_id", "connection", "principal")
    columns = zip(*(requests[name].to_pylist() for name in names), strict=True)
    principals = {tuple(connection): principal for *connection, principal in columns}
    for cluster, line, removed in each_reading(requests, REMOVAL_APIS, _removed):
        for each in dict.fromkeys(removed):
            rows.add(
                cluster, line.request_id, line.broker_id, APIS[line.api_key], *each, line.client_id,
                host_of(line.connection), principals[cluster, line.broker_id, line.connection],
                line.requested_ms, line.responded_ms, line.file, line.position,
            )  # fmt: skip
    return rows.to_arrow()


def administered_groups(removals: pa.Table) -> dict[str, set[str]]:
    """By cluster, the groups of which offsets were removed; ``removals``: rows of REMOVAL_REQUESTS."""
    groups: dict[str, set[str]] = {}
    for cluster, group_id in tuples(removals.select(["cluster", "group_id"])):
        if group_id is not None:
            groups.setdefault(cluster, set()).add(group_id)
    return groups


def _removed(line: RequestLine) -> Iterator[_Removed]:
    """What the answer says was removed."""
    answer = line.answer or {}
    if answer.get("errorCode"):
        return
    if line.api_key == DELETE_GROUPS:
        for each in answer.get("results") or ():
            if each["errorCode"] == 0:
                yield _Removed(text(each["groupId"]))
        return
    group_id = text(line.sent["groupId"]) if line.api_key == OFFSET_DELETE else None
    for topic in answer.get("topics") or ():
        for each in topic["partitions"]:
            if each["errorCode"] == 0:
                low_watermark = integer(each.get("lowWatermark"), 64)
                yield _Removed(group_id, text(topic["name"]), integer(each["partitionIndex"]), low_watermark)
