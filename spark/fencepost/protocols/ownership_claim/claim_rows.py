"""Claims and assignments of members as rows with an interval; only rows that may change are computed again.

In a group of a thousand members nearly all stay the same, rebalance after rebalance.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fencepost.protocols.ownership_claim.assignments import Owners, PastAssignments, WasAssigned
from fencepost.protocols.ownership_claim.changes import Change, Members, claimed
from fencepost.protocols.ownership_claim.claims import Claims
from fencepost.protocols.ownership_claim.generations import Generation
from fencepost.protocols.ownership_claim.members import MemberOfGeneration
from fencepost.protocols.ownership_claim.previous_owners import GenerationChange
from fencepost.protocols.ownership_claim.rebalance import Rebalances
from fencepost.protocols.ownership_claim.runs import Runs
from fencepost.protocols.ownership_claim.subscriptions import Partition
from fencepost.protocols.ownership_claim.tables import CLASSIC_ASSIGNMENTS, OWNERSHIP_CLAIMS
from fencepost.reasons import ALL_KNOWN, NO_VALUE, NOT_CAPTURED, NOT_SAID, UNREAD, Unknown
from fencepost.replay.columns import Columns
from fencepost.replay.keys import digest_of, topic_key
from fencepost.replay.metadata import Topics

Row = tuple[Any, ...]

_RUN_COLUMNS = 7
"""The number of columns at the end of a row that Runs adds."""

_CLAIM_GENERATIONS = (
    "generation", "claimed_generation", "greatest_claim_of_others", "greatest_claimed_generation",
    "previous_generation",
)  # fmt: skip
_ASSIGNMENT_GENERATIONS = ("generation", "own_claim", "greatest_claim_of_others")

_CONVERSION = Unknown(
    NO_VALUE, "no rebalance made this record: it turned a group of another kind into a classic one"
)
_NO_LINES = Unknown(NOT_CAPTURED, "no request log has the JoinGroups of this generation")
_UNREAD = Unknown(UNREAD, "an assignment of this generation, or of the one before, cannot be read")


class ClaimRows:
    """``silver.ownership_claims`` and ``silver.classic_assignments`` of one group.

    A row depends on its member, on the other claims and owners of its partition, on the record before, and
    on a few values that are common to all rows (``_common_values``). So it changes only if a member that
    claims or owns the partition changed with this record or with the one before, or if a claim is of an
    unusual generation.
    """

    def __init__(
        self,
        coordinator: tuple[str, int | None, str | None],
        topics: Topics,
        rebalances: Rebalances,
        claims: Columns,
        assignments: Columns,
    ) -> None:
        """``coordinator``: its cluster, its partition of ``__consumer_offsets``, and what ids of rows have
        besides (Incarnation.named_in_ids).
        """
        self._coordinator = coordinator
        self._topics = topics
        self._rebalances = rebalances
        self._claim_rows = Runs(claims, _CLAIM_GENERATIONS, ("claim_id", "record_offset"))
        self._assignment_rows = Runs(assignments, _ASSIGNMENT_GENERATIONS, ("assignment_id", "record_offset"))
        self._forget()

    def _forget(self) -> None:
        """Forget everything: nothing is known of earlier records."""
        self.claims, self.owners = Claims(), Owners()
        self.were_unread = False
        """Whether some assignment of the record before could not be read."""
        self._past = PastAssignments()
        self._topic_names: set[str] = set()
        self._last: Generation | None = None
        self._common_values: tuple[object, ...] | None = None
        self._changed_before: set[Partition] = set()

    def finish(self) -> None:
        """End all rows with the newest record: the log ends here, or has a hole."""
        if self._last is not None:
            self._claim_rows.end_all(self._last)
            self._assignment_rows.end_all(self._last)
        self._last = None

    def next_record(self, generation: Generation, members: Members, changes: Sequence[Change]) -> None:
        """Take the next record of the group."""
        if generation.before is None:
            self.finish()
            self._forget()
        changed = {partition for member_change in changes for partition in member_change.partitions()}
        self._topic_names.update(topic for topic, _ in changed)
        partitions = changed | self._changed_before | self.owners.shared
        owners_before = {partition: self.owners.of(partition) for partition in changed}
        self.were_unread = bool(self.owners.unread)
        self.claims.update(changes)
        self.owners.update(changes)
        usual = generation.generation - (generation.previous or 0)
        for member_id in self.claims.older_than(usual):
            changed.update(claimed(members.by_id[member_id]))
        if generation.during is None:
            # another record of the same batch replaces it at once
            self.finish()
            self._common_values = None
        else:
            common_values = self._values_of_all_rows(generation)
            if common_values != self._common_values:
                partitions |= {*self.claims.partitions, *self.owners.partitions}
            self._set_rows(
                GenerationChange(generation, members, owners_before), partitions | changed, changes
            )
            self._last, self._common_values = generation, common_values
        self._changed_before = changed
        self._past.note_generation(generation, changes)

    def _values_of_all_rows(self, generation: Generation) -> tuple[object, ...]:
        """The values on which all rows of a generation depend."""
        now, ms = generation.generation, generation.record.timestamp_ms
        greatest, previous = self.claims.greatest(now), generation.previous
        return (
            greatest if greatest is None or greatest < 0 else (now - greatest,),
            previous if previous is None or previous < 0 else (now - previous,),
            frozenset(self.claims.unread),
            bool(self.owners.unread),
            self.were_unread,
            generation.is_first,
            [self._topics.id_at(topic, ms) for topic in sorted(self._topic_names)],
        )

    def _set_rows(
        self, change: GenerationChange, partitions: Iterable[Partition], changes: Sequence[Change]
    ) -> None:
        claims, assignments, last = self._claim_rows, self._assignment_rows, self._last
        for member_change in changes:
            place = (member_change.member_id, None)
            unread = member_change.after is not None and member_change.member_id in self.claims.unread
            claims.set_row(
                place,
                self._unread_claims(change, member_change.after) if unread else None,
                change.generation,
                last,
            )
            unread = member_change.after is not None and member_change.member_id in self.owners.unread
            row = self._unread_assignment(change, member_change.after) if unread else None
            assignments.set_row(place, row, change.generation, last)
        by_id = change.members.by_id
        for partition in sorted(partitions):
            claiming = {claim.member_id: claim.held for claim in self.claims.of(partition)}
            for member_id in sorted({*claiming, *claims.open_members(partition)}):
                held = claiming.get(member_id)
                row = None if held is None else self._claim(change, by_id[member_id], partition, held=held)
                claims.set_row((member_id, partition), row, change.generation, last)
            owners = self.owners.of(partition)
            for member_id in sorted({*owners, *assignments.open_members(partition)}):
                row = (
                    self._assignment(change, by_id[member_id], partition, owners)
                    if member_id in owners
                    else None
                )
                assignments.set_row((member_id, partition), row, change.generation, last)

    # --- rows -----------------------------------------------------------------------------------------------

    def _claim(
        self, change: GenerationChange, member: MemberOfGeneration, partition: Partition, *, held: bool
    ) -> Row:
        now, subscription = change.generation.generation, member.subscription
        assert subscription is not None
        claimed_generation = member.claimed_generation(now)
        other_owners = [owner for owner in self.owners.of(partition) if owner != member.member_id]
        was_assigned, was_assigned_unknown = self._was_assigned(
            change.generation, member, partition, claimed_generation
        )
        to_self = None if member.assigned is None else partition in member.assigned
        to_another = True if other_owners else (False if not self.owners.unread or to_self else None)
        return (
            *self._id_columns(change, member, partition),
            now,
            *_member_columns(member),
            subscription.version,
            *self._partition_columns(partition, change.generation.record.timestamp_ms),
            claimed_generation,
            subscription.source,
            held,
            partition[0] in subscription.topics,
            *self.claims.others(partition, member.member_id, now),
            self.claims.greatest(now),
            change.generation.previous,
            was_assigned,
            to_self,
            to_another,
            member.member_id if to_self else (other_owners[0] if other_owners else None),
            None,
            was_assigned_unknown,
            change.generation.record.offset,
        )

    def _was_assigned(
        self,
        generation: Generation,
        member: MemberOfGeneration,
        partition: Partition,
        claimed_generation: int,
    ) -> WasAssigned:
        if claimed_generation < 0:
            return None, NOT_SAID
        if generation.is_first:
            return False, None
        if generation.before is None:
            return None, generation.why_none_before.reason
        return self._past.was_assigned(member.member_id, partition, claimed_generation)

    def _assignment(
        self,
        change: GenerationChange,
        member: MemberOfGeneration,
        partition: Partition,
        owners: Sequence[str],
    ) -> Row:
        now, first = change.generation.generation, change.generation.is_first
        previous = change.owners_before.get(partition, owners) if change.generation.before is not None else []
        was_owner = member.member_id in previous
        all_read = change.generation.before is not None and not self.were_unread
        stays, joined = change.previous_owners(self._rebalances).of(
            member, previous, all_read=all_read or first
        )
        return (
            *self._id_columns(change, member, partition),
            now,
            *_member_columns(member),
            *self._partition_columns(partition, change.generation.record.timestamp_ms),
            *self.claims.own(partition, member.member_id, now),
            *self.claims.others(partition, member.member_id, now, held_only=True),
            member.member_id if was_owner else (previous[0] if previous else None),
            stays,
            joined,
            True if first else (not was_owner if was_owner or all_read else None),
            None if self.owners.unread else len(owners),
            *(ALL_KNOWN if joined is not None else self._why_unknown(change)),
            change.generation.record.offset,
        )

    def _why_unknown(self, change: GenerationChange) -> Unknown:
        """Why it is not known whether another member had a partition before, and has joined."""
        if change.generation.is_conversion:
            return _CONVERSION
        if change.generation.before is None:
            return change.generation.why_none_before
        return _UNREAD if self.were_unread else _NO_LINES

    def _unread_claims(self, change: GenerationChange, member: MemberOfGeneration | None) -> Row:
        assert member is not None
        assert member.subscription is not None
        subscription = member.subscription
        head = (
            *self._id_columns(change, member, None),
            change.generation.generation,
            *_member_columns(member),
            subscription.version,
        )
        nothing = [None] * (len(OWNERSHIP_CLAIMS.columns) - len(head) - 3 - _RUN_COLUMNS)
        return (*head, *nothing, subscription.unread, UNREAD, change.generation.record.offset)

    def _unread_assignment(self, change: GenerationChange, member: MemberOfGeneration | None) -> Row:
        assert member is not None
        head = (
            *self._id_columns(change, member, None),
            change.generation.generation,
            *_member_columns(member),
        )
        nothing = [None] * (len(CLASSIC_ASSIGNMENTS.columns) - len(head) - 3 - _RUN_COLUMNS)
        return (*head, *nothing, *_UNREAD, change.generation.record.offset)

    def _id_columns(
        self, change: GenerationChange, member: MemberOfGeneration, partition: Partition | None
    ) -> Row:
        cluster, coordinator, topic_id = self._coordinator
        record = change.generation.record
        name = partition if partition is not None else ("", "")
        row_id = digest_of(
            cluster, coordinator, record.offset, record.group_id, member.member_id, *name, topic_id
        )
        return (cluster, record.group_id, change.generation.life, coordinator, row_id)

    def _partition_columns(self, partition: Partition, ms: int) -> Row:
        topic, number = partition
        topic_id = self._topics.id_at(topic, ms)
        return (topic, topic_id, number, topic_key(topic_id, topic, number))


def _member_columns(member: MemberOfGeneration) -> Row:
    return (member.member_id, member.client_id, member.instance_id)
