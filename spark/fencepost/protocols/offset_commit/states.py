"""The state of group, member and partition that a commit met: the specification's commit record."""

from __future__ import annotations

from dataclasses import dataclass

from fencepost.protocols.offset_commit.answered_epochs import AnsweredEpoch
from fencepost.protocols.offset_commit.groups import Group
from fencepost.protocols.offset_commit.members import Member
from fencepost.protocols.offset_commit.requests import Commit, CommitRequest
from fencepost.protocols.offset_commit.spans import Generation, Span
from fencepost.replay.group_coordinator.lives import NO_LIFE
from fencepost.replay.keys import NAMED, TASK, key_of

ABSENT = -1
_NO_TASK = f"{TASK}:"


@dataclass(slots=True)
class State:
    """What a commit met. A field is None when the evidence does not settle it.

    Inside a stretch that does not know the whole life, what records of the stretch show is still true: a
    member's own epochs and partitions, an ownership that was seen. That something was not there is only said
    when nothing is missing. ``owned_key`` is that by which the commit's partition is owned: its own key, or
    in a streams group the task that reads it.
    """

    life: int
    group_type: str | None
    known: bool
    alive: bool
    empty: bool | None
    state_position: int | None
    owned_key: str | None
    generation: Generation | None
    member_known: bool | None = None
    member_instance_id: str | None = None
    member_epoch: int | None = None
    revocation_epoch: int | None = None
    partition_revocation_epoch: int | None = None
    assignment_epoch: int | None = None
    recorded: bool | None = None
    entered_epoch: int | None = None
    owned_at_client_epoch: bool | None = None
    uninterrupted: bool | None = None
    reassigned_since: bool | None = None
    owned_by_self: bool | None = None
    owned_by_another: bool | None = None
    owner_member_id: str | None = None
    rebalancing: bool | None = False
    group_known: bool | None = None
    classic_member: bool | None = None
    instance_fenced: bool | None = None
    variant: int = 0


def state_met(group: Group, commit: Commit, stretch: int) -> State:
    """The state as it is now, for a commit that was decided in this stretch of the log."""
    known = group.is_known(stretch)
    state = State(
        group.life,
        group.group_type,
        known,
        group.alive,
        # only commits without an epoch are let through for that
        _is_empty(group, stretch, known=known) if commit.request.client_epoch < 0 else None,
        group.position,
        _owned_key(group, commit, stretch, known=known),
        group.written if group.stretch == stretch else None,
    )
    if state.generation is None and not known and group.group_type in (None, "classic"):
        state.rebalancing = None
    span = group.span_in(stretch)
    member_id = commit.request.member_id
    member = None if span is None else span.members.get(member_id)
    if group.alive:
        state.group_known = True
    if span is not None and member is not None:
        _meet_member(state, member)
        state.classic_member = _speaks_classic(group, span, member_id)
    elif known or (span is not None and member_id in span.gone):
        _miss_member(state)
    state.instance_fenced = _instance_fenced(span, commit.request, known=known)
    _meet_partition(state, group, span, member, commit)
    return state


def state_told(told: AnsweredEpoch, commit: Commit, owned: frozenset[str]) -> State:
    """The state of a member as it was told itself, where the records that would say more are gone.

    ``owned``: what it certainly had, of the partitions that it may have had.
    """
    request, key = commit.request, commit.partition_key
    has = key is not None and key in owned
    state = State(
        NO_LIFE,
        told.group_type,
        known=False,
        alive=True,
        empty=False,
        state_position=None,
        owned_key=key if has else None,
        generation=None,
        member_known=True,
        member_epoch=told.epoch,
        rebalancing=told.rebalancing,
        group_known=True,
        classic_member=told.group_type == "classic",
        # who has an instance id is told of it by nothing else
        instance_fenced=False,
    )
    if has:
        state.owned_by_self = True
        if request.client_epoch == told.epoch:
            # it has had the partition since it was told so, in the epoch that it presents
            state.owned_at_client_epoch = state.uninterrupted = True
            state.reassigned_since = False
    return state


def _is_empty(group: Group, stretch: int, *, known: bool) -> bool | None:
    if known:
        if not group.alive:
            return True
        size = group.size()
        return None if size is None else size == 0
    # a member that was seen is there, whoever else was not seen
    seen = group.stretch == stretch and group.alive and (group.size() or 0) > 0
    return False if seen else None


