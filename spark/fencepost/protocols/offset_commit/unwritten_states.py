"""States of a classic group that its coordinator has in memory and has not written yet.

A coordinator writes a classic group when a generation has its assignment. Before that its memory is ahead of
its log: the next generation has begun (COMPLETING_REBALANCE), or a member has left. Both show in the answers
to other requests of the group and, later, in the next record. This module derives from them further states
that a commit may have met (org.apache.kafka.coordinator.group.classic).

It first uses the answers to the commit's own member before and after the commit, which need no clock
(``witnesses``): a generation begins when the last of its members has joined again. Then it uses the times of
the answers to other members (``answers``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from fencepost.protocols.offset_commit.answered_epochs import AnsweredEpoch
from fencepost.protocols.offset_commit.answers import Answers, Since
from fencepost.protocols.offset_commit.lateness import Lateness
from fencepost.protocols.offset_commit.moments import (
    Moment,
    asks_for_another_instance,
    may_be_rebalancing_still,
    member_as_written,
    member_removed,
    next_epoch,
    next_generation_begun,
    stays_member,
    waits_for_assignment,
)
from fencepost.protocols.offset_commit.requests import Commit, CommitRequest
from fencepost.protocols.offset_commit.spans import Generation
from fencepost.protocols.offset_commit.states import ABSENT, State
from fencepost.protocols.offset_commit.unrecorded_groups import began_after
from fencepost.replay.line_times import LineTimesOfCluster
from fencepost.replay.unread_lines import UnreadLines

AS_WRITTEN, NEXT_GENERATION, STILL_REBALANCING, GONE = range(4)


@dataclass(slots=True, frozen=True)
class UnwrittenStates:
    """The states that the coordinator of one classic group had in memory, beyond its log.

    ``leaders``: leader epoch -> broker id. ``state_before``: the state of a request's member by the answers
    to it (Witnesses.state_before). ``line_times``: what times of lines are worth. ``unread_lines``:
    positions of lines that could not be read, by file.
    """

    answers: Answers
    state_before: Callable[[CommitRequest], AnsweredEpoch | None]
    leaders: Mapping[int, int | None]
    lateness: Lateness
    line_times: LineTimesOfCluster
    unread_lines: UnreadLines

    def states(self, commit: Commit, state: State) -> list[State]:
        """The states that a commit may have met if ``state`` is the state in the log: one to four variants.

        All that are possible are returned, also for an accepted commit: the broker's answer is what is
        judged, so it is no evidence of the state.
        """
        generation = state.generation
        # before the group's first record there is no generation that memory could be ahead of
        if state.group_type != "classic" or not state.alive or generation is None:
            return [state]
        at = self._moment(commit, state, generation)
        return [self._without_epoch(at)] if commit.request.client_epoch < 0 else _variants(at) or [state]

    def _without_epoch(self, at: Moment) -> State:
        """The state of a commit without a generation: it is decided by whether the group is empty and has the
        member.
        """
        request, state, empty = at.commit.request, at.state, at.state.empty
        since = self._since(request, at.generation)
        if empty and (
            not at.commit.accepted
            or self.answers.joins(request.broker_id).may_precede(request, at.start_ms, since)
        ):
            empty = None
        state = replace(state, empty=empty)
        if request.member_id == "" and request.instance_id is None:
            return state
        may_be_gone, must_be_gone = member_removed(at)
        if must_be_gone:
            return _absent(state)
        known = member_as_written(at)
        return replace(
            state,
            member_known=True if at.own is not None else None if known and may_be_gone else known,
            member_epoch=_epoch(at, known),
            instance_fenced=None if may_be_gone and request.instance_id is not None else _instance_fenced(at),
        )

    def _since(self, request: CommitRequest, generation: Generation) -> Since:
        began_ms = began_after(generation.life_after, request, self.leaders, self.lateness)
        return Since(generation.generation, began_ms)

    def _moment(self, commit: Commit, state: State, generation: Generation) -> Moment:
        request, epoch = commit.request, generation.next_leader_epoch
        led_by = None if epoch is None else self.leaders.get(epoch)
        # times of two brokers are of two clocks
        late_ms = self.lateness.of(request)
        next_ms = generation.next_ms if led_by is None or led_by == request.broker_id else None
        next_range = self.line_times.range_of(request.broker_id, next_ms or 0)
        signs = self.answers.signs(request.broker_id, request.member_id)
        return Moment(
            commit,
            state,
            generation,
            self.answers.bounds(generation, request.broker_id),
            signs,
            self.answers.joins_of(request.broker_id, request.member_id),
            self.answers.replacements(request, self._since(request, generation)),
            self._own(request, state, generation, next_ms),
            bool(self.unread_lines.get(request.file)),
            # a new coordinator loads the log, in which the member is still one
            generation.leader_epoch == epoch
            and signs.was_answered_unknown(request.connection, request.responded_ms),
            self._may_have_joined(request, state, generation),
            request.requested_ms - late_ms,
            request.responded_ms,
            None if next_ms is None else next_range.low_ms - late_ms,
            None if next_ms is None else next_range.high_ms + late_ms,
        )

    def _may_have_joined(self, request: CommitRequest, state: State, generation: Generation) -> bool:
        if state.was_member:
            # one that was removed never joins again: member ids are given once
            return False
        start_ms = request.requested_ms - self.lateness.of(request)
        since = self._since(request, generation)
        if state.member_known:
            return self.answers.shows_join(request, start_ms, since)
        following = generation.next_member_ids or ()
        # the record of the next generation would have it
        told = request.is_answered_as_member and not generation.is_followed_by_next
        return self.answers.may_have_joined(request, start_ms, since, following, told=told)

    def _own(
        self, request: CommitRequest, state: State, generation: Generation, next_ms: int | None
    ) -> int | None:
        """The generation that its answers give the request's member; None if they give none, or if the
        records show that answers are missing in the request log.
        """
        answered = self.state_before(request)
        if answered is None or answered.epoch < generation.generation:
            return None
        newest = generation.next_generation
        if newest is not None and answered.epoch > newest:
            return None
        if answered.until_ms is not None and not _outlasts(request, answered, generation, next_ms):
            return None
        return None if answered.epoch == generation.generation and not state.member_known else answered.epoch


def _outlasts(
    request: CommitRequest, answered: AnsweredEpoch, generation: Generation, next_ms: int | None
) -> bool:
    """Whether the next record agrees with a member whose session had not expired at the request: the record
    still has the member, or it was written when the session may have expired, or under a coordinator that
    still met the member. If another member replaced a static one, that is in the next generation.
    """
    if answered.met_again or request.member_id in (generation.next_member_ids or ()):
        return True
    if next_ms is None or answered.until_ms is None or next_ms < answered.until_ms:
        return False
    return answered.instance_id is None or (
        generation.is_followed_by_next and answered.instance_id not in (generation.next_instances or ())
    )


def _variants(at: Moment) -> list[State]:
    may_have_begun, must_have_begun = next_generation_begun(at)
    may_be_gone, must_be_gone = member_removed(at)
    request = at.commit.request
    is_member = False if asks_for_another_instance(at) else at.state.member_known
    known, fenced = member_as_written(at), _instance_fenced(at)
    epoch = _epoch(at, known)
    plain = not must_have_begun and not must_be_gone
    # whether another member has the instance id by now is known only from the member's own requests
    instance_fenced = False if request.instance_id is None or at.own is not None else None
    variants = []
    if plain:
        variants.append(replace(_as_met(at.state, AS_WRITTEN, epoch, known), instance_fenced=fenced))
    if may_have_begun and not must_be_gone:
        # a commit with the generation that has just begun comes from a member whose JoinGroup was answered
        ahead = request.client_epoch > at.generation.generation
        joined = stays_member(at) if ahead else stays_member(at) or is_member
        next_state = _as_met(at.state, NEXT_GENERATION, next_epoch(at), joined)
        next_state.rebalancing = waits_for_assignment(at)
        next_state.instance_fenced = instance_fenced
        if ahead and joined is not False:
            # It is unknown what a member owns that waits for its first assignment in the generation: its
            # partitions of the generation before (cooperative rebalancing), or none.
            next_state.owned_at_client_epoch = next_state.uninterrupted = None
        variants.append(next_state)
    if plain and may_be_rebalancing_still(at):
        variants.append(replace(_as_met(at.state, STILL_REBALANCING, epoch, known), instance_fenced=fenced))
    if may_be_gone:
        variants.append(replace(_absent(at.state), instance_fenced=instance_fenced))
    return variants


def _epoch(at: Moment, known: bool | None) -> int | None:
    """The epoch of a member as written; of one that may have joined since, that of the generation."""
    joined = known is not False and at.state.member_known is False
    return at.generation.generation if joined else at.state.member_epoch


def _instance_fenced(at: Moment) -> bool | None:
    """Whether another member has the instance id that the commit presents, if the member was not removed."""
    if at.commit.request.instance_id is None or at.own is not None:
        return False
    # a member that may have joined may have taken the instance id over
    return None if member_as_written(at) is None else at.state.instance_fenced


def _as_met(state: State, variant: int, epoch: int | None, is_member: bool | None) -> State:
    return replace(
        state,
        member_epoch=ABSENT if is_member is False else epoch,
        member_known=is_member,
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
