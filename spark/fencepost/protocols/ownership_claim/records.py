"""Records of classic groups, decoded as far as a rebalance is told by them (GroupMetadataValue)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.formats.decode import decode
from fencepost.formats.large_values import as_written
from fencepost.protocols.ownership_claim.said_before import SaidBefore
from fencepost.protocols.ownership_claim.subscriptions import Partition, Subscription, read_assignments
from fencepost.protocols.ownership_claim.tables import NO_GENERATION
from fencepost.replay.group_coordinator.decoding import group_records
from fencepost.replay.group_coordinator.records import CLASSIC_METADATA, GroupRecord
from fencepost.replay.keys import OFFSETS_TOPIC

CONSUMER = "consumer"
"""ConsumerProtocol.PROTOCOL_TYPE: of other types (connect, sr) nobody claims or is assigned partitions."""

_PLACE = ("record_offset", "base_offset", "last_offset", "leader_epoch", "timestamp_ms", "file", "position")


class MemberOfGeneration(NamedTuple):
    """A member as the record of its generation has it.

    ``subscription`` is None, and ``assigned`` empty, of a group that is no consumers'; ``assigned`` is None
    where it could not be read. ``behind``: how many generations the claims are older than the record; None
    of claims without a generation. So a member that goes on as it was is the same in each record.
    """

    member_id: str
    instance_id: str | None
    client_id: str | None
    subscription: Subscription | None
    assigned: frozenset[Partition] | None
    behind: int | None

    def claimed_generation(self, generation: int) -> int:
        """The generation of its claims in the record of this generation."""
        return NO_GENERATION if self.behind is None else generation - self.behind


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
    found: list[GroupRecord] = []
    members = _Members()
    for some in as_written(rows):
        classic = pc.fill_null(pc.equal(some["record_type"], CLASSIC_METADATA), False)
        found += group_records(some.filter(pc.invert(classic)))
        known = pc.and_(pc.equal(some["topic"], OFFSETS_TOPIC), pc.equal(some["decode_status"], "known"))
        wanted = pc.and_(pc.and_(classic, known), pc.invert(some["is_control"]))
        found += _generations(some.filter(wanted), members)
    return found


class _Members:
    """The members that records have, each once: a group goes on with most of them as they were."""

    def __init__(self) -> None:
        self._said = SaidBefore()
        self._assigned: dict[bytes, frozenset[Partition] | None] = {}
        self._seen: dict[tuple[Any, ...], MemberOfGeneration] = {}

    def of(
        self, generation: int, protocol: str | None, columns: Sequence[Sequence[Any]], *, are_consumers: bool
    ) -> list[MemberOfGeneration]:
        """The members of a record. ``columns``: their ids, instance ids, client ids, subscriptions and
        assignments.
        """
        ids, instances, clients, subscriptions, assignments = columns
        if not are_consumers:
            named = zip(ids, instances, clients, strict=True)
            return [MemberOfGeneration(*names, None, frozenset(), None) for names in named]
        said = self._said.read(protocol, subscriptions)
        new = [each for each in dict.fromkeys(assignments) if each not in self._assigned]
        if new:
            self._assigned.update(zip(new, read_assignments(new), strict=True))
        found = []
        seen = self._seen
        for member_id, instance_id, client_id, (subscription, claimed), assignment in zip(
            ids, instances, clients, said, assignments, strict=True
        ):
            behind = None if claimed < 0 else generation - claimed
            # what is in a member that is kept has one address as long as that is
            key = (member_id, instance_id, client_id, id(subscription), assignment, behind)
            member = seen.get(key)
            if member is None:
                assigned = self._assigned[assignment]
                member = seen[key] = MemberOfGeneration(
                    member_id, instance_id, client_id, subscription, assigned, behind
                )
            found.append(member)
        return found


def _generations(rows: pa.Table, members: _Members) -> Iterator[GenerationRecord]:
    if not rows.num_rows:
        return
    (name,) = set(rows["record_name"].to_pylist())
    values = decode(name, "value", rows["value"]).values
    fields = dict(zip((field.name for field in values.type), values.flatten(), strict=True))
    listed = fields["members"]
    each = listed.flatten()
    columns = [
        _repeated(each.field(column))
        for column in ("member_id", "group_instance_id", "client_id", "subscription", "assignment")
    ]
    lengths = pc.fill_null(pc.list_value_length(listed), 0).to_pylist()
    told = zip(
        *(rows[column].to_pylist() for column in _PLACE),
        decode(name, "key", rows["key"]).values.field("group").to_pylist(),
        pc.is_null(values).to_pylist(),
        *(fields[column].to_pylist() for column in ("generation", "protocol_type", "protocol", "leader")),
        lengths,
        strict=True,
    )
    at = 0
    for (
        offset, base, last, epoch, ms, file, position, group_id, tombstone, generation, kind, protocol,
        leader, length,
    ) in told:  # fmt: skip
        own = [column[at : at + length] for column in columns]
        at += length
        yield GenerationRecord(
            offset=offset,
            base_offset=base,
            last_offset=last,
            leader_epoch=epoch,
            timestamp_ms=ms,
            type=CLASSIC_METADATA,
            group_id=group_id,
            tombstone=tombstone,
            epoch=generation,
            # who owns what is told by the other audit of the same records
            classic_members=None if tombstone else (),
            protocol_type=kind or "",
            protocol=protocol,
            leader=leader,
            members=members.of(generation or 0, protocol, own, are_consumers=kind == CONSUMER),
            file=file,
            position=position,
        )


def _repeated(column: pa.Array) -> Sequence[Any]:
    """The values; those that are there again and again are one object each."""
    named = column.dictionary_encode()
    names = named.dictionary.to_pylist()
    return [None if code is None else names[code] for code in named.indices.to_pylist()]
