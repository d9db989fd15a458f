"""The state of group, member and partition that a commit met: the commit record of the specification."""

from __future__ import annotations

from dataclasses import dataclass

from fencepost.protocols.offset_commit.answered_assignments import Revocations
from fencepost.protocols.offset_commit.answered_epochs import AnsweredEpoch
from fencepost.protocols.offset_commit.groups import Group
from fencepost.protocols.offset_commit.members import Member
from fencepost.protocols.offset_commit.requests import Commit, CommitRequest
from fencepost.protocols.offset_commit.spans import Generation, Span
from fencepost.protocols.offset_commit.witnesses import Assignment
from fencepost.replay.group_coordinator.lives import NO_LIFE
from fencepost.replay.keys import NAMED, TASK, key_of

ABSENT = -1
_NO_TASK = f"{TASK}:"


@dataclass(slots=True)
class State:
    """The state that a commit met. A field is None if the evidence does not show its value.

    If a stretch of the log does not show the whole life of the group, its records are still true: a member's
    own epochs and partitions, an ownership that they show. That something does not exist is only said if no
    record is missing. ``owned_key`` is the key by which the commit's partition is owned: its own, or in a
    streams group that of the task that reads it. ``was_member``: the group had the member, and removed it.
    ``is_renamed``: the partition may have been owned under another key before.
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
    was_member: bool = False
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
    is_renamed: bool = False


def state_met(group: Group, commit: Commit, stretch: int) -> State:
    """The group's present state, for a commit that was decided in this stretch of the log."""
    known = group.is_known(stretch)
    state = State(
        group.life,
        group.group_type,
        known,
        group.alive,
        # only for commits without an epoch does it matter whether the group is empty
        is_empty(group, stretch, known=known) if commit.request.client_epoch < 0 else None,
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
        _set_member(state, member)
        state.classic_member = _speaks_classic(group, span, member_id)
    elif known or (span is not None and member_id in span.gone):
        _set_no_member(state)
        state.was_member = group.was_member(member_id, stretch)
    state.instance_fenced = _instance_fenced(span, commit.request, known=known)
    _set_ownership(state, group, span, member, commit)
    return state


def state_of_answers(answered: AnsweredEpoch, commit: Commit, assignment: Assignment) -> State:
    """The state of a member by its own answers, if the records that would say more are gone.

    A coordinator gives a partition to a member of a consumer group only when no other owns it
    (ConsumerGroup.addPartitionEpochs throws). In a classic group the leader's assignment tells.
    """
    request, key = commit.request, commit.partition_key
    is_owned = key is not None and key in assignment.owned
    state = State(
        NO_LIFE,
        answered.group_type,
        known=False,
        alive=True,
        empty=False,
        state_position=None,
        owned_key=key if is_owned else None,
        generation=None,
        member_known=True,
        member_epoch=answered.epoch,
        rebalancing=answered.rebalancing,
        group_known=True,
        classic_member=answered.group_type == "classic",
        # the answers are those to the member with this instance id (Witnesses.state_before)
        instance_fenced=False,
    )
    if commit.topic is not None and assignment.owners is not None:
        owners = assignment.owners.get((commit.topic, commit.partition), ())
        others = [each for each in owners if each != request.member_id]
        state.owned_by_another, state.owner_member_id = bool(others), min(others, default=None)
        if request.member_id not in owners:
            state.owned_by_self = False
            if request.client_epoch == answered.epoch:
                state.owned_at_client_epoch = state.uninterrupted = state.reassigned_since = False
    elif is_owned and answered.group_type == "consumer":
        state.owned_by_another = False
    if assignment.revocations is not None:
        note_revocations(state, commit, assignment.revocations)
    if is_owned:
        state.owned_by_self = True
        if request.client_epoch == answered.epoch:
            # it has owned the partition since it was assigned, at the epoch that it presents
            state.owned_at_client_epoch = state.uninterrupted = True
            state.reassigned_since = False
    return state


def note_revocations(state: State, commit: Commit, revocations: Revocations) -> None:
    """Note what was revoked from a commit's member, by the answers to it. This is done only for a commit at
    the member's own epoch. Answers do not show what a member that joined again had before, but that was at an
    earlier epoch. A partition that the member has to give up at this epoch may still be pending revocation.
    """
    epoch, key = state.member_epoch, commit.partition_key
    if key is None or commit.request.client_epoch != epoch:
        return
    state.revocation_epoch = revocations.member
    last = revocations.partitions.get(key, 0)
    # another topic of the name, created since, has another key
    if last != epoch and (last or key == state.owned_key):
        state.partition_revocation_epoch = last


def is_empty(group: Group, stretch: int, *, known: bool) -> bool | None:
    if known:
        if not group.alive:
            return True
        size = group.size()
        return None if size is None else size == 0
    # a member that the records show makes the group non-empty, whatever else is missing
    shows_a_member = group.stretch == stretch and group.alive and (group.size() or 0) > 0
    return False if shows_a_member else None


def _owned_key(group: Group, commit: Commit, stretch: int, *, known: bool) -> str | None:
    """The key by which the commit's partition is owned; None if unknown.

    In a streams group it is that of the task that reads the topic, or of no task if the topology does not
    have the topic. Consumer groups own topics by id. Classic groups own names, whichever topic has the name
    now, so the name is enough if the id is not known.
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
    if key is None or key.startswith(NAMED):
        return None
    # without older records of the metadata log a name may have been that of such a topic
    is_of_unnamed = span is not None and span.ownership.has_unnamed and not span.ownership.knows(key)
    return None if is_of_unnamed and commit.topic is not None else key


def _task(span: Span, commit: Commit) -> str | None:
    if commit.topic is None:
        return None
    for subtopology in span.topology or ():
        if commit.topic in subtopology.topics:
            return key_of(f"{TASK}{subtopology.subtopology_id}", commit.partition)
    return _NO_TASK


def _set_member(state: State, member: Member) -> None:
    """Set the member's own state, as its newest record has it."""
    newest = member.newest
    state.member_known = True
    state.member_instance_id = newest.instance_id
    state.member_epoch = newest.member_epoch
    state.revocation_epoch = member.revocation_epoch
    if state.owned_key is not None and newest.owned is not None:
        _set_owned_partition(state, member, state.owned_key)


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
        # one member replaces another, and the batch has not ended: the older one still has the id
        return next(member_id for member_id in span.members if member_id in holders) != request.member_id
    if holders:
        return request.member_id not in holders
    return False if known else None


def _set_no_member(state: State) -> None:
    state.member_known = state.classic_member = state.owned_by_self = False
    state.member_epoch = state.revocation_epoch = ABSENT
    state.partition_revocation_epoch = state.assignment_epoch = ABSENT


def _set_owned_partition(state: State, member: Member, key: str) -> None:
    revoked, first = member.revocations.get(key), member.first_epoch
    if revoked is None or (first is not None and first > revoked.epoch):
        state.partition_revocation_epoch = first
    else:
        state.partition_revocation_epoch = revoked.epoch
    # a static member that has left for a while stays a member, but owns nothing until it is back
    owned = None if member.is_away else member.owned.get(key)
    if owned is None:
        state.assignment_epoch, state.owned_by_self = ABSENT, False
    else:
        state.assignment_epoch, state.owned_by_self = owned.assignment_epoch, True
        state.recorded = owned.recorded
        state.entered_epoch = member.entered_epoch(key)


def _set_ownership(
    state: State, group: Group, span: Span | None, member: Member | None, commit: Commit
) -> None:
    """Set who owned the partition at the client's epoch, who has owned it since, and who owns it now."""
    key, request = state.owned_key, commit.request
    known = past_known = state.known and key is not None
    own_last, reassigned = None, False
    if span is not None and key is not None:
        ownership = span.ownership
        state.is_renamed = ownership.is_renamed
        past_known = known and not state.is_renamed
        own_last = ownership.last_at_epoch(key, request.member_id, request.client_epoch)
        others = ownership.others_now(key, request.member_id)
        for other in others:
            if not span.members[other].is_away:
                state.owner_member_id = other
                break
        if own_last is not None:
            last = group.no if others else ownership.last_of_others_before(key, request.member_id)
            reassigned = last is not None and last > own_last
    if own_last is not None:
        state.owned_at_client_epoch = True
        state.uninterrupted = _uninterrupted(state, member, own_last)
        state.reassigned_since = True if reassigned else False if past_known else None
    # without a member id nobody owns anything, and compaction left nothing that shows who owned a partition
    # at an older epoch
    elif not request.member_id or (
        past_known and (group.base_epoch is None or request.client_epoch > group.base_epoch)
    ):
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
