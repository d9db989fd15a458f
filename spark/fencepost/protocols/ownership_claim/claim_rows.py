"""What members claim and are assigned, as rows from when to when; only what may be another is looked at anew.

A group of a thousand members goes on with nearly all of them as they were, rebalance after rebalance.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fencepost.protocols.ownership_claim.assignments import Owners, Past
from fencepost.protocols.ownership_claim.changes import Change, Members, claimed
from fencepost.protocols.ownership_claim.claims import Claims
from fencepost.protocols.ownership_claim.generations import Generation
from fencepost.protocols.ownership_claim.members import MemberOfGeneration
from fencepost.protocols.ownership_claim.previous_owners import Moment
from fencepost.protocols.ownership_claim.rebalance import Rebalances
from fencepost.protocols.ownership_claim.runs import Runs
from fencepost.protocols.ownership_claim.subscriptions import Partition
from fencepost.protocols.ownership_claim.tables import CLASSIC_ASSIGNMENTS, OWNERSHIP_CLAIMS
from fencepost.replay.columns import Columns
from fencepost.replay.keys import digest_of, topic_key
from fencepost.replay.metadata import Topics

Row = tuple[Any, ...]

_OF_RUN = 7
"""Columns at the end of a row that tell of which records it is true."""

_CLAIM_GENERATIONS = (
    "generation", "claimed_generation", "greatest_claim_of_others", "greatest_claimed_generation",
    "previous_generation",
)  # fmt: skip
_ASSIGNMENT_GENERATIONS = ("generation", "own_claim", "greatest_claim_of_others")


class ClaimRows:
    """``silver.ownership_claims`` and ``silver.classic_assignments`` of one group.

    A row depends on its member, on the other claims and owners of its partition, on the record before, and on
    the little that is of all rows (``_of_all``). So it is another only where a member that has to do with the
    partition changed with this record or the one before, or where a claim is of an unusual generation.
    """

    def __init__(
        self,
        of: tuple[str, int | None],
        topics: Topics,
        rebalances: Rebalances,
        claims: Columns,
        assignments: Columns,
    ) -> None:
        """``of``: cluster and partition of the coordinator."""
        self._of = of
        self._topics = topics
        self._rebalances = rebalances
        self._claim_rows = Runs(claims, _CLAIM_GENERATIONS, ("claim_id", "record_offset"))
        self._assignment_rows = Runs(assignments, _ASSIGNMENT_GENERATIONS, ("assignment_id", "record_offset"))
        self._begin()

    def _begin(self) -> None:
        """Nothing is known of before."""
        self.claims, self.owners = Claims(), Owners()
        self.were_unread = False
        """Whether some assignment of the record before could not be read."""
        self._past = Past()
        self._topics_named: set[str] = set()
        self._last: Generation | None = None
        self._of_all: tuple[object, ...] | None = None
        self._unsettled: set[Partition] = set()

    def finish(self) -> None:
        """The log is at its end, or has a hole: what is so now goes on as long as the newest record."""
        if self._last is not None:
            self._claim_rows.end_all(self._last)
            self._assignment_rows.end_all(self._last)
        self._last = None

    def take(self, generation: Generation, members: Members, changes: Sequence[Change]) -> None:
        """The next record of the group."""
        if generation.before is None:
            self.finish()
            self._begin()
        touched = {partition for change in changes for partition in change.partitions()}
        self._topics_named.update(topic for topic, _ in touched)
        looked = touched | self._unsettled | self.owners.shared
        had = {partition: self.owners.of(partition) for partition in touched}
        self.were_unread = bool(self.owners.unread)
        self.claims.change(changes)
        self.owners.change(changes)
        usual = generation.generation - (generation.previous or 0)
        for member_id in self.claims.older_than(usual):
            touched.update(claimed(members.by_id[member_id]))
        if generation.during is None:
            # another record in its batch takes its place at once
            self.finish()
            self._of_all = None
        else:
            of_all = self._common(generation)
            if of_all != self._of_all:
                looked |= {*self.claims.partitions, *self.owners.partitions}
            self._look(Moment(generation, members, had), looked | touched, changes)
            self._last, self._of_all = generation, of_all
        self._unsettled = touched
        self._past.note(generation, changes)

    def _common(self, generation: Generation) -> tuple[object, ...]:
        """What every row of a generation depends on."""
        now, ms = generation.generation, generation.record.timestamp_ms
        greatest, previous = self.claims.greatest(now), generation.previous
        return (
            greatest if greatest is None or greatest < 0 else (now - greatest,),
            previous if previous is None or previous < 0 else (now - previous,),
            frozenset(self.claims.unread),
            bool(self.owners.unread),
            self.were_unread,
            generation.first,
            [self._topics.id_at(topic, ms) for topic in sorted(self._topics_named)],
        )

    def _look(self, at: Moment, partitions: Iterable[Partition], changes: Sequence[Change]) -> None:
        claims, assignments, last = self._claim_rows, self._assignment_rows, self._last
        for change in changes:
            place = (change.member_id, None)
            unread = change.now is not None and change.member_id in self.claims.unread
            claims.put(place, self._unread_claims(at, change.now) if unread else None, at.generation, last)
            unread = change.now is not None and change.member_id in self.owners.unread
            row = self._unread_assignment(at, change.now) if unread else None
            assignments.put(place, row, at.generation, last)
        by_id = at.members.by_id
        for partition in sorted(partitions):
            claiming = {claim.member_id: claim.held for claim in self.claims.of(partition)}
            for member_id in sorted({*claiming, *claims.at(partition)}):
                held = claiming.get(member_id)
                row = None if held is None else self._claim(at, by_id[member_id], partition, held=held)
                claims.put((member_id, partition), row, at.generation, last)
            owners = self.owners.of(partition)
            for member_id in sorted({*owners, *assignments.at(partition)}):
                row = (
                    self._assignment(at, by_id[member_id], partition, owners) if member_id in owners else None
                )
                assignments.put((member_id, partition), row, at.generation, last)

    # --- rows -----------------------------------------------------------------------------------------------

    def _claim(self, at: Moment, member: MemberOfGeneration, partition: Partition, *, held: bool) -> Row:
        now, subscription = at.generation.generation, member.subscription
        assert subscription is not None
        claimed_generation = member.claimed_generation(now)
        else_owners = [owner for owner in self.owners.of(partition) if owner != member.member_id]
        to_self = None if member.assigned is None else partition in member.assigned
        to_another = True if else_owners else (False if not self.owners.unread or to_self else None)
        return (
            *self._head(at, member, partition),
            now,
            *_named(member),
            subscription.version,
            *self._place(partition, at.generation.record.timestamp_ms),
            claimed_generation,
            subscription.source,
            held,
            partition[0] in subscription.topics,
            *self.claims.others(partition, member.member_id, now),
            self.claims.greatest(now),
            at.generation.previous,
            self._was_assigned(at.generation, member, partition, claimed_generation),
            to_self,
            to_another,
            member.member_id if to_self else (else_owners[0] if else_owners else None),
            None,
            at.generation.record.offset,
        )

    def _was_assigned(
        self,
        generation: Generation,
        member: MemberOfGeneration,
        partition: Partition,
        claimed_generation: int,
    ) -> bool | None:
        if claimed_generation < 0:
            return None
        if generation.first:
            return False
        if generation.before is None:
            return None
        return self._past.had(member.member_id, partition, claimed_generation)

    def _assignment(
        self, at: Moment, member: MemberOfGeneration, partition: Partition, owners: Sequence[str]
    ) -> Row:
        now, first = at.generation.generation, at.generation.first
        previous = at.had.get(partition, owners) if at.generation.before is not None else []
        had_it = member.member_id in previous
        all_read = at.generation.before is not None and not self.were_unread
        stays, joined = at.previous_owners(self._rebalances).of(member, previous, all_read=all_read or first)
        return (
            *self._head(at, member, partition),
            now,
            *_named(member),
            *self._place(partition, at.generation.record.timestamp_ms),
            *self.claims.own(partition, member.member_id, now),
            *self.claims.others(partition, member.member_id, now, held_only=True),
            member.member_id if had_it else (previous[0] if previous else None),
            stays,
            joined,
            True if first else (not had_it if had_it or all_read else None),
            None if self.owners.unread else len(owners),
            at.generation.record.offset,
        )

    def _unread_claims(self, at: Moment, member: MemberOfGeneration | None) -> Row:
        assert member is not None
        assert member.subscription is not None
        subscription = member.subscription
        head = (
            *self._head(at, member, None),
            at.generation.generation,
            *_named(member),
            subscription.version,
        )
        nothing = [None] * (len(OWNERSHIP_CLAIMS.columns) - len(head) - 2 - _OF_RUN)
        return (*head, *nothing, subscription.unread, at.generation.record.offset)

    def _unread_assignment(self, at: Moment, member: MemberOfGeneration | None) -> Row:
        assert member is not None
        head = (*self._head(at, member, None), at.generation.generation, *_named(member))
        nothing = [None] * (len(CLASSIC_ASSIGNMENTS.columns) - len(head) - 1 - _OF_RUN)
        return (*head, *nothing, at.generation.record.offset)

    def _head(self, at: Moment, member: MemberOfGeneration, partition: Partition | None) -> Row:
        cluster, coordinator = self._of
        record = at.generation.record
        named = partition if partition is not None else ("", "")
        row_id = digest_of(cluster, coordinator, record.offset, record.group_id, member.member_id, *named)
        return (cluster, record.group_id, at.generation.life, coordinator, row_id)

    def _place(self, partition: Partition, ms: int) -> Row:
        topic, number = partition
        topic_id = self._topics.id_at(topic, ms)
        return (topic, topic_id, number, topic_key(topic_id, topic, number))


def _named(member: MemberOfGeneration) -> Row:
    return (member.member_id, member.client_id, member.instance_id)
