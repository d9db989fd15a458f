"""One commit at one state of a classic group: whether the next state, not yet written, had already begun.

A coordinator's memory is known to be as its newest record has it if lines show it, or if no line shows a
request that changed it since. Lines that are there are certain. That a line is not there is not: a request
log may lack some, and nothing need tell so. What follows only from lines that are not there is therefore
concluded where the broker's answer agrees, and never counts against a broker (``Moment.is_against``,
``AnsweredEpoch.is_against``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fencepost.protocols.offset_commit.answers import Bounds, Join, Signs, greatest, least
from fencepost.protocols.offset_commit.order import is_behind
from fencepost.protocols.offset_commit.requests import NO_MEMBER, Commit
from fencepost.protocols.offset_commit.spans import Generation
from fencepost.protocols.offset_commit.states import State
from fencepost.replay.requests import NONE

_OF_GENERATION = (NONE, "ILLEGAL_GENERATION", "REBALANCE_IN_PROGRESS")


@dataclass(slots=True, frozen=True)
class Moment:
    """One commit at one state of a classic group, with all evidence of when the next state began.

    ``own``: the generation that its member certainly had, by the order of the member's own requests; None if
    they do not show it. ``unknown``: by the same order, the coordinator certainly had removed the member.
    ``unread``: lines of its file could not be read. ``joins``: the JoinGroups of the commit's member;
    ``replacements``: those of others with the instance id that it presents. ``may_have_joined``: the
    member may have joined since the newest record. ``start_ms`` to ``end_ms``: when the commit was decided.
    ``next_from`` to ``next_by``: when the group's next record was written; None if another broker's clock
    dated it, that of a later coordinator.

    A request of the commit's own member is after the commit if its line comes later on the same connection.
    If it is on another connection and began after the answer to the commit, it is after it, too, although it
    may have begun within the tolerance: a client goes on when it has its answer. This is concluded only where
    it explains the answer (``explains``).
    """

    commit: Commit
    state: State
    generation: Generation
    bounds: Bounds
    signs: Signs
    joins: Sequence[Join]
    replacements: Sequence[Join]
    own: int | None
    unread: bool
    unknown: bool
    may_have_joined: bool
    start_ms: int
    end_ms: int
    next_from: int | None
    next_by: int | None

    @property
    def explains(self) -> bool:
        """Whether the broker gave the answer that the state as written has: accepted at its generation,
        ILLEGAL_GENERATION at another.
        """
        return self.state.member_known is True and self.commit.broker_error == self._answer

    @property
    def is_against(self) -> bool:
        """Whether the broker gave an answer about the generation that the state as written does not have."""
        error = NONE if self.commit.accepted else self.commit.broker_error
        may_be_member = self.state.member_known is not False or self.may_have_joined
        return error in _OF_GENERATION and not (may_be_member and error == self._answer)

    @property
    def _answer(self) -> str:
        is_current = self.commit.request.client_epoch == self.generation.generation
        return NONE if is_current else "ILLEGAL_GENERATION"

    def arrival(self, member_id: str) -> int | None:
        """The earliest moment at which a member's JoinGroup for the next generation arrived."""
        arrival = self.bounds.joined.get(member_id)
        if arrival is None:
            return None
        is_own = member_id == self.commit.request.member_id
        return arrival.own_ms if is_own and self.explains else arrival.ms

    @property
    def is_refused_last(self) -> bool:
        """Whether the commit was refused as a stranger's, and the group has no later record: a JoinGroup that
        still waits is not in the request log.
        """
        return self.commit.broker_error in NO_MEMBER and not self.generation.followed

    @property
    def was_written(self) -> bool:
        """Whether the generation was written with the commit's member."""
        return self.commit.request.member_id in self.generation.member_ids

    @property
    def is_followed_unwritten(self) -> bool:
        """Whether a generation has begun before the one that is written next, or may have: no record has the
        members of a generation that never had an assignment.
        """
        following = self.generation.next_generation
        skips = following is not None and following > self.generation.generation + 1
        return skips or self.generation.is_loaded_again or self.bounds.beyond is not None

    @property
    def lasts(self) -> bool:
        """Whether the commit's member was still one, because a later line on its connection shows it."""
        later = (self.signs.left, self.signs.seen)
        return any(each is not None and is_behind(each.line, self.commit.request) for each in later)


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
    if _joins_later(at) or _is_emptied_later(at):
        return False, False
    begun_by, begun_from = least(bounds.begun_by, at.next_by), _begun_from(at)
    moves = _moves(at)
    may = moves and (begun_from is None or begun_from <= at.end_ms)
    must = moves and begun_by is not None and begun_by <= at.start_ms
    return may, must


def _is_emptied_later(at: Moment) -> bool:
    """Whether the commit was accepted at its member's generation by a coordinator under which the group did
    not become empty: that is written at once, and a later coordinator wrote it.
    """
    generation = at.generation
    empties = generation.is_followed_by_next and not generation.next_member_ids
    return empties and at.next_by is None and at.explains and at.commit.broker_error == NONE


def _moves(at: Moment) -> bool:
    """Whether a generation may have begun after this one and before the next record."""
    generation, bounds = at.generation, at.bounds
    if generation.next_generation is not None:
        return generation.next_generation > generation.generation
    shown = bounds.begun_by is not None or generation.next_lost or bounds.beyond is not None
    # a member without a record may have begun one with a JoinGroup whose line is missing
    return shown or member_as_written(at) is None or at.is_against


