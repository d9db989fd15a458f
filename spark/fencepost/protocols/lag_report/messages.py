"""What members of an application and their coordinator said of lags and tasks, from records and lines.

One row of MESSAGES for each: a member's subscription as it asked to join, as the leader was told of it, or as
the coordinator stored it; and what a member was assigned.
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

JOINED, TOLD, STORED, GIVEN, RECEIVED = "joined", "told", "stored", "given", "received"
"""Column ``kind``: asked to join; told to the leader with all others; stored, with all others; given by the
leader; received by the member."""

MESSAGES = Table(
    "lag_report_messages",
    "What members of Kafka Streams applications said and were told, one row per message and member.",
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
    """Rows of MESSAGES that lines of ``bronze.requests`` tell, of one or more clusters."""
    found = Columns(MESSAGES)
    for cluster in pc.unique(requests["cluster"]).to_pylist():
        own = requests.filter(pc.equal(requests["cluster"], cluster))
        for line in each_line(own, APIS):
            try:
                told = list(_joined(line) if line.api_key == JOIN_GROUP else _synced(line))
            except (AttributeError, KeyError, TypeError, ValueError):
                # it is JSON, but no broker's: it names nothing, and ends no run
                continue
            for row in (each for each in told if each["group_id"] is not None):
                found.add(*{**_LEFT_OUT, "cluster": cluster, **_place(line), **row}.values())
    return found.to_arrow()


def of_records(records: pa.Table) -> pa.Table:
    """Rows of MESSAGES that GroupMetadata records among rows of ``bronze.records`` tell."""
    found = Columns(MESSAGES)
    known = pc.and_(
        pc.equal(records["record_type"], GROUP_METADATA), pc.equal(records["decode_status"], "known")
    )
    for rows in as_written(records.filter(pc.and_(known, pc.invert(records["is_control"])))):
        for row in _stored(rows):
            found.add(*{**_LEFT_OUT, **row}.values())
    return found.to_arrow()


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
    """The members that each record lists; none of a group that is not Kafka Streams'."""
    is_streams = pc.fill_null(pc.equal(values.field("protocol"), PROTOCOL), False).to_pylist()
    generations = values.field("generation").to_pylist()
    for listed, generation, wanted in zip(values.field("members"), generations, is_streams, strict=True):
        members = listed.as_py() if wanted else None
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
                "kind": TOLD,
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
    told = {"group_id": text(sent["groupId"]), "generation": integer(sent["generationId"])}
    for each in _each(sent.get("assignments")):
        member_id = text(each["memberId"])
        yield {**told, "kind": GIVEN, "member_id": member_id, "assignment": _bytes(each["assignment"])}
    yield {
        **told,
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


def _bytes(given: Any) -> bytes:
    return b64decode(text(given) or "", validate=True)
