"""The rows of silver for the generations of groups: each generation, its claims and its assignments."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.protocols.ownership_claim.assignments import Owners
from fencepost.protocols.ownership_claim.changes import Change, Members
from fencepost.protocols.ownership_claim.claim_rows import ClaimRows
from fencepost.protocols.ownership_claim.claims import Claims, is_cooperative
from fencepost.protocols.ownership_claim.generations import Generation
from fencepost.protocols.ownership_claim.members import CONSUMER, MemberOfGeneration
from fencepost.protocols.ownership_claim.rebalance import Rebalance, Rebalances
from fencepost.protocols.ownership_claim.subscriptions import Partition
from fencepost.protocols.ownership_claim.tables import (
    CLASSIC_ASSIGNMENTS,
    CLASSIC_COVERAGE,
    GROUP_GENERATIONS,
    OWNERSHIP_CLAIMS,
)
from fencepost.replay.columns import Columns
from fencepost.replay.histories import Interval
from fencepost.replay.metadata import Topics

_ASSIGNMENT_UNREAD = "its bytes are no assignment of the consumer protocol"


class GenerationRows:
    """The rows of one coordinator's log (``partition`` of ``__consumer_offsets``)."""

    def __init__(
        self, cluster: str, partition: int | None, topics: Topics, topic_id: str | None = None
    ) -> None:
        """``topic_id``: what ids of rows have besides the partition (Incarnation.named_in_ids)."""
        self._coordinator, self._topic_id = (cluster, partition), topic_id
        self._topics = topics
        self.coverage = Columns(CLASSIC_COVERAGE)
        self.generations = Columns(GROUP_GENERATIONS)
        self.claims = Columns(OWNERSHIP_CLAIMS)
        self.assignments = Columns(CLASSIC_ASSIGNMENTS)

    def add_coverage(self, group_id: str, life: int, covered: bool, during: Interval) -> None:
        """Add a row of ``silver.classic_group_coverage``."""
        cluster, partition = self._coordinator
        self.coverage.add(cluster, group_id, life, partition, covered, *during)

    def add_generations(self, generations: Sequence[Generation], rebalances: Rebalances) -> None:
        """Add the generations of one group, which are in the order of its log."""
        members = Members()
        coordinator = (*self._coordinator, self._topic_id)
        claim_rows = ClaimRows(coordinator, self._topics, rebalances, self.claims, self.assignments)
        for generation in generations:
            changes = members.next_record(generation)
            claim_rows.next_record(generation, members, changes)
            during = generation.during
            if during is not None:
                self._add_generation(
                    generation,
                    members,
                    changes,
                    claim_rows,
                    rebalance=rebalances.of(generation),
                    during=during,
                )
        claim_rows.finish()

    def _add_generation(
        self,
        generation: Generation,
        members: Members,
        changes: Sequence[Change],
        claim_rows: ClaimRows,
        *,
        rebalance: Rebalance,
        during: Interval,
    ) -> None:
        record = generation.record
        claims, owners = claim_rows.claims, claim_rows.owners
        leader = members.by_id.get(record.leader or "")
        unread_reasons = _unread(members, claims, owners)
        has_predecessor = generation.before is not None or generation.is_first
        rebalance_ms = None
        if rebalance.prepared_ms is not None and not record.based:  # lines may be of an earlier life
            rebalance_ms = max(record.timestamp_ms - rebalance.prepared_ms, 0)
        cluster, partition = self._coordinator
        self.generations.add(
            cluster,
            record.group_id,
            generation.life,
            partition,
            generation.generation,
            generation.previous,
            rebalance.abandoned,
            record.protocol_type,
            record.protocol,
            is_cooperative(record.protocol, claims) if record.members else None,
            record.leader,
            None if leader is None else leader.client_id,
            len(record.members),
            sum(member.instance_id is not None for member in record.members),
            len(unread_reasons),
            unread_reasons[0] if unread_reasons else None,
            sorted(each.member_id for each in changes if each.before is None) if has_predecessor else None,
            sorted(each.member_id for each in changes if each.after is None) if has_predecessor else None,
            sorted(owners.without),
            None if owners.unread else len(owners.partitions),
            _assignment_changed(changes, claim_rows)
            if has_predecessor and _are_consumers(generation)
            else None,
            claims.digest,
            record.offset,
            rebalance.prepared_ms,
            rebalance.joined_ms,
            record.timestamp_ms,
            rebalance_ms,
            rebalance.waited_for,
            rebalance.waited_ms,
            rebalance.reason,
            rebalance.reason_source,
            record.file,
            record.position,
            *during,
        )


def _unread(members: Members, claims: Claims, owners: Owners) -> list[str]:
    """For each member whose messages could not be read, the reason, in the record's order."""
    if not claims.unread and not owners.unread:
        return []
    unread_reasons = (_why_unread(member) for member in members.by_id.values())
    return [reason for reason in unread_reasons if reason is not None]


def _why_unread(member: MemberOfGeneration) -> str | None:
    if member.subscription is not None and member.subscription.unread is not None:
        return member.subscription.unread
    return _ASSIGNMENT_UNREAD if member.assigned is None else None


def _are_consumers(generation: Generation) -> bool:
    """Whether its members, and those of the record before, are consumers: Connect's are assigned no
    partitions.
    """
    both = (generation, generation.before)
    return all(each.record.protocol_type in ("", CONSUMER) for each in both if each is not None)


def _assignment_changed(changes: Sequence[Change], claim_rows: ClaimRows) -> bool | None:
    """Whether any member has another assignment than before; None if some assignment is not known."""
    if claim_rows.owners.unread or claim_rows.were_unread:
        return None
    return any(_assigned(each.before) != _assigned(each.after) for each in changes)


def _assigned(member: MemberOfGeneration | None) -> frozenset[Partition]:
    return frozenset() if member is None or member.assigned is None else member.assigned
