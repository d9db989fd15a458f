"""One commit at one state of a classic group: whether the next state, not yet written, had already begun."""

from __future__ import annotations

from dataclasses import dataclass

from fencepost.protocols.offset_commit.answers import Bounds, Signs, greatest, least
from fencepost.protocols.offset_commit.requests import Commit
from fencepost.protocols.offset_commit.spans import Generation
from fencepost.protocols.offset_commit.states import State
from fencepost.replay.requests import NONE


@dataclass(slots=True, frozen=True)
class Moment:
    """One commit at one state of a classic group, with all evidence of when the next state began.

    ``own``: the generation that its member certainly had, by the order of the member's own requests; None if
    they do not show it. ``unknown``: by the same order, the coordinator certainly had removed the member.
    ``start_ms`` to ``end_ms``: when the commit was decided. ``next_from`` to ``next_by``: when the group's
    next record was written; None if another broker's clock dated it.

    A request of the commit's own member that began after the answer to the commit is after it, although it
    may have begun within the tolerance: a client goes on when it has its answer. This is concluded only where
    it explains the answer (``explains``), so it never counts against a broker.
    """

    commit: Commit
    state: State
    generation: Generation
    bounds: Bounds
    signs: Signs
    own: int | None
    unknown: bool
    start_ms: int
    end_ms: int
    next_from: int | None
    next_by: int | None

    @property
    def explains(self) -> bool:
        """Whether the broker gave the answer that the state as written has: accepted at its generation,
        ILLEGAL_GENERATION at another.
        """
        current = self.commit.request.client_epoch == self.generation.generation
        return self.state.member_known is True and self.commit.broker_error == (
            NONE if current else "ILLEGAL_GENERATION"
        )

    def arrival(self, member_id: str) -> int | None:
        """The earliest moment at which a member's JoinGroup for the next generation arrived."""
        arrival = self.bounds.joined.get(member_id)
        if arrival is None:
            return None
        is_own = member_id == self.commit.request.member_id
        return arrival.own_ms if is_own and self.explains else arrival.ms


def next_generation_begun(at: Moment) -> tuple[bool, bool]:
    """Whether the next generation may, and must, have begun.

    A generation begins when the last of its members has joined, and each answer to JoinGroup names it. Until
    a member joins again it is in the generation of its newest answer. A generation without members is
    written at once.
    """
    generation, bounds = at.generation, at.bounds
    if at.own is not None:
        has_begun = at.own > generation.generation
        return has_begun, has_begun
    if generation.next_generation is not None:
        moves = generation.next_generation > generation.generation
    else:
        moves = bounds.begun_by is not None or generation.next_lost
    begun_by = least(bounds.begun_by, at.next_by)
    last_arrival = _last_arrival(at)
    if last_arrival is not None and (begun_by is None or last_arrival > begun_by):
        last_arrival = None
    begun_from = greatest(last_arrival, bounds.current)
    may = moves and (begun_from is None or begun_from <= at.end_ms)
    must = moves and begun_by is not None and begun_by <= at.start_ms
    return may, must


def _last_arrival(at: Moment) -> int | None:
    members = at.generation.next_member_ids
    if members is None:
        return None
    if not members:
        return at.next_from
    arrived = [ms for ms in map(at.arrival, members) if ms is not None]
    return max(arrived) if len(arrived) == len(members) else None


def may_have_joined(at: Moment) -> bool:
    """Whether the member's JoinGroup for the next generation may have arrived. A broker answers the requests
    of one connection one after the other.
    """
    request = at.commit.request
    arrival = at.bounds.joined.get(request.member_id)
    if arrival is None:
        return False
    if arrival.connection is not None and arrival.connection == request.connection:
        return arrival.responded_ms < request.responded_ms
    return arrival.ms <= at.end_ms


def may_be_rebalancing_still(at: Moment) -> bool:
    """Whether the group may still have been rebalancing: after the assignment was written, the rebalance
    completes only when the record is replicated.
    """
    stable_by = at.bounds.stable_by
    return not at.commit.accepted and (stable_by is None or stable_by >= at.start_ms)


def next_epoch(at: Moment) -> int | None:
    """The next generation in the coordinator's memory. If there may have been several: the first one for a
    commit with an epoch older than all of them, which all decide it alike; otherwise None.
    """
    if at.own is not None:
        return at.own
    following = at.generation.generation + 1
    one = at.generation.next_generation == following or at.commit.request.client_epoch < following
    return following if one else None


def waits_for_assignment(at: Moment) -> bool | None:
    """Whether the next generation was waiting for its assignment. It was if its own record is the next one;
    otherwise, None: a generation that never got an assignment waited until a member joined or left.
    """
    return True if at.generation.next_generation == next_epoch(at) else None


def stays_member(at: Moment) -> bool | None:
    """Whether the commit's member is a member of the next generation; None if unknown."""
    if at.own is not None:
        return True
    members = at.generation.next_member_ids
    return None if members is None else at.commit.request.member_id in members


def member_removed(at: Moment) -> tuple[bool, bool]:
    """Whether the coordinator may, and must, have removed the member.

    It removes a member that sends LeaveGroup, or some time after the member's last sign of life (its session
    expired, or its LeaveGroup is not in the request log). In two cases it writes that at once: a static
    member is replaced within the generation, or the only member of a group left it empty.
    """
    generation, signs = at.generation, at.signs
    still = stays_member(at)
    if still is None:
        refused = at.commit.broker_error == "UNKNOWN_MEMBER_ID" and not generation.followed
        leaves = signs.left_by is not None or refused or generation.next_lost
    else:
        leaves = not still
    if at.state.member_known is False or not leaves:
        return False, False
    if at.unknown:
        return True, True
    empties = generation.next_member_ids is not None and not generation.next_member_ids
    at_once = generation.next_generation == generation.generation or (
        len(generation.member_ids) == 1 and empties
    )
    removed_from = signs.left_from
    if removed_from is None and at_once:
        removed_from = at.next_from
    if removed_from is None:
        removed_from = signs.seen
    removed_by = least(signs.left_by, at.next_by)
    if at.explains and signs.left_own_from is not None:
        removed_from = greatest(removed_from, signs.left_own_from)
    may = removed_from is None or removed_from <= at.end_ms
    return may, removed_by is not None and removed_by <= at.start_ms


def asks_for_another_instance(at: Moment) -> bool:
    """Whether the commit names an instance id that is not the one of its member in the log: the coordinator
    looks a static member up by that id, which another member may have by now.
    """
    instance_id = at.commit.request.instance_id
    return instance_id is not None and instance_id != at.state.member_instance_id
