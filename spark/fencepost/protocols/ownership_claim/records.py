"""Records of classic groups, decoded as far as a rebalance is told by them (GroupMetadataValue)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.formats.decode import decode
from fencepost.protocols.ownership_claim.subscriptions import (
    Subscription,
    Topics,
    read_assignments,
    read_subscriptions,
)
from fencepost.replay.group_coordinator.decoding import group_records
from fencepost.replay.group_coordinator.records import CLASSIC_METADATA, GroupRecord
from fencepost.replay.keys import OFFSETS_TOPIC

CONSUMER = "consumer"
"""ConsumerProtocol.PROTOCOL_TYPE: of other types (connect, sr) nobody claims or is assigned partitions."""

_RECORDS_AT_ONCE = 512
_PLACE = ("record_offset", "base_offset", "last_offset", "leader_epoch", "timestamp_ms")


class MemberOfGeneration(NamedTuple):
    """A member as the record of its generation has it.

    ``subscription`` is None, and ``assigned`` empty, of a group that is no consumers'; ``assigned`` is None
    where it could not be read.
    """

    member_id: str
    instance_id: str | None
    client_id: str | None
    subscription: Subscription | None
    assigned: Topics | None


@dataclass(slots=True, kw_only=True, eq=False)
class GenerationRecord(GroupRecord):
    """The record of a generation of a classic group, or the group's tombstone; ``file``, ``position``: where
    its batch was read.
    """

    protocol_type: str = ""
    protocol: str | None = None
    leader: str | None = None
    members: Sequence[MemberOfGeneration] = ()
    file: str = ""
    position: int = 0


def records_of(rows: pa.Table) -> list[GroupRecord]:
    """What rows of ``bronze.records`` of one coordinator's log say of groups; only classic groups' records
    with their members.
    """
    classic = pc.equal(rows["record_type"], CLASSIC_METADATA)
    found: list[GroupRecord] = group_records(rows.filter(pc.invert(pc.fill_null(classic, False))))
    wanted = pc.and_(
        pc.and_(classic, pc.equal(rows["topic"], OFFSETS_TOPIC)), pc.equal(rows["decode_status"], "known")
    )
    generations = rows.filter(pc.and_(wanted, pc.invert(rows["is_control"])))
    for start in range(0, generations.num_rows, _RECORDS_AT_ONCE):
        found += _generations(generations.slice(start, _RECORDS_AT_ONCE))
    return found


def _generations(rows: pa.Table) -> Iterator[GenerationRecord]:
    (name,) = set(rows["record_name"].to_pylist())
    keys, values = decode(name, "key", rows["key"]), decode(name, "value", rows["value"])
    columns = zip(
        *(rows[column].to_pylist() for column in (*_PLACE, "file", "position")),
        keys.values.field("group").to_pylist(),
        values.values.to_pylist(),
        strict=True,
    )
    each = list(columns)
    members = [
        (member, value["protocol"])
        for *_, value in each
        if value is not None and value["protocol_type"] == CONSUMER
        for member in value["members"]
    ]
    subscriptions = iter(read_subscriptions([p for _, p in members], [m["subscription"] for m, _ in members]))
    assignments = iter(read_assignments([m["assignment"] for m, _ in members]))
    for offset, base, last, epoch, ms, file, position, group_id, value in each:
        place = {"offset": offset, "base_offset": base, "last_offset": last, "leader_epoch": epoch}
        told: dict[str, Any] = {} if value is None else _told(value, subscriptions, assignments)
        yield GenerationRecord(
            **place,
            timestamp_ms=ms,
            type=CLASSIC_METADATA,
            group_id=group_id,
            tombstone=value is None,
            file=file,
            position=position,
            **told,
        )


def _told(
    value: Mapping[str, Any],
    subscriptions: Iterator[Subscription],
    assignments: Iterator[Topics | None],
) -> dict[str, Any]:
    is_consumers = value["protocol_type"] == CONSUMER
    return {
        "epoch": value["generation"],
        # who owns what is told by the other audit of the same records
        "classic_members": (),
        "protocol_type": value["protocol_type"] or "",
        "protocol": value["protocol"],
        "leader": value["leader"],
        "members": [
            MemberOfGeneration(
                member["member_id"],
                member.get("group_instance_id"),
                member["client_id"],
                next(subscriptions) if is_consumers else None,
                next(assignments) if is_consumers else (),
            )
            for member in value["members"]
        ],
    }
