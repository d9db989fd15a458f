"""The tasks of members of streams groups (KIP-1071), as their coordinator stored them, record by record.

In these groups the broker assigns tasks, and says which standby tasks are warm-up tasks. Up to 4.3 members
report no lags; from 4.4 on they do in heartbeats, which are not read for that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.formats.decode import decode
from fencepost.formats.large_values import as_written
from fencepost.protocols.lag_report.lag_reports import instance_of
from fencepost.protocols.lag_report.tables import STREAMS_GROUP_TASKS
from fencepost.protocols.lag_report.tasks import task_columns
from fencepost.replay.columns import Columns
from fencepost.replay.keys import digest_of

MEMBER, TASKS = 19, 22
RECORD_TYPES = {MEMBER: "StreamsGroupMemberMetadata", TASKS: "StreamsGroupCurrentMemberAssignment"}
_KINDS = {
    "active": ("active_tasks", "active_tasks_pending_revocation"),
    "standby": ("standby_tasks", "standby_tasks_pending_revocation"),
    "warmup": ("warmup_tasks", "warmup_tasks_pending_revocation"),
}
_OF_MEMBER = ("instance", "process_id", "client_id", "client_host", "group_instance_id")
_PLACE = ("cluster", "topic_id", "partition", "record_offset", "timestamp_ms", "file", "position")


def of_records(later_logs: Collection[tuple[str, str | None]], records: pa.Table) -> pa.Table:
    """Rows of STREAMS_GROUP_TASKS from rows of ``bronze.records``. Rows without a kind have only the member's
    columns, which :func:`with_members` puts into the other rows.

    ``later_logs``: (cluster, topic id) of ``__consumer_offsets`` where it was deleted and created again.
    """
    tasks = Columns(STREAMS_GROUP_TASKS)
    is_known = pc.and_(pc.equal(records["decode_status"], "known"), pc.invert(records["is_control"]))
    for record_type, name in RECORD_TYPES.items():
        for rows in as_written(
            records.filter(pc.and_(is_known, pc.equal(records["record_type"], record_type)))
        ):
            keys = decode(name, "key", rows["key"]).values.to_pylist()
            values = decode(name, "value", rows["value"]).values.to_pylist()
            places = zip(*(rows[column].to_pylist() for column in _PLACE), strict=True)
            for key, value, place in zip(keys, values, places, strict=True):
                if key is None or value is None:
                    continue  # a tombstone: the member has left the group
                rows_of_value = _member(value) if record_type == MEMBER else _tasks(value)
                log = place[:2] if place[:2] in later_logs else (None, None)
                for row in rows_of_value:
                    tasks.add(*_row(dict(zip(_PLACE, place, strict=True)), key, row, log[1]))
    return tasks.to_arrow()


def with_members(rows: pa.Table) -> pa.Table:
    """The rows of tasks, each with the columns of the member's newest record before it."""
    tasks = Columns(STREAMS_GROUP_TASKS)
    members: dict[tuple[Any, ...], Mapping[str, Any]] = {}
    order = [(name, "ascending") for name in ("cluster", "application_id", "record_offset", "group_task_id")]
    for row in rows.sort_by(order).to_pylist():
        key = row["cluster"], row["application_id"], row["member_id"]
        if row["kind"] is None:
            members[key] = row
            continue
        member = members.get(key, {})
        of_member = {name: member.get(name) for name in _OF_MEMBER}
        at = row["recorded_at"]
        complete_row = {
            **row,
            **of_member,
            "recorded_at": None if at is None else round(at.timestamp() * 1000),
        }
        tasks.add(*(complete_row[name] for name in STREAMS_GROUP_TASKS.columns))
    return tasks.to_arrow()


def _member(value: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield {
        "instance": instance_of(value["client_id"]),
        "process_id": value["process_id"],
        "client_id": value["client_id"],
        "client_host": (value["client_host"] or "").lstrip("/"),
        "group_instance_id": value["instance_id"],
    }


def _tasks(value: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for kind, names in _KINDS.items():
        for name, pending in zip(names, (False, True), strict=True):
            for each in value[name] or ():
                for partition in each["partitions"] or ():
                    yield {
                        **task_columns(f"{each['subtopology_id']}_{partition}"),
                        "kind": kind,
                        "is_pending_revocation": pending,
                        "member_epoch": value["member_epoch"],
                    }


def _row(
    place: Mapping[str, Any], key: Mapping[str, Any], columns: Mapping[str, Any], topic_id: str | None
) -> tuple[Any, ...]:
    """A row; ``topic_id``: what its id has besides the offset (Incarnation.named_in_ids)."""
    cluster, group_id, member_id = place["cluster"], key["group_id"], key["member_id"]
    what = columns.get("kind"), columns.get("is_pending_revocation"), columns.get("task_id")
    coordinator = place["partition"]
    row = {
        **columns,
        "cluster": cluster,
        "application_id": group_id,
        "member_id": member_id,
        "group_task_id": digest_of(
            cluster, coordinator, place["record_offset"], group_id, member_id, *what, topic_id
        ),
        "recorded_at": place["timestamp_ms"],
        "record_offset": place["record_offset"],
        "file": place["file"],
        "position": place["position"],
    }
    return tuple(row.get(name) for name in STREAMS_GROUP_TASKS.columns)
