"""The members in records of classic groups, decoded as far as the audit of rebalances needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.ownership_claim.repeated_subscriptions import Longs, RepeatedSubscriptions
from fencepost.protocols.ownership_claim.subscriptions import Partition, Subscription, read_assignments
from fencepost.protocols.ownership_claim.tables import NO_GENERATION

CONSUMER = "consumer"
"""ConsumerProtocol.PROTOCOL_TYPE. Members of other types (connect, sr) neither claim nor are assigned
partitions.
"""

_NAMES = ("member_id", "group_instance_id", "client_id")
_OTHER_TYPE = -1
"""Stands for the code of a subscription of a member of another protocol type."""


class MemberOfGeneration(NamedTuple):
    """A member as it is in the record of a generation.

    In a group of another type than consumer ``subscription`` is None and ``assigned`` empty; ``assigned`` is
    also None if it could not be read. ``behind``: by how many generations its claims are older than the
    record, None for claims without a generation. So a member that does not change is equal in consecutive
    records.
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


class MembersOfRecords:
    """Decodes the members of records; equal members are one object, since most do not change from record to
    record.

    Equal rows are found in columns, for many records at once, and each is decoded once.
    """

    def __init__(self) -> None:
        self._subscriptions_read = RepeatedSubscriptions()
        self._assigned: dict[bytes, frozenset[Partition] | None] = {}
        self._members: dict[tuple[Any, ...], MemberOfGeneration] = {}

    def of(self, fields: Mapping[str, pa.Array]) -> list[list[MemberOfGeneration]]:
        """The members of each record. ``fields``: columns of GroupMetadataValue."""
        listed = fields["members"]
        each = listed.flatten()
        lengths = pc.fill_null(pc.list_value_length(listed), 0).to_numpy()
        generations = np.repeat(pc.fill_null(fields["generation"], 0).to_numpy().astype(np.int64), lengths)
        subscriptions, codes_of_subscriptions, claimed = self._subscriptions(
            fields, each.field("subscription")
        )
        columns = [each.field(name).dictionary_encode() for name in (*_NAMES, "assignment")]
        values = [column.dictionary.to_pylist() for column in columns]
        codes = [pc.fill_null(column.indices, -1).to_numpy().astype(np.int64) for column in columns]
        behind = np.where(claimed == NO_GENERATION, np.iinfo(np.int64).min, generations - claimed)
        first, alike = _alike([*codes, codes_of_subscriptions, behind])
        self._read([data for data in values[-1] if data not in self._assigned])
        members = np.empty(len(first), dtype=object)
        for number, at in enumerate(first.tolist()):
            values_of_member = [
                None if code[at] < 0 else value[code[at]] for code, value in zip(codes, values, strict=True)
            ]
            subscription = (
                None
                if codes_of_subscriptions[at] == _OTHER_TYPE
                else subscriptions[codes_of_subscriptions[at]]
            )
            behind_record = None if claimed[at] == NO_GENERATION else int(behind[at])
            members[number] = self._member(values_of_member, subscription, behind_record)
        in_order = members[alike].tolist()
        ends = np.cumsum(lengths).tolist()
        return [in_order[end - length : end] for end, length in zip(ends, lengths.tolist(), strict=True)]

    def _subscriptions(
        self, fields: Mapping[str, pa.Array], column: pa.BinaryArray
    ) -> tuple[list[Subscription], Longs, Longs]:
        """The subscriptions of all members, each member's code among them, and the generations of their
        claims.
        """
        subscriptions_found: list[Subscription] = []
        codes_of_subscriptions = np.full(len(column), _OTHER_TYPE, dtype=np.int64)
        claimed = np.full(len(column), NO_GENERATION, dtype=np.int64)
        of_record = pc.list_parent_indices(fields["members"]).to_numpy()
        are_consumers = pc.fill_null(pc.equal(fields["protocol_type"], CONSUMER), False).to_numpy(False)
        protocols = np.array(fields["protocol"].to_pylist(), dtype=object)
        for protocol in dict.fromkeys(protocols[are_consumers]):
            rows_of_protocol = np.flatnonzero((are_consumers & (protocols == protocol))[of_record])
            read = self._subscriptions_read.read_column(protocol, column.take(pa.array(rows_of_protocol)))
            codes_of_subscriptions[rows_of_protocol], claimed[rows_of_protocol] = (
                read.codes + len(subscriptions_found),
                read.generations,
            )
            subscriptions_found += read.subscriptions
        return subscriptions_found, codes_of_subscriptions, claimed

    def _read(self, assignments: Sequence[bytes]) -> None:
        if assignments:
            self._assigned.update(zip(assignments, read_assignments(assignments), strict=True))

    def _member(
        self, values_of_member: Sequence[Any], subscription: Subscription | None, behind: int | None
    ) -> MemberOfGeneration:
        # the id is unique: this object keeps every subscription that is part of a key
        key = (*values_of_member, id(subscription), behind)
        member = self._members.get(key)
        if member is None:
            member_id, instance_id, client_id, assignment = values_of_member
            assigned = frozenset[Partition]() if subscription is None else self._assigned[assignment]
            member = self._members[key] = MemberOfGeneration(
                member_id, instance_id, client_id, subscription, assigned, behind
            )
        return member


def _alike(columns: Sequence[Longs]) -> tuple[Longs, Longs]:
    """The first row of each group of rows that are equal in all columns, and the group of each row."""
    group = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        values, codes = np.unique(column, return_inverse=True)
        _, group = np.unique(group * max(len(values), 1) + codes, return_inverse=True)
    _, first = np.unique(group, return_index=True)
    return first, group
