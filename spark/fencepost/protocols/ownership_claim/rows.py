"""The rows of silver that the generations of one group are: each with its claims and its assignments."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.protocols.ownership_claim.claims import Claims, claimed, is_cooperative, owners
from fencepost.protocols.ownership_claim.generations import (
    Assignments,
    Generation,
    Partition,
    clients,
    partitions_of,
)
from fencepost.protocols.ownership_claim.previous_owners import PreviousOwners
from fencepost.protocols.ownership_claim.rebalance import Rebalances
from fencepost.protocols.ownership_claim.records import MemberOfGeneration
from fencepost.protocols.ownership_claim.tables import (
    CLASSIC_ASSIGNMENTS,
    CLASSIC_COVERAGE,
    GROUP_GENERATIONS,
    OWNERSHIP_CLAIMS,
)
from fencepost.replay.columns import Columns
from fencepost.replay.histories import Interval
from fencepost.replay.keys import digest_of, topic_key
from fencepost.replay.metadata import Topics

_ASSIGNMENT_UNREAD = "its bytes are no assignment of the consumer protocol"


class GenerationRows:
    """The rows of one coordinator's log (``partition`` of ``__consumer_offsets``)."""

    def __init__(self, cluster: str, partition: int | None, topics: Topics) -> None:
        self._of = (cluster, partition)
        self._topics = topics
        self.coverage = Columns(CLASSIC_COVERAGE)
        self.generations = Columns(GROUP_GENERATIONS)
        self.claims = Columns(OWNERSHIP_CLAIMS)
        self.assignments = Columns(CLASSIC_ASSIGNMENTS)

    def cover(self, group_id: str, life: int, covered: bool, during: Interval) -> None:
        """``silver.classic_group_coverage``."""
        cluster, partition = self._of
        self.coverage.add(cluster, group_id, life, partition, covered, *during)

    def write(self, generations: Sequence[Generation], rebalances: Rebalances) -> None:
        """The generations of one group, in the order of its log."""
        past = Assignments()
        for generation in generations:
            during = generation.during
            if during is not None:
                claims = Claims(generation)
                self._write_generation(generation, claims, rebalances, during)
                self._write_claims(generation, claims, past, during)
                self._write_assignments(generation, claims, rebalances, during)
            past.note(generation)

    def _group(self, generation: Generation) -> tuple[str, str, int, int | None]:
        cluster, partition = self._of
        return cluster, generation.record.group_id, generation.life, partition

    def _place(self, partition: Partition, ms: int) -> tuple[str, str | None, int, str | None]:
        topic, number = partition
        topic_id = self._topics.id_at(topic, ms)
        return topic, topic_id, number, topic_key(topic_id, topic, number)

    def _write_generation(
        self, generation: Generation, claims: Claims, rebalances: Rebalances, during: Interval
    ) -> None:
        record, before = generation.record, generation.before
        told = rebalances.of(generation)
        members = {member.member_id: member for member in record.members}
        was = None if before is None else {member.member_id: member for member in before.record.members}
        was = {} if generation.first else was
        unread = [_unread(member) for member in record.members]
        reasons = [reason for reason in unread if reason is not None]
        assigned, all_read = owners(record.members)
        self.generations.add(
            *self._group(generation),
            generation.generation,
            generation.previous,
            told.abandoned,
            record.protocol_type,
            record.protocol,
            is_cooperative(record.protocol, claims) if record.members else None,
            record.leader,
            clients(record.members).get(record.leader or ""),
            len(record.members),
            sum(member.instance_id is not None for member in record.members),
            len(reasons),
            reasons[0] if reasons else None,
            None if was is None else sorted(members.keys() - was.keys()),
            None if was is None else sorted(was.keys() - members.keys()),
            sorted(
                m.member_id
                for m in record.members
                if m.assigned is not None and not partitions_of(m.assigned)
            ),
            len(assigned) if all_read else None,
            _changed(record.members, None if was is None else list(was.values())),
            claims.digest(),
            record.offset,
            told.prepared_ms,
            told.joined_ms,
            record.timestamp_ms,
            None if told.prepared_ms is None else max(record.timestamp_ms - told.prepared_ms, 0),
            told.waited_for,
            told.waited_ms,
            told.reason,
            told.reason_source,
            record.file,
            record.position,
            *during,
        )

    def _write_claims(
        self, generation: Generation, claims: Claims, past: Assignments, during: Interval
    ) -> None:
        record = generation.record
        assigned, all_read = owners(record.members)
        known = past if generation.before is not None or generation.first else None
        for member in record.members:
            subscription = member.subscription
            if subscription is None:
                continue
            of = (member.member_id, member.client_id, member.instance_id, subscription.version)
            head = (*self._group(generation), self._id(generation, member, None), generation.generation, *of)
            if subscription.unread is not None:
                nothing = [None] * (len(OWNERSHIP_CLAIMS.columns) - len(head) - 6)
                self.claims.add(*head, *nothing, subscription.unread, record.offset, *during)
                continue
            mine = partitions_of(member.assigned)
            for partition, held in claimed(member):
                others = claims.others(partition, member.member_id)
                owned_by = assigned.get(partition, [])
                else_owners = [owner for owner in owned_by if owner != member.member_id]
                to_self = None if mine is None else partition in mine
                was_assigned = None
                if subscription.generation >= 0 and known is not None:
                    was_assigned = (
                        False
                        if generation.first
                        else known.had(member.member_id, partition, subscription.generation)
                    )
                self.claims.add(
                    *self._group(generation),
                    self._id(generation, member, partition),
                    generation.generation,
                    *of,
                    *self._place(partition, record.timestamp_ms),
                    subscription.generation,
                    subscription.source,
                    held,
                    partition[0] in subscription.topics,
                    *others,
                    claims.greatest,
                    generation.previous,
                    was_assigned,
                    to_self,
                    True if else_owners else (False if all_read or to_self else None),
                    member.member_id if to_self else (else_owners[0] if else_owners else None),
                    None,
                    record.offset,
                    *during,
                )

    def _write_assignments(
        self, generation: Generation, claims: Claims, rebalances: Rebalances, during: Interval
    ) -> None:
        record, before = generation.record, generation.before
        assigned, all_read = owners(record.members)
        had, had_all_read = owners(before.record.members) if before is not None else ({}, False)
        since = PreviousOwners(generation, rebalances)
        for member in record.members:
            head = (*self._group(generation),)
            of = (generation.generation, member.member_id, member.client_id, member.instance_id)
            mine = partitions_of(member.assigned)
            if mine is None:
                nothing = [None] * (len(CLASSIC_ASSIGNMENTS.columns) - len(head) - 1 - len(of) - 5)
                self.assignments.add(
                    *head, self._id(generation, member, None), *of, *nothing, record.offset, *during
                )
                continue
            for partition in sorted(mine):
                claimed_by_self, own_claim = claims.own(partition, member.member_id)
                others = claims.others(partition, member.member_id, held_only=True)
                previous = had.get(partition, [])
                had_it = member.member_id in previous
                self.assignments.add(
                    *head,
                    self._id(generation, member, partition),
                    *of,
                    *self._place(partition, record.timestamp_ms),
                    claimed_by_self,
                    own_claim,
                    *others,
                    member.member_id if had_it else (previous[0] if previous else None),
                    *since.of(member, previous, all_read=had_all_read or generation.first),
                    True if generation.first else (not had_it if had_it or had_all_read else None),
                    len(assigned[partition]) if all_read else None,
                    record.offset,
                    *during,
                )

    def _id(self, generation: Generation, member: MemberOfGeneration, partition: Partition | None) -> str:
        cluster, coordinator = self._of
        record = generation.record
        topic, number = partition if partition is not None else ("", "")
        return digest_of(
            cluster, coordinator, record.offset, record.group_id, member.member_id, topic, number
        )


def _unread(member: MemberOfGeneration) -> str | None:
    if member.subscription is not None and member.subscription.unread is not None:
        return member.subscription.unread
    return _ASSIGNMENT_UNREAD if member.assigned is None else None


def _changed(now: Sequence[MemberOfGeneration], was: Sequence[MemberOfGeneration] | None) -> bool | None:
    """Whether somebody has another assignment; None where some assignment is not known."""
    if was is None or any(member.assigned is None for member in (*now, *was)):
        return None
    before, after = (
        {m.member_id: parts for m in members if (parts := partitions_of(m.assigned))}
        for members in (was, now)
    )
    return before != after
