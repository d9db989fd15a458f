"""Logs of brokers and of consumers as rows: what they say of the rebalances of classic groups.

They give reasons and times, and a second account of what the group's records and requests tell; no verdict
rests on them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from fencepost.capture.kinds import Kind
from fencepost.capture.plan import Fault, Source
from fencepost.capture.rows import Rows
from fencepost.capture.text import Piece, files, of_table, text_rows
from fencepost.formats.clock import LogClock
from fencepost.formats.lines import Parsed
from fencepost.formats.log_entries import Entry, Message, last_entry, parse_entries
from fencepost.protocols.ownership_claim.bronze import CONSUMER_LINES, COORDINATOR_LINES
from fencepost.settings import Cluster
from fencepost.tables import Table

_MANAGER = "org/apache/kafka/coordinator/group/GroupMetadataManager"
_BEFORE_4 = "kafka/coordinator/group/GroupCoordinator"
_STICKY = "org/apache/kafka/clients/consumer/internals/AbstractStickyAssignor"
_CONSUMER = "org/apache/kafka/clients/consumer/internals/ConsumerCoordinator"
_COORDINATOR = "org/apache/kafka/clients/consumer/internals/AbstractCoordinator"
_LISTENERS = "org/apache/kafka/clients/consumer/internals/ConsumerRebalanceListenerInvoker"

COORDINATOR_MESSAGES = (
    Message(
        "preparing",
        _BEFORE_4,
        "Preparing to rebalance group {} in state {} with old generation {} (__consumer_offsets-{}) "
        "(reason: {})",
        ("group_id", "_", "generation", "_", "reason"),
    ),
    Message(
        "preparing",
        _MANAGER,
        "Preparing to rebalance group {} in state {} with old generation {} (reason: {}).",
        ("group_id", "_", "generation", "reason"),
    ),
    Message(
        "stabilized",
        _BEFORE_4,
        "Stabilized group {} generation {} (__consumer_offsets-{}) with {} members",
        ("group_id", "generation", "_", "members"),
    ),
    Message(
        "stabilized",
        _MANAGER,
        "Stabilized group {} generation {} with {} members.",
        ("group_id", "generation", "members"),
    ),
    Message(
        "assignment_received",
        _MANAGER,
        "Assignment received from leader {} for group {} for generation {}. The group has {} members, {} of "
        "which are static.",
        ("member_id", "group_id", "generation", "members", "_"),
    ),
    Message(
        "emptied",
        _BEFORE_4,
        "Group {} with generation {} is now empty (__consumer_offsets-{})",
        ("group_id", "generation", "_"),
    ),
    Message("emptied", _MANAGER, "Group {} with generation {} is now empty.", ("group_id", "generation")),
    Message(
        "member_failed",
        _MANAGER,
        "Member {} in group {} has failed, removing it from the group.",
        ("member_id", "group_id"),
    ),
    Message(
        "member_failed",
        _BEFORE_4,
        "Member {} in group {} has failed, removing it from the group",
        ("member_id", "group_id"),
    ),
    Message(
        "member_left",
        _MANAGER,
        "[GroupId {}] Dynamic member {} has left group through explicit `LeaveGroup` request; "
        "client reason: {}",
        ("group_id", "member_id", "reason"),
    ),
    Message(
        "member_left",
        _MANAGER,
        "[Group {}] Member {} has left group through explicit `LeaveGroup` request; client reason: {}",
        ("group_id", "member_id", "reason"),
    ),
    Message(
        "member_left",
        _BEFORE_4,
        "[Group {}] Member {} has left group through explicit `LeaveGroup`; client reason: {}",
        ("group_id", "member_id", "reason"),
    ),
)
"""As Kafka 3.9 to 4.3 spells them, in the order in which they are looked for."""

CONSUMER_MESSAGES = (
    Message(
        "different_generations_claimed",
        _STICKY,
        "Consumer {} in generation {} and consumer {} in generation {} claiming the same TopicPartition {} "
        "in different generations. The topic partition {} be assigned to the member with the higher "
        "generation {}.",
        ("member_id", "generation", "other_member_id", "other_generation", "partitions", "_", "_"),
    ),
    Message(
        "same_generation_claimed",
        _STICKY,
        "Found multiple consumers {} and {} claiming the same TopicPartition {} in the same generation {}, "
        "this will be invalidated and removed from their previous assignment.",
        ("member_id", "other_member_id", "partitions", "generation"),
    ),
    Message(
        "owned_reassigned",
        _CONSUMER,
        "With the COOPERATIVE protocol, owned partitions cannot be reassigned to other members; however the "
        "assignor has reassigned partitions {} which are still owned by some members",
        ("partitions",),
    ),
    Message(
        "assignment_made",
        _CONSUMER,
        "Finished assignment for group at generation {}: {}",
        ("generation", "partitions"),
    ),
    Message("join_requested", _COORDINATOR, "Request joining group due to: {}", ("reason",)),
    Message("joining", _COORDINATOR, "(Re-)joining group"),
    Message("generation_reset", _COORDINATOR, "Resetting generation {}due to: {}", ("_", "reason")),
    Message("revoked", _LISTENERS, "Revoke previously assigned partitions {}", ("partitions",)),
    Message("lost", _LISTENERS, "Lost previously assigned partitions {}", ("partitions",)),
    Message("added", _LISTENERS, "Adding newly assigned partitions: {}", ("partitions",)),
)

_OF_CONSUMER = re.compile(
    r"Consumer (?:instanceId=.*?, )?clientId=(?P<client_id>.*?), groupId=(?P<group_id>.*)"
)
_MISSING = "no file matches: correct server_logs in the configuration, or mount them"


def find_server_logs(cluster: Cluster) -> tuple[list[Source], list[Fault]]:
    """Every file of the brokers' ``server_logs``, and the patterns that match none."""
    sources: list[Source] = []
    faults: list[Fault] = []
    for broker in cluster.brokers:
        found, missing = files(broker.server_logs)
        sources += [
            Source(cluster.name, broker.id, "server_log", file, timezone=broker.timezone) for file in found
        ]
        faults += [
            Fault(cluster.name, broker.id, "server_log", pattern, 0, 0, "missing", _MISSING)
            for pattern in missing
        ]
    return sources, faults


