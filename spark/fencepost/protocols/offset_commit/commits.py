"""Writes the tables of silver about commits: requests and answers, and the states each may have met."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.protocols.offset_commit.brokers import (
    ASSIGNMENT_EPOCH,
    NAMES_MISSING_GROUPS,
    PRODUCERS_NEED_NO_MEMBER,
    SHARE,
    is_since,
    rule_of,
)
from fencepost.protocols.offset_commit.commit_rows import commit_rows, state_rows
from fencepost.protocols.offset_commit.lateness import Lateness
from fencepost.protocols.offset_commit.matches import Matches
from fencepost.protocols.offset_commit.offsets import OffsetMetadataManager
from fencepost.protocols.offset_commit.outcomes import Outcomes
from fencepost.protocols.offset_commit.reasons import Reasons
from fencepost.protocols.offset_commit.request_columns import Requests
from fencepost.protocols.offset_commit.request_states import RequestStates
from fencepost.protocols.offset_commit.requests import Commit, CommitRequest
from fencepost.protocols.offset_commit.states import State
from fencepost.reasons import ALL_KNOWN, Unknown
from fencepost.replay.group_coordinator.requests import ELSEWHERE
from fencepost.replay.keys import OFFSETS_TOPIC
from fencepost.replay.logs import Base
from fencepost.replay.metadata import ClusterMetadata
from fencepost.replay.requests import NONE


class Commits:
    """The rows about the commits to one coordinator's groups."""

    def __init__(
        self,
        cluster: str,
        partition: int | None,
        requests: Requests,
        metadata: ClusterMetadata,
        *,
        matches: Matches,
        offsets: OffsetMetadataManager,
        lateness: Lateness,
        base: Base | None,
        contradicted: Base | None,
        newest_ms: int | None,
        untold: bool = False,
    ) -> None:
        """``untold``: it is not known which incarnation of the log decided the requests."""
        log = f"{OFFSETS_TOPIC}-{'?' if partition is None else partition}"
        self._reasons = Reasons(log, lateness, base, contradicted, newest_ms=newest_ms, untold=untold)
        self._metadata = metadata
        self._matches, self._outcomes = matches, Outcomes(offsets, matches, lateness)
        self.commits = commit_rows(cluster, requests, self._outcomes)
        self.states = state_rows(cluster, requests)

    def write(self, pending: RequestStates, *, managed: bool) -> None:
        """Write the rows of a request. ``managed``: the group has, or had, members."""
        committer = _committer(pending.request, managed=managed)
        for commit, states in zip(pending.request.commits, pending.states, strict=True):
            rules = []
            for number, state in states:
                rules.append(rule := self._rule(commit, state))
                self._write_state(commit, state, rule, candidate=number)
            if commit.broker_error != NONE:
                self._outcomes.note_refused(pending, commit)
            unknown = self._unknown(pending, commit, states, rules)
            self.commits.add(commit.number, _protocol(states), committer, len(states), *unknown)

    def _rule(self, commit: Commit, state: State) -> str | None:
        if not commit.accepted and commit.broker_error in ELSEWHERE:
            return None
        request = commit.request
        return rule_of(
            self._metadata, request.broker_id, request.responded_ms, state.group_type, alive=state.alive
        )

    def _write_state(self, commit: Commit, state: State, rule: str | None, *, candidate: int) -> None:
        request, position = commit.request, state.state_position
        self.states.add(
            commit.number,
            state.life,
            candidate,
            state.group_type if state.alive else None,
            # where nothing is known of the group, nothing tells which kind it was
            rule if state.known or state.alive else None,
            state.rebalancing,
            self._unfenced(request, state),
            state.group_known or self._group_missing(request, state),
            state.member_known,
            state.classic_member,
            state.instance_fenced,
            state.member_epoch,
            state.revocation_epoch,
            state.partition_revocation_epoch,
            state.assignment_epoch if state.recorded is not False else _assignment_epoch(state, rule),
            state.owned_at_client_epoch,
            state.uninterrupted,
            state.reassigned_since,
            state.owned_by_self,
            state.owned_by_another,
            state.owner_member_id,
            position,
            None if position is None else position + 1,
        )

    def _unfenced(self, request: CommitRequest, state: State) -> bool | None:
        """Whether the commit is accepted because it names no epoch."""
        if request.client_epoch >= 0 or (state.alive and state.group_type == SHARE):
            return False
        if request.is_transactional and request.member_id == "" and request.instance_id is None:
            # any other group takes it in whatever state it is
            if not state.alive or state.group_type != "consumer":
                return True
            place = request.broker_id, request.responded_ms
            is_taken = is_since(self._metadata, *place, PRODUCERS_NEED_NO_MEMBER)
            if is_taken is not False:
                return is_taken or state.empty or None
        return state.empty

    def _group_missing(self, request: CommitRequest, state: State) -> bool | None:
        """False if the coordinator does not have the group and its release would answer so; else None."""
        names = is_since(self._metadata, request.broker_id, request.responded_ms, NAMES_MISSING_GROUPS)
        return False if names and state.group_known is False else None

    def _unknown(
        self,
        pending: RequestStates,
        commit: Commit,
        states: Sequence[tuple[int, State]],
        rules: Sequence[str | None],
    ) -> Unknown:
        """Why no state, or not all of a state, is known."""
        if not commit.accepted:
            unanswered = self._reasons.unanswered(commit)
            if unanswered is not None:
                return unanswered
        if pending.lost is not None:
            return self._reasons.lost(pending.lost)
        if not pending.candidates:
            return self._reasons.unplaced(commit, self._matches)
        complete = keyed = True
        for _, state in states:
            complete = complete and (state.known or bool(self._unfenced(commit.request, state)))
            keyed = keyed and state.owned_key is not None and not (state.is_renamed and _is_partial(state))
        ruled = None not in rules
        partial = any(
            _is_partial(state) or self._unfenced(commit.request, state) is None for _, state in states
        )
        if complete and keyed and ruled and not partial:
            return ALL_KNOWN
        return self._reasons.missing(commit.request, complete=complete, keyed=keyed, ruled=ruled)


