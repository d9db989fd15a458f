"""The rows of silver that the generations of one group are: each, its claims and its assignments."""

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
        members = Members()
        held = ClaimRows(self._of, self._topics, rebalances, self.claims, self.assignments)
        for generation in generations:
            changes = members.take(generation)
            held.take(generation, members, changes)
            during = generation.during
            if during is not None:
                self._write_generation(
                    generation, members, changes, held, told=rebalances.of(generation), during=during
                )
        held.finish()

    def _write_generation(
        self,
        generation: Generation,
        members: Members,
        changes: Sequence[Change],
        held: ClaimRows,
        *,
        told: Rebalance,
        during: Interval,
    ) -> None:
        record = generation.record
        claims, owners = held.claims, held.owners
        leader = members.by_id.get(record.leader or "")
        reasons = _unread(members, claims, owners)
        known = generation.before is not None or generation.first
        cluster, partition = self._of
        self.generations.add(
            cluster,
            record.group_id,
            generation.life,
            partition,
            generation.generation,
            generation.previous,
            told.abandoned,
            record.protocol_type,
            record.protocol,
            is_cooperative(record.protocol, claims) if record.members else None,
            record.leader,
            None if leader is None else leader.client_id,
            len(record.members),
            sum(member.instance_id is not None for member in record.members),
            len(reasons),
            reasons[0] if reasons else None,
            sorted(each.member_id for each in changes if each.was is None) if known else None,
            sorted(each.member_id for each in changes if each.now is None) if known else None,
            sorted(owners.without),
            None if owners.unread else len(owners.partitions),
            _assignment_changed(changes, held) if known and _are_consumers(generation) else None,
            claims.digest,
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


def _unread(members: Members, claims: Claims, owners: Owners) -> list[str]:
    """Why what members sent could not be read, of each that it is so of, in the record's order."""
    if not claims.unread and not owners.unread:
        return []
    reasons = (_why_unread(member) for member in members.by_id.values())
    return [reason for reason in reasons if reason is not None]


def _why_unread(member: MemberOfGeneration) -> str | None:
    if member.subscription is not None and member.subscription.unread is not None:
        return member.subscription.unread
    return _ASSIGNMENT_UNREAD if member.assigned is None else None


def _are_consumers(generation: Generation) -> bool:
    """Whether its members, and those before, are assigned partitions: Connect's are not."""
    both = (generation, generation.before)
    return all(each.record.protocol_type in ("", CONSUMER) for each in both if each is not None)


def _assignment_changed(changes: Sequence[Change], held: ClaimRows) -> bool | None:
    """Whether somebody has another assignment; None where some assignment is not known."""
    if held.owners.unread or held.were_unread:
        return None
    return any(_assigned(each.was) != _assigned(each.now) for each in changes)


def _assigned(member: MemberOfGeneration | None) -> frozenset[Partition]:
    return frozenset() if member is None or member.assigned is None else member.assigned