def _owned_key(group: Group, commit: Commit, stretch: int, *, known: bool) -> str | None:
    """A topic that the topology of a streams group does not have is read by no task.

    Consumer groups own topic ids. Classic groups own names, whichever topic has them now, so a name will do
    where the id is not known.
    """
    span = group.span_in(stretch)
    if group.group_type == "streams":
        if span is None or not span.has_topology:
            return _NO_TASK if known else None
        return _task(span, commit)
    key = commit.partition_key
    if group.group_type == "classic":
        named = None if span is None else span.ownership.key_of(commit.topic, commit.partition)
        return key if named is None else named
    return None if key is None or key.startswith(NAMED) else key


def _task(span: Span, commit: Commit) -> str | None:
    if commit.topic is None:
        return None
    for subtopology in span.topology or ():
        if commit.topic in subtopology.topics:
            return key_of(f"{TASK}{subtopology.subtopology_id}", commit.partition)
    return _NO_TASK


def _meet_member(state: State, member: Member) -> None:
    """The member's own state, as its newest record there says."""
    newest = member.newest
    state.member_known = True
    state.member_instance_id = newest.instance_id
    state.member_epoch = newest.member_epoch
    state.revocation_epoch = member.revocation_epoch
    if state.owned_key is not None and newest.owned is not None:
        _meet_owned(state, member, state.owned_key)


def _speaks_classic(group: Group, span: Span, member_id: str) -> bool | None:
    if group.group_type != "consumer":
        return group.group_type == "classic"
    metadata = span.metadata.get(member_id)
    return None if metadata is None else metadata.speaks_classic


def _instance_fenced(span: Span | None, request: CommitRequest, *, known: bool) -> bool | None:
    """Whether another member has the group instance id that a request presents."""
    if request.instance_id is None:
        return False
    holders = () if span is None else span.holders.get(request.instance_id, ())
    if span is not None and len(holders) > 1:
        # one takes the place of another: the batch is not at its end
        return next(member_id for member_id in span.members if member_id in holders) != request.member_id
    if holders:
        return request.member_id not in holders
    return False if known else None


def _miss_member(state: State) -> None:
    state.member_known = state.classic_member = state.owned_by_self = False
    state.member_epoch = state.revocation_epoch = ABSENT
    state.partition_revocation_epoch = state.assignment_epoch = ABSENT


def _meet_owned(state: State, member: Member, key: str) -> None:
    revoked, first = member.revocations.get(key), member.first_epoch
    if revoked is None or (first is not None and first > revoked.epoch):
        state.partition_revocation_epoch = first
    else:
        state.partition_revocation_epoch = revoked.epoch
    # a static member that is away keeps its place, and owns nothing until it is back
    owned = None if member.is_away else member.owned.get(key)
    if owned is None:
        state.assignment_epoch, state.owned_by_self = ABSENT, False
    else:
        state.assignment_epoch, state.owned_by_self = owned.assignment_epoch, True
        state.recorded = owned.recorded
        state.entered_epoch = member.entered_epoch(key)


def _meet_partition(
    state: State, group: Group, span: Span | None, member: Member | None, commit: Commit
) -> None:
    """Who had the partition at the client's epoch, since then, and has it now."""
    key, request = state.owned_key, commit.request
    known = state.known and key is not None
    own_last, taken = None, False
    if span is not None and key is not None:
        ownership = span.ownership
        own_last = ownership.last_at_epoch(key, request.member_id, request.client_epoch)
        others = ownership.others_now(key, request.member_id)
        for other in others:
            if not span.members[other].is_away:
                state.owner_member_id = other
                break
        if own_last is not None:
            last = group.no if others else ownership.last_of_others_before(key, request.member_id)
            taken = last is not None and last > own_last
    if own_last is not None:
        state.owned_at_client_epoch = True
        state.uninterrupted = _uninterrupted(state, member, own_last)
        state.reassigned_since = True if taken else False if known else None
    # who owned what at an epoch from before a compaction is not told by what it left
    elif known and (group.base_epoch is None or request.client_epoch > group.base_epoch):
        state.owned_at_client_epoch = state.uninterrupted = state.reassigned_since = False
    if state.owner_member_id is not None:
        state.owned_by_another = True
    elif known:
        state.owned_by_another = False


def _uninterrupted(state: State, member: Member | None, own_last: int) -> bool | None:
    key = state.owned_key
    if member is None or key is None:
        return False
    tenure = None if member.is_away else member.tenures.get(key)
    if tenure is not None and tenure.since_no <= own_last:
        return True
    # a record of the member that could not be read may have listed the partition all along
    return None if member.ever_unread else False
