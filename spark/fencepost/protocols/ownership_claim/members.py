"""The members that records of classic groups have, as far as a rebalance is told by them."""

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
"""ConsumerProtocol.PROTOCOL_TYPE: of other types (connect, sr) nobody claims or is assigned partitions."""

_NAMES = ("member_id", "group_instance_id", "client_id")
_OTHER_TYPE = -1
"""In place of the code of a subscription."""


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


class MembersOfRecords:
    """The members that records have, each once: a group goes on with most of them as they were.

    So what is alike is found in columns first, of many records at once, and looked at once.
    """

    def __init__(self) -> None:
        self._said = RepeatedSubscriptions()
        self._assigned: dict[bytes, frozenset[Partition] | None] = {}
        self._seen: dict[tuple[Any, ...], MemberOfGeneration] = {}

    def of(self, fields: Mapping[str, pa.Array]) -> list[list[MemberOfGeneration]]:
        """The members of each record. ``fields``: columns of GroupMetadataValue."""
        listed = fields["members"]
        each = listed.flatten()
        lengths = pc.fill_null(pc.list_value_length(listed), 0).to_numpy()
        generations = np.repeat(pc.fill_null(fields["generation"], 0).to_numpy().astype(np.int64), lengths)
        subscriptions, said, claimed = self._subscriptions(fields, each.field("subscription"))
        columns = [each.field(name).dictionary_encode() for name in (*_NAMES, "assignment")]
        values = [column.dictionary.to_pylist() for column in columns]
        codes = [pc.fill_null(column.indices, -1).to_numpy().astype(np.int64) for column in columns]
        behind = np.where(claimed == NO_GENERATION, np.iinfo(np.int64).min, generations - claimed)
        first, which = _alike([*codes, said, behind])
        self._read([data for data in values[-1] if data not in self._assigned])
        members = np.empty(len(first), dtype=object)
        for number, at in enumerate(first.tolist()):
            own = [
                None if code[at] < 0 else value[code[at]] for code, value in zip(codes, values, strict=True)
            ]
            subscription = None if said[at] == _OTHER_TYPE else subscriptions[said[at]]
            dated = None if claimed[at] == NO_GENERATION else int(behind[at])
            members[number] = self._member(own, subscription, dated)
        in_order = members[which].tolist()
        ends = np.cumsum(lengths).tolist()
        return [in_order[end - length : end] for end, length in zip(ends, lengths.tolist(), strict=True)]

    def _subscriptions(
        self, fields: Mapping[str, pa.Array], column: pa.BinaryArray
    ) -> tuple[list[Subscription], Longs, Longs]:
        """What all members said, by a code of each, and the generations of their claims."""
        found: list[Subscription] = []
        said = np.full(len(column), _OTHER_TYPE, dtype=np.int64)
        claimed = np.full(len(column), NO_GENERATION, dtype=np.int64)
        of_record = pc.list_parent_indices(fields["members"]).to_numpy()
        are_consumers = pc.fill_null(pc.equal(fields["protocol_type"], CONSUMER), False).to_numpy(False)
        protocols = np.array(fields["protocol"].to_pylist(), dtype=object)
        for protocol in dict.fromkeys(protocols[are_consumers]):
            own = np.flatnonzero((are_consumers & (protocols == protocol))[of_record])
            read = self._said.read_column(protocol, column.take(pa.array(own)))
            said[own], claimed[own] = read.codes + len(found), read.generations
            found += read.subscriptions
        return found, said, claimed

    def _read(self, assignments: Sequence[bytes]) -> None:
        if assignments:
            self._assigned.update(zip(assignments, read_assignments(assignments), strict=True))

    def _member(
        self, own: Sequence[Any], subscription: Subscription | None, behind: int | None
    ) -> MemberOfGeneration:
        # what is in a member that is kept has one address as long as that is
        key = (*own, id(subscription), behind)
        member = self._seen.get(key)
        if member is None:
            member_id, instance_id, client_id, assignment = own
            assigned = frozenset[Partition]() if subscription is None else self._assigned[assignment]
            member = self._seen[key] = MemberOfGeneration(
                member_id, instance_id, client_id, subscription, assigned, behind
            )
        return member


def _alike(columns: Sequence[Longs]) -> tuple[Longs, Longs]:
    """Of the rows that are the same in all columns the first one's place, and of each row which that is."""
    which = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        values, codes = np.unique(column, return_inverse=True)
        _, which = np.unique(which * max(len(values), 1) + codes, return_inverse=True)
    _, first = np.unique(which, return_index=True)
    return first, which
