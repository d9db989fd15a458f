"""One commit at one state of a classic group: when did the next state come, which is not written yet?"""

from __future__ import annotations

from dataclasses import dataclass

from fencepost.protocols.offset_commit.answers import Bounds, Signs, greatest, least
from fencepost.protocols.offset_commit.requests import Commit
from fencepost.protocols.offset_commit.spans import Generation
from fencepost.protocols.offset_commit.states import State


@dataclass(slots=True, frozen=True)
class Moment:
    """One commit at one state of a classic group, with all that tells when the next state came.

    ``own``: the generation that its member certainly had, by the order of the member's own requests;
    ``unknown``: by the same order it certainly was no member any more.
    """

    commit: Commit
    state: State
    generation: Generation
    told: Bounds
    signs: Signs
    own: int | None
    unknown: bool
    start_ms: int
    end_ms: int
    next_from: int | None
    next_by: int | None


def begun(at: Moment) -> tuple[bool, bool]:
    """Whether the next generation may, and must, have begun.

    It begins when its last member has joined, and is told in every answer: until a member joins again
    it is in the one that it was told last. One without members is written at once.
    """
    generation, told = at.generation, at.told
    if at.own is not None:
        begun = at.own > generation.generation
        return begun, begun
    if generation.next_generation is not None:
        moves = generation.next_generation > generation.generation
    else:
        moves = told.begun_by is not None or generation.next_lost
    begun_by = least(told.begun_by, at.next_by)
    last_arrival = _last_arrival(at)
    if last_arrival is not None and (begun_by is None or last_arrival > begun_by):
        last_arrival = None
    begun_from = greatest(last_arrival, told.current)
    may = moves and (begun_from is None or begun_from <= at.end_ms)
    must = moves and begun_by is not None and begun_by <= at.start_ms
    return may, must


def _last_arrival(at: Moment) -> int | None:
    members = at.generation.next_member_ids
    if members is None:
        return None
    if not members:
        return at.next_from
    arrivals = [at.told.joined.get(member) for member in members]
    known = [arrival.ms for arrival in arrivals if arrival is not None]
    return max(known) if len(known) == len(arrivals) else None


def may_have_joined(at: Moment) -> bool:
    """Whether the member's JoinGroup for the next generation may have arrived. A broker answers one request
    of a connection after the other.
    """
    request = at.commit.request
    arrival = at.told.joined.get(request.member_id)
    if arrival is None:
        return False
    if arrival.connection is not None and arrival.connection == request.connection:
        return arrival.responded_ms < request.responded_ms
    return arrival.ms <= at.end_ms


def may_be_rebalancing_still(at: Moment) -> bool:
    """After the assignment was written the group completes its rebalance only when the record is
    replicated.
    """
    stable_by = at.told.stable_by
    return not at.commit.accepted and (stable_by is None or stable_by >= at.start_ms)


def next_epoch(at: Moment) -> int | None:
    """The generation that follows, in memory. Where there may have been several, the first for a commit from
    before all of them, which decide alike; else None.
    """
    if at.own is not None:
        return at.own
    following = at.generation.generation + 1
    one = at.generation.next_generation == following or at.commit.request.client_epoch < following
    return following if one else None


def waits(at: Moment) -> bool | None:
    """Whether the generation that follows waits for its assignment, from its beginning on. One that never had
    any waited until somebody came or left.
    """
    return True if at.generation.next_generation == next_epoch(at) else None


def stays(at: Moment) -> bool | None:
    """Whether the member of the commit is one of the next generation."""
    if at.own is not None:
        return True
    members = at.generation.next_member_ids
    return None if members is None else at.commit.request.member_id in members


def gone(at: Moment) -> tuple[bool, bool]:
    """Whether the member may, and must, be gone.

    It is gone when it leaves, after its last sign of life (its session ends, or its LeaveGroup is not in the
    log); or when that is written: a static member's successor within the generation, or that the group is
    empty, after its only member.
    """
    generation, signs = at.generation, at.signs
    still = stays(at)
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
    gone_from = signs.left_from
    if gone_from is None and at_once:
        gone_from = at.next_from
    if gone_from is None:
        gone_from = signs.seen
    gone_by = least(signs.left_by, at.next_by)
    may = gone_from is None or gone_from <= at.end_ms
    return may, gone_by is not None and gone_by <= at.start_ms


def asks_for_another_instance(at: Moment) -> bool:
    """A static member is asked for by its instance id, which may be another's by now."""
    instance_id = at.commit.request.instance_id
    return instance_id is not None and instance_id != at.state.member_instance_id