def _is_partial(state: State) -> bool:
    """Whether some of the member's own history is unknown in a state."""
    return None in (
        state.member_known,
        state.classic_member,
        state.instance_fenced,
        state.member_epoch,
        state.revocation_epoch,
        state.partition_revocation_epoch,
        state.assignment_epoch,
        state.owned_at_client_epoch,
        state.uninterrupted,
        state.reassigned_since,
        state.owned_by_self,
        state.owned_by_another,
        state.rebalancing,
    )


def _protocol(states: Sequence[tuple[int, State]]) -> str | None:
    """The group type in all states that know one; None if they differ."""
    if len(states) == 1:
        state = states[0][1]
        return state.group_type if state.alive else None
    types = {state.group_type for _, state in states if state.alive and state.group_type is not None}
    return types.pop() if len(types) == 1 else None


def _assignment_epoch(state: State, rule: str | None) -> int | None:
    """The assignment epoch by which a policy judges the commit.

    Brokers that do not know assignment epochs write none. To say what a later release would have decided,
    this is the epoch that it would have written itself, not the one as which it reads such records (the
    member epoch). Of a broker whose release is not known it may be either.
    """
    if rule == ASSIGNMENT_EPOCH or state.recorded is not False or not state.member_known:
        return state.assignment_epoch
    is_either = rule is None and state.assignment_epoch != state.entered_epoch
    return None if is_either else state.entered_epoch


def _committer(request: CommitRequest, *, managed: bool) -> str:
    if request.member_id != "" or request.instance_id is not None or request.client_epoch >= 0:
        return "member"
    if request.is_transactional:
        return "producer"
    return "administrator" if managed else "simple_consumer"
