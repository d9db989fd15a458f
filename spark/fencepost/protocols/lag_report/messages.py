"""The subscriptions and assignments of members of Kafka Streams applications, from records and request lines.

MESSAGES has a row for each subscription in a JoinGroup request, in a JoinGroup response to the leader, and
in a GroupMetadata record; and a row for each assignment in a SyncGroup request or response, or in such a
record.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.formats.decode import decode
from fencepost.formats.large_values import as_written
from fencepost.protocols.lag_report.assignor_data import PROTOCOL
from fencepost.replay.columns import Columns
from fencepost.replay.requests import RequestLine, each_line, host_of, integer, text
from fencepost.tables import Table

JOIN_GROUP, SYNC_GROUP = 11, 14
APIS = (JOIN_GROUP, SYNC_GROUP)
GROUP_METADATA = 2

JOINED, LISTED, STORED, DISTRIBUTED, RECEIVED = "joined", "listed", "stored", "distributed", "received"
"""Column ``kind``: a subscription in a JoinGroup request; one that the JoinGroup response lists for the
leader; both in a GroupMetadata record; an assignment that the leader distributes with SyncGroup; one that
the member receives in the response.
"""

MESSAGES = Table(
    "lag_report_messages",
    "Subscriptions and assignments of members of Kafka Streams applications, one row per message and member.",
    {
        "cluster": "string",
        "group_id": "string",
        "kind": "string",
        "generation": "int",  # null where the join was refused
        "member_id": "string",
        "group_instance_id": "string",
        "client_id": "string",
        "client_host": "string",
        "broker_id": "int",
        "subscription": "binary",
        "assignment": "binary",
        "requested_ms": "bigint",
        "responded_ms": "bigint",
        "request_id": "string",
        "record_offset": "bigint",
        "file": "string",
        "position": "bigint",
    },
    ("cluster", "group_id"),
)
_LEFT_OUT = dict.fromkeys(MESSAGES.columns)


def of_lines(requests: pa.Table) -> pa.Table:
    """Rows of MESSAGES from lines of ``bronze.requests`` of one or more clusters."""
    messages = Columns(MESSAGES)
    for cluster in pc.unique(requests["cluster"]).to_pylist():
        cluster_requests = requests.filter(pc.equal(requests["cluster"], cluster))
        for line in each_line(cluster_requests, APIS):
            try:
                line_rows = list(_joined(line) if line.api_key == JOIN_GROUP else _synced(line))
            except (AttributeError, KeyError, TypeError, ValueError):
                # JSON that no broker wrote has no messages; it must not end the run
                continue
            for row in (each for each in line_rows if each["group_id"] is not None):
                messages.add(*{**_LEFT_OUT, "cluster": cluster, **_place(line), **row}.values())
    return messages.to_arrow()


def of_records(records: pa.Table) -> pa.Table:
    """Rows of MESSAGES from the GroupMetadata records among rows of ``bronze.records``."""
    messages = Columns(MESSAGES)
    is_group_metadata = pc.and_(
        pc.equal(records["record_type"], GROUP_METADATA), pc.equal(records["decode_status"], "known")
    )
    for rows in as_written(records.filter(pc.and_(is_group_metadata, pc.invert(records["is_control"])))):
        for row in _stored(rows):
            messages.add(*{**_LEFT_OUT, **row}.values())
    return messages.to_arrow()


def _stored(rows: pa.Table) -> Iterator[dict[str, Any]]:
    keys = decode("GroupMetadata", "key", rows["key"]).values.field("group").to_pylist()
    values = decode("GroupMetadata", "value", rows["value"]).values
    names = ("cluster", "record_offset", "timestamp_ms", "file", "position")
    for place, group_id, value in zip(
        zip(*(rows[name].to_pylist() for name in names), strict=True), keys, _streams(values), strict=True
    ):
        cluster, offset, ms, file, position = place
        for member in value:
            yield {
                "cluster": cluster,
                "group_id": group_id,
                "kind": STORED,
                **member,
                "requested_ms": ms,
                "responded_ms": ms,
                "record_offset": offset,
                "file": file,
                "position": position,
            }


def _streams(values: pa.StructArray) -> Iterator[list[dict[str, Any]]]:
    """The members that each record lists; none if the group is not of Kafka Streams."""
    is_streams = pc.fill_null(pc.equal(values.field("protocol"), PROTOCOL), False).to_pylist()
    generations = values.field("generation").to_pylist()
    for listed, generation, of_streams in zip(values.field("members"), generations, is_streams, strict=True):
        members = listed.as_py() if of_streams else None
        yield [
            {
                "generation": generation,
                "member_id": each["member_id"],
                "group_instance_id": each["group_instance_id"],
                "client_id": each["client_id"],
                "client_host": each["client_host"].lstrip("/"),
                "subscription": each["subscription"],
                "assignment": each["assignment"],
            }
            for each in members or ()
        ]


def _joined(line: RequestLine) -> Iterator[dict[str, Any]]:
    sent, answer = line.sent, line.answer or {}
    offered = [each["metadata"] for each in sent["protocols"] if each["name"] == PROTOCOL]
    if not offered:
        return
    accepted = answer.get("errorCode") == 0
    generation = integer(answer.get("generationId")) if accepted else None
    member_id = text(answer.get("memberId")) or text(sent["memberId"])
    yield {
        "group_id": text(sent["groupId"]),
        "kind": JOINED,
        "generation": generation,
        "member_id": member_id,
        "group_instance_id": text(sent.get("groupInstanceId")),
        "client_id": line.client_id,
        "client_host": host_of(line.connection),
        "subscription": _bytes(offered[0]),
    }
    if accepted and answer.get("protocolName") == PROTOCOL:
        for member in answer.get("members") or ():
            yield {
                "group_id": text(sent["groupId"]),
                "kind": LISTED,
                "generation": generation,
                "member_id": text(member["memberId"]),
                "group_instance_id": text(member.get("groupInstanceId")),
                "subscription": _bytes(member["metadata"]),
            }


def _synced(line: RequestLine) -> Iterator[dict[str, Any]]:
    sent, answer = line.sent, line.answer or {}
    # version 5 and later name the protocol
    if answer.get("errorCode") != 0 or answer.get("protocolName") not in (None, PROTOCOL):
        return
    columns = {"group_id": text(sent["groupId"]), "generation": integer(sent["generationId"])}
    for each in _each(sent.get("assignments")):
        member_id = text(each["memberId"])
        yield {
            **columns,
            "kind": DISTRIBUTED,
            "member_id": member_id,
            "assignment": _bytes(each["assignment"]),
        }
    yield {
        **columns,
        "kind": RECEIVED,
        "member_id": text(sent["memberId"]),
        "assignment": _bytes(answer["assignment"]),
    }


def _each(listed: Any) -> Iterable[Mapping[str, Any]]:
    return listed or ()


def _place(line: RequestLine) -> dict[str, Any]:
    return {
        "broker_id": line.broker_id,
        "requested_ms": line.requested_ms,
        "responded_ms": line.responded_ms,
        "request_id": line.request_id,
        "file": line.file,
        "position": line.position,
    }


def _bytes(encoded: Any) -> bytes:
    return b64decode(text(encoded) or "", validate=True)