def find_consumer_logs(cluster: Cluster) -> tuple[list[Source], list[Fault]]:
    """Every file of the clients' ``logs``; patterns that match none are told where producers' are read."""
    return [
        Source(cluster.name, None, "consumer_log", file, timezone=client.timezone, client=client.name)
        for client in cluster.clients
        for file in files(client.logs)[0]
    ], []


def _rows(table: Table, messages: Sequence[Message], source: Source) -> Rows:
    owner: dict[str, object]
    owner = {"client": source.client} if source.broker_id is None else {"broker_id": source.broker_id}
    origin = {"cluster": source.cluster, "file": source.file, **owner}
    parse = partial(_parse, table, messages)
    yield from text_rows(source, parse, of_table(table, origin), _is_unfinished, last_entry)


def _parse(
    table: Table, messages: Sequence[Message], source: Source, piece: Piece, after_ms: int | None
) -> Parsed:
    ours = {"cluster", "client", "broker_id", "file"}
    schema = pa.schema([field for field in table.arrow_schema if field.name not in ours])
    marks = sorted({message.mark for message in messages})
    clock = LogClock(source.timezone, after_ms)
    data = piece.data if not piece.cut or piece.whole else b""
    return parse_entries(data, piece.position, clock, schema, marks, partial(_take, schema, messages))


def _take(schema: pa.Schema, messages: Sequence[Message], entry: Entry) -> dict[str, Any] | None:
    for message in messages:
        told = message.match(entry.message)
        if told is not None:
            of_consumer = _OF_CONSUMER.fullmatch(told.get("context") or "")
            names: dict[str, str | None] = {**(of_consumer.groupdict() if of_consumer else {}), **told}
            row = {
                field.name: _value(names.get(field.name), field.type)
                for field in schema
                if field.name != "position"
            }
            text = f"{entry.logged_at_ms}|{entry.logger}|{entry.message}"
            return {
                **row,
                "event": message.event,
                "logged_at_ms": entry.logged_at_ms,
                "line_digest": hashlib.sha256(text.encode("utf-8", "replace")).hexdigest(),
            }
    return None


def _value(text: str | None, kind: pa.DataType) -> Any:
    if text is None or kind == pa.string():
        return text
    try:
        number = int(text)
    except ValueError:
        return None
    return number if -(2**31) <= number < 2**31 else None


def _is_unfinished(piece: Piece, parsed: Parsed) -> bool:
    """Never: what waits may be anyone's line."""
    return False


SERVER_LOGS = Kind(
    "server_log",
    partial(_rows, COORDINATOR_LINES, COORDINATOR_MESSAGES),
    (COORDINATOR_LINES,),
    find_server_logs,
)
CONSUMER_LOGS = Kind(
    "consumer_log", partial(_rows, CONSUMER_LINES, CONSUMER_MESSAGES), (CONSUMER_LINES,), find_consumer_logs
)
KINDS = (SERVER_LOGS, CONSUMER_LOGS)
