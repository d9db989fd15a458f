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

from fencepost.protocols.offset_commit.answered_epochs import AnsweredEpoch
from fencepost.protocols.offset_commit.answers import Answers
from fencepost.protocols.offset_commit.lateness import Lateness
from fencepost.protocols.offset_commit.moments import (
    Moment,
    asks_for_another_instance,
    begun,
    gone,
    may_be_rebalancing_still,
    may_have_joined,
    next_epoch,
    stays,
    waits,
)
from fencepost.protocols.offset_commit.requests import Commit, CommitRequest
from fencepost.protocols.offset_commit.spans import Generation
from fencepost.protocols.offset_commit.states import ABSENT, State

AS_WRITTEN, NEXT_GENERATION, STILL_REBALANCING, GONE = range(4)


@dataclass(slots=True, frozen=True)
class UnwrittenStates:
    """What the coordinator of one classic group had in memory, beyond its log.

    ``leaders``: broker ids by leader epoch; ``told``: what a request's member had been told (Witnesses.told).
    """

    answers: Answers
    told: Callable[[CommitRequest], AnsweredEpoch | None]
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

    def _moment(self, commit: Commit, state: State, generation: Generation) -> Moment:
        request, epoch = commit.request, generation.next_leader_epoch
        led_by = None if epoch is None else self.leaders.get(epoch)
        # times of two brokers are of two clocks
        late_ms = self.lateness.of(request)
        next_ms = generation.next_ms if led_by is None or led_by == request.broker_id else None
        signs = self.answers.signs(request.broker_id, request.member_id)
        return Moment(
            commit,
            state,
            generation,
            self.answers.told(generation, request.broker_id),
            signs,
            self._own(request, state, generation, next_ms),
            # a coordinator that has moved meanwhile goes by the log, where it is a member still
            generation.leader_epoch == epoch and signs.was_told(request.connection, request.responded_ms),
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


def _outlasts(
    request: CommitRequest, told: AnsweredEpoch, generation: Generation, next_ms: int | None
) -> bool:
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


def _variants(at: Moment) -> list[State]:
    may_have_begun, must_have_begun = begun(at)
    may_be_gone, must_be_gone = gone(at)
    request = at.commit.request
    there = False if asks_for_another_instance(at) else at.state.member_known
    waiting, epoch = there, at.state.member_epoch
    if there is False and may_have_joined(at):
        # whoever joins is a member as soon as its JoinGroup has arrived
        waiting, epoch = None, at.generation.generation
    plain = not must_have_begun and not must_be_gone
    # who has taken an instance id since is not told, but by its member's own requests
    instance_fenced = False if request.instance_id is None or at.own is not None else None
    found = []
    if plain:
        found.append(_as_met(at.state, AS_WRITTEN, epoch, waiting))
    if may_have_begun and not must_be_gone:
        # a commit at the generation that has just begun comes from a member of it, as its answer said
        ahead = request.client_epoch > at.generation.generation
        joined = stays(at) if ahead else stays(at) or there
        met = _as_met(at.state, NEXT_GENERATION, next_epoch(at), joined)
        met.rebalancing = waits(at)
        met.instance_fenced = instance_fenced
        if ahead and joined is not False:
            # What a member has that waits for its first assignment is not told: its partitions of the
            # generation before (cooperative rebalancing), or none.
            met.owned_at_client_epoch = met.uninterrupted = None
        found.append(met)
    if plain and may_be_rebalancing_still(at):
        found.append(_as_met(at.state, STILL_REBALANCING, epoch, waiting))
    if may_be_gone:
        found.append(replace(_absent(at.state), instance_fenced=instance_fenced))
    return found


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