def _begun_from(at: Moment) -> int | None:
    """When the next generation began, at the earliest; None if that is not known."""
    generation, shown = at.generation, at.bounds.begun_from
    if generation.is_followed_by_next and not generation.next_member_ids:
        shown = greatest(shown, at.next_from)
    if at.is_against:
        return shown
    return greatest(at.bounds.beyond if at.is_followed_unwritten else _last_arrival(at), shown)


def _joins_later(at: Moment) -> bool:
    """Whether the commit was accepted at its member's generation before that member joined again, or left, as
    the order of its connection shows: a file has all lines of its time, except those that could not be read.
    A static member may stay in generations that it does not join: but not in an empty one.
    """
    request, generation = at.commit.request, at.generation
    if not (at.explains and at.commit.broker_error == NONE and at.was_written and at.lasts):
        return False
    if at.generation.is_followed_by_next and not generation.next_member_ids:
        return True
    if at.unread or at.state.member_instance_id is not None:
        return False
    joins = [each.arrival.line for each in at.joins if each.arrival.line.file == request.file]
    of_this = [line for line in joins if line.generation == generation.generation]
    later = [
        line for line in joins if line.generation is not None and line.generation > generation.generation
    ]
    seen = 0 if at.signs.seen is None else at.signs.seen.line.generation or 0
    # it joins each generation that it is in
    skips = seen > generation.generation and generation.generation + 1 not in {
        line.generation for line in later
    }
    return (
        not skips
        and any(line.position < request.position for line in of_this)
        and all(is_behind(line, request) for line in later)
    )


def _last_arrival(at: Moment) -> int | None:
    """When the last member of the next generation joined, if no line of an earlier JoinGroup is missing."""
    # a member that may have joined before it may have done so earlier than its lines show
    own = at.commit.request.member_id if member_as_written(at) is None else None
    members = at.generation.next_member_ids or ()
    arrivals = [at.arrival(member_id) for member_id in members if member_id != own]
    last, begun_by = greatest(*arrivals), least(at.bounds.begun_by, at.next_by)
    if last is None or None in arrivals or (begun_by is not None and last > begun_by):
        return None
    return last


def member_as_written(at: Moment) -> bool | None:
    """Whether the coordinator had the commit's member before the next generation began, if it was not removed
    since; None if it may have joined.
    """
    if at.state.member_known is not False and not asks_for_another_instance(at):
        return at.state.member_known
    return None if at.may_have_joined else False


def may_be_replaced(at: Moment) -> bool:
    """Whether another member may have taken over the group instance id that the commit presents."""
    request, newest = at.commit.request, at.generation.generation
    return any(join.may_precede(request, at.start_ms, newest) for join in at.replacements)


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
    one = at.generation.is_followed_by_next or at.commit.request.client_epoch < following
    return following if one else None


def waits_for_assignment(at: Moment) -> bool | None:
    """Whether the next generation was waiting for its assignment. It was if its own record is the next one;
    otherwise, None: a generation that never got an assignment waited until a member joined or left.
    """
    epoch = next_epoch(at)
    return True if epoch is not None and epoch == at.generation.next_generation else None


def stays_member(at: Moment) -> bool | None:
    """Whether the commit's member is a member of the next generation; None if unknown.

    The next record may be of a later one, or of a conversion: then a member may have joined or left since.
    """
    if at.own is not None:
        return True
    members = at.generation.next_member_ids
    if members is None:
        return None
    if at.commit.request.member_id in members:
        return True if at.was_written or at.generation.is_followed_by_next else None
    if at.generation.is_followed_by_next:
        return False
    # one that left before a record has it, and whose lines are missing, is accepted as well
    may_be_one = at.was_written or at.may_have_joined or (at.is_against and not at.state.was_member)
    return None if may_be_one else False


def member_removed(at: Moment) -> tuple[bool, bool]:
    """Whether the coordinator may, and must, have removed the member.

    It removes a member that sends LeaveGroup, or some time after the member's last sign of life (its session
    expired, or its LeaveGroup is not in the request log). In two cases it writes that at once: a static
    member is replaced within the generation, or the only member of a group left it empty.
    """
    generation, signs = at.generation, at.signs
    members = generation.next_member_ids
    if members is None:
        leaves = signs.left is not None or at.is_refused_last or generation.next_lost or may_be_replaced(at)
    else:
        leaves = at.commit.request.member_id not in members
    if at.state.member_known is False or at.own is not None or at.lasts or not leaves:
        return False, False
    if at.unknown:
        return True, True
    if len(generation.member_ids) == 1 and _is_emptied_later(at):
        return False, False
    empties = generation.next_member_ids is not None and not generation.next_member_ids
    at_once = generation.next_generation == generation.generation or (
        len(generation.member_ids) == 1 and empties
    )
    if signs.left is not None:
        removed_from: int | None = max(signs.left.ms, signs.left.own_ms if at.explains else 0)
    elif at_once and at.next_from is not None and not at.is_followed_unwritten:
        removed_from = at.next_from
    else:
        removed_from = None if signs.seen is None else signs.seen.ms
    removed_by = least(signs.left_by, at.next_by)
    may = removed_from is None or removed_from <= at.end_ms
    return may, removed_by is not None and removed_by <= at.start_ms


def asks_for_another_instance(at: Moment) -> bool:
    """Whether the commit names an instance id that is not the one of its member in the log: the coordinator
    looks a static member up by that id, which another member may have by now.
    """
    instance_id = at.commit.request.instance_id
    return instance_id is not None and instance_id != at.state.member_instance_id
