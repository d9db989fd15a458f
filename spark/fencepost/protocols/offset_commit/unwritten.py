"""What the coordinator of a classic group knows and has not written yet.

A classic group is written when a generation has its assignment. Before that the coordinator's memory is ahead
of its log: the next generation has begun (COMPLETING_REBALANCE), or a member has left. Both show in the
answers to other requests of the group and, later, in the next record: here they become further states that a
commit may have met, each where it may have been true (org.apache.kafka.coordinator.group.classic).

What a commit's own member was told before and after it is asked first, without a clock (``witnesses``): a
generation begins when the last of its members has joined again. The rest is told by when others were answered
(``answers``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from fencepost.protocols.offset_commit.answers import Answers, Bounds, Signs, greatest, least
from fencepost.protocols.offset_commit.groups import Generation
from fencepost.protocols.offset_commit.lateness import Lateness
from fencepost.protocols.offset_commit.requests import Commit, CommitRequest
from fencepost.protocols.offset_commit.states import ABSENT, State
from fencepost.protocols.offset_commit.told import Told

AS_WRITTEN, NEXT_GENERATION, STILL_REBALANCING, GONE = range(4)


@dataclass(slots=True, frozen=True)
class _Moment:
    """One commit at one state of a classic group, with all that tells when the next state came.

    ``own``: the generation that its member certainly had, by the order of the member's own requests.
    """

    commit: Commit
    state: State
    generation: Generation
    told: Bounds
    signs: Signs
    own: int | None
    start_ms: int
    end_ms: int
    next_from: int | None
    next_by: int | None


@dataclass(slots=True, frozen=True)
class Memory:
    """What the coordinator of one classic group had in memory, beyond its log.

    ``leaders``: broker ids by leader epoch; ``told``: what a request's member had been told (Witnesses.told).
    """

    answers: Answers
    told: Callable[[CommitRequest], Told | None]
    leaders: Mapping[int, int | None]
    lateness: Lateness

    def states(self, commit: Commit, state: State) -> list[State]:
        """The states that a commit may have met where the log says ``state``: one to four, by variant.

        Where it may have met either both are given, also when it was accepted: what the broker answered is no
        evidence of what it met.
        """
        generation = state.generation
        if (
            state.group_type != "classic"
            or not state.alive
            or commit.request.client_epoch < 0
            # a record that is not there (before the group's first) leaves nothing to be ahead of
            or generation is None
        ):
            return [state]
        return _variants(self._moment(commit, state, generation)) or [state]

    def _moment(self, commit: Commit, state: State, generation: Generation) -> _Moment:
        request, epoch = commit.request, generation.next_leader_epoch
        led_by = None if epoch is None else self.leaders.get(epoch)
        # times of two brokers are of two clocks
        late_ms = self.lateness.of(request)
        next_ms = generation.next_ms if led_by is None or led_by == request.broker_id else None
        return _Moment(
            commit,
            state,
            generation,
            self.answers.told(generation, request.broker_id),
            self.answers.signs(request.broker_id, request.member_id),
            self._own(request, state, generation, next_ms),
            request.requested_ms - late_ms,
            request.responded_ms,
            None if next_ms is None else next_ms - late_ms,
            None if next_ms is None else next_ms + late_ms,
        )

    def _own(
        self, request: CommitRequest, state: State, generation: Generation, next_ms: int | None
    ) -> int | None:
        """The generation that the request's member was told to be in; None where it was not, or where the
        records say that more was told than is in the log.
        """
        told = self.told(request)
        if told is None or told.epoch < generation.generation:
            return None
        newest = generation.next_generation
        if newest is not None and told.epoch > newest:
            return None
        if told.until_ms is not None and not _outlasts(request, told, generation, next_ms):
            return None
        return None if told.epoch == generation.generation and not state.member_known else told.epoch


def _outlasts(request: CommitRequest, told: Told, generation: Generation, next_ms: int | None) -> bool:
    """Whether the next record is one that follows a member whose time was not over: it has the member, or
    comes when that may have been. Who took a static member's place is in the generation after it.
    """
    if request.member_id in (generation.next_member_ids or ()):
        return True
    if next_ms is None or told.until_ms is None or next_ms < told.until_ms:
        return False
    one_more = generation.next_generation == generation.generation + 1
    return told.instance_id is None or (
        one_more and told.instance_id not in (generation.next_instances or ())
    )


def _variants(at: _Moment) -> list[State]:
    may_have_begun, must_have_begun = _begun(at)
    may_be_gone, must_be_gone = _gone(at)
    request = at.commit.request
    there = False if _asks_for_another_instance(at) else at.state.member_known
    plain = not must_have_begun and not must_be_gone
    # who has taken an instance id since is not told, but by its member's own requests
    instance_fenced = False if request.instance_id is None or at.own is not None else None
    found = []
    if plain:
        found.append(_as_met(at.state, AS_WRITTEN, at.state.member_epoch, there))
    if may_have_begun and not must_be_gone:
        # a commit at the generation that has just begun comes from a member of it, as its answer said
        ahead = request.client_epoch > at.generation.generation
        joined = _stays(at) if ahead else there
        met = _as_met(at.state, NEXT_GENERATION, _next_epoch(at), joined)
        met.rebalancing = _waits(at)
        met.instance_fenced = instance_fenced
        if ahead and joined is not False:
            # What a member has that waits for its first assignment is not told: its partitions of the
            # generation before (cooperative rebalancing), or none.
            met.owned_at_client_epoch = met.uninterrupted = None
        found.append(met)
    if plain and _may_be_rebalancing_still(at):
        found.append(_as_met(at.state, STILL_REBALANCING, at.state.member_epoch, there))
    if may_be_gone:
        found.append(replace(_absent(at.state), instance_fenced=instance_fenced))
    return found


def _begun(at: _Moment) -> tuple[bool, bool]:
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


def _last_arrival(at: _Moment) -> int | None:
    members = at.generation.next_member_ids
    if members is None:
        return None
    if not members:
        return at.next_from
    arrivals = [at.told.joined.get(member) for member in members]
    known = [ms for ms in arrivals if ms is not None]
    return max(known) if len(known) == len(arrivals) else None


def _may_be_rebalancing_still(at: _Moment) -> bool:
    """After the assignment was written the group completes its rebalance only when the record is
    replicated.
    """
    stable_by = at.told.stable_by
    return not at.commit.accepted and (stable_by is None or stable_by >= at.start_ms)


def _next_epoch(at: _Moment) -> int | None:
    """The generation that follows, in memory. Where there may have been several, the first for a commit from
    before all of them, which decide alike; else None.
    """
    if at.own is not None:
        return at.own
    following = at.generation.generation + 1
    one = at.generation.next_generation == following or at.commit.request.client_epoch < following
    return following if one else None


def _waits(at: _Moment) -> bool | None:
    """Whether the generation that follows waits for its assignment, from its beginning on. One that never had
    any waited until somebody came or left.
    """
    return True if at.generation.next_generation == _next_epoch(at) else None


def _stays(at: _Moment) -> bool | None:
    if at.own is not None:
        return True
    members = at.generation.next_member_ids
    return None if members is None else at.commit.request.member_id in members


def _gone(at: _Moment) -> tuple[bool, bool]:
    """Whether the member may, and must, be gone.

    It is gone when it leaves, after its last sign of life (its session ends, or its LeaveGroup is not in the
    log); or when that is written: a static member's successor within the generation, or that the group is
    empty, after its only member.
    """
    generation, signs = at.generation, at.signs
    stays = _stays(at)
    if stays is None:
        refused = at.commit.broker_error == "UNKNOWN_MEMBER_ID" and not generation.followed
        leaves = signs.left_by is not None or refused or generation.next_lost
    else:
        leaves = not stays
    if at.state.member_known is False or not leaves:
        return False, False
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


def _asks_for_another_instance(at: _Moment) -> bool:
    """A static member is asked for by its instance id, which may be another's by now."""
    instance_id = at.commit.request.instance_id
    return instance_id is not None and instance_id != at.state.member_instance_id


def _as_met(state: State, variant: int, epoch: int | None, there: bool | None) -> State:
    return replace(
        state,
        member_epoch=ABSENT if there is False else epoch,
        member_known=there,
        rebalancing=variant in (NEXT_GENERATION, STILL_REBALANCING),
        variant=variant,
    )


def _absent(state: State) -> State:
    return replace(
        state,
        member_known=False,
        member_epoch=ABSENT,
        revocation_epoch=ABSENT,
        partition_revocation_epoch=ABSENT,
        assignment_epoch=ABSENT,
        owned_by_self=False,
        uninterrupted=False,
        variant=GONE,
    )
