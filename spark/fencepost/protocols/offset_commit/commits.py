"""The tables of silver about commits: what was asked and answered, and the states that it may have met."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from fencepost.protocols.offset_commit.brokers import ASSIGNMENT_EPOCH, rule_of
from fencepost.protocols.offset_commit.offsets import OffsetMetadataManager
from fencepost.protocols.offset_commit.places import Candidate
from fencepost.protocols.offset_commit.records import OffsetCommitRecord
from fencepost.protocols.offset_commit.requests import ELSEWHERE, Commit, CommitRequest
from fencepost.protocols.offset_commit.states import State
from fencepost.replay.columns import Columns
from fencepost.replay.keys import OFFSETS_TOPIC
from fencepost.replay.metadata import ClusterMetadata
from fencepost.replay.requests import NONE
from fencepost.tables.groups import COMMIT_STATES, COMMITS


@dataclass(slots=True)
class Request:
    """A request with the states that it may have met. ``met``: for each of its commits, in their order, the
    states with the number of the candidate that each belongs to.
    """

    request: CommitRequest
    candidates: Sequence[Candidate]
    met: list[list[tuple[int, State]]] = field(default_factory=list)


class Commits:
    """The rows about the commits that one coordinator's log is about."""

    def __init__(
        self,
        cluster: str,
        partition: int | None,
        metadata: ClusterMetadata,
        offsets: OffsetMetadataManager,
        tolerance_ms: int,
    ) -> None:
        self._cluster = cluster
        self._log = f"{OFFSETS_TOPIC}-{'?' if partition is None else partition}"
        self._metadata = metadata
        self._offsets = offsets
        self._tolerance_ms = tolerance_ms
        self.commits = Columns(COMMITS)
        self.states = Columns(COMMIT_STATES)

    def write(self, asked: Request, own: dict[Commit, OffsetCommitRecord], *, managed: bool) -> None:
        """The rows of a request. ``own``: the records of accepted commits, where they are sure; ``managed``:
        the group has, or had, members.
        """
        numbers = _numbers(asked)
        commits = asked.request.commits
        any_decided = bool(asked.candidates) and any(c.accepted or c.fenced for c in commits)
        for commit, met in zip(commits, asked.met, strict=True):
            # a partition that was refused for a reason of its own (an unknown topic, say), before fencing was
            # looked at, stands alone
            alone = any_decided and not commit.accepted and not commit.fenced
            rules = [
                self._write_state(commit, state, numbers[number, state.variant], alone=alone)
                for number, state in met
            ]
            self._write_commit(asked, commit, own.get(commit), rules, [state for _, state in met], managed)

    def _write_state(self, commit: Commit, state: State, candidate: int, *, alone: bool) -> str | None:
        request = commit.request
        rule = rule_of(
            self._metadata, request.broker_id, request.responded_ms, state.group_type, alive=state.alive
        )
        position = state.state_position
        self.states.add(
            self._cluster,
            request.group_id,
            state.life,
            commit.commit_id if alone else request.request_id,
            commit.commit_id,
            candidate,
            request.member_id,
            commit.partition_key,
            request.client_epoch,
            commit.accepted,
            commit.fenced,
            request.is_transactional,
            state.group_type if state.alive else None,
            rule,
            state.rebalancing,
            _unfenced(request, state),
            state.member_known,
            state.member_epoch,
            state.revocation_epoch,
            state.partition_revocation_epoch,
            _assignment_epoch(state, rule),
            state.owned_at_client_epoch,
            state.uninterrupted,
            state.reassigned_since,
            state.owned_by_self,
            state.owned_by_another,
            state.owner_member_id,
            position,
            None if position is None else position + 1,
            request.requested_ms,
            request.responded_ms,
        )
        return rule

    def _write_commit(
        self,
        asked: Request,
        commit: Commit,
        own: OffsetCommitRecord | None,
        rules: Sequence[str | None],
        states: Sequence[State],
        managed: bool,
    ) -> None:
        request = commit.request
        protocols = {state.group_type for state in states if state.alive and state.group_type is not None}
        before, ended, position, ended_ms = self._became(asked, commit, own)
        self.commits.add(
            self._cluster,
            commit.commit_id,
            request.request_id,
            request.broker_id,
            request.group_id,
            protocols.pop() if len(protocols) == 1 else None,
            _committer(request, managed=managed),
            request.member_id,
            request.client_id,
            request.correlation_id,
            request.api_key,
            request.api_version,
            commit.topic,
            commit.topic_id,
            commit.partition,
            commit.partition_key,
            commit.committed_offset,
            request.client_epoch,
            request.is_transactional,
            request.transactional_id,
            request.producer_id,
            request.producer_epoch,
            request.requested_ms,
            request.responded_ms,
            commit.broker_error,
            None if own is None else own.offset,
            ended,
            position,
            ended_ms,
            None if own is None else own.outcome,
            before,
            len(states),
            self._unknown_reason(asked, commit, rules, states),
            request.file,
            request.position,
        )

    def _became(
        self, asked: Request, commit: Commit, own: OffsetCommitRecord | None
    ) -> tuple[int | None, str | None, int | None, int | None]:
        """What was stored before, and how the commit's transaction ended: outcome, position, time."""
        if own is not None:
            return own.offset_before, own.transaction_outcome, own.ended_offset, own.ended_ms
        if commit.broker_error in (None, NONE) or not asked.candidates:
            return None, None, None, None
        stretch = _only({candidate.stretch for candidate in asked.candidates})
        leader_epoch = _only({candidate.leader_epoch for candidate in asked.candidates})
        return (
            self._stored_before_refusal(commit, stretch, leader_epoch),
            *self._transaction_of(commit, stretch),
        )

    def _stored_before_refusal(
        self, commit: Commit, stretch: int | None, leader_epoch: int | None
    ) -> int | None:
        """What was stored when a commit was refused, if it did not change from its arrival to its answer."""
        if commit.topic is None or stretch is None or leader_epoch is None:
            return None
        request = commit.request
        start_ms = request.requested_ms - self._tolerance_ms
        end_ms = request.responded_ms + self._tolerance_ms
        key = (request.group_id, commit.topic, commit.partition)
        return self._offsets.stored_during(key, start_ms, end_ms, stretch, leader_epoch)

    def _transaction_of(
        self, commit: Commit, stretch: int | None
    ) -> tuple[str | None, int | None, int | None]:
        """How the transaction of a refused commit ended.

        The coordinator's partition is part of a transaction before its commit is looked at, so the
        transaction's marker is written there although the commit is not. Nothing is said when no marker
        follows, or one behind a hole in the log.
        """
        request = commit.request
        if not request.is_transactional or request.producer_id is None or stretch is None:
            return None, None, None
        after_ms = request.responded_ms - self._tolerance_ms
        marker = self._offsets.marker_after(stretch, request.producer_id, after_ms)
        return (None, None, None) if marker is None else (marker.outcome, marker.offset, marker.timestamp_ms)

    def _unknown_reason(
        self, asked: Request, commit: Commit, rules: Sequence[str | None], states: Sequence[State]
    ) -> str | None:
        """Why no state, or nothing of it, is known; None when it is."""
        if commit.broker_error is None:
            return "the request log has no answer for this partition"
        if commit.broker_error in ELSEWHERE:
            return "the broker that answered did not have the group's state: it decided nothing"
        if not asked.candidates and commit.accepted:
            return f"the record of this accepted commit is not in the captured log of {self._log}"
        if not asked.candidates:
            return f"records of {self._log} from around this request were not captured"
        if not all(state.known or _unfenced(commit.request, state) for state in states):
            return f"the group's history before this commit is not complete in the log of {self._log}"
        if any(state.owned_key is None for state in states):
            return (
                "what the commit's topic is to the group is not known: no record of the topic is in the "
                "captured metadata log, or none of the topology in the group's"
            )
        if any(rule is None for rule in rules):
            return (
                f"the version of broker {commit.request.broker_id} is not known: its registration is not in "
                "the captured metadata log"
            )
        return None


def _numbers(asked: Request) -> dict[tuple[int, int], int]:
    """The states that the request may have met, numbered: alike for all its partitions."""
    found = {(number, state.variant) for met in asked.met for number, state in met}
    return {place: number for number, place in enumerate(sorted(found))}


def _unfenced(request: CommitRequest, state: State) -> bool | None:
    if request.client_epoch >= 0:
        return False
    # a transactional commit without member and epoch is let through whatever the group holds
    if request.is_transactional and request.member_id == "" and request.instance_id is None:
        return True
    return state.empty


def _assignment_epoch(state: State, rule: str | None) -> int | None:
    """Brokers that do not know assignment epochs write none. What a later one would have done there is told
    by the epoch it would have written, not by its reading of such records (the member epoch).
    """
    if rule is not None and rule != ASSIGNMENT_EPOCH and state.recorded is False and state.member_known:
        return state.entered_epoch
    return state.assignment_epoch


def _committer(request: CommitRequest, *, managed: bool) -> str:
    if request.member_id != "" or request.instance_id is not None or request.client_epoch >= 0:
        return "member"
    if request.is_transactional:
        return "producer"
    return "administrator" if managed else "simple_consumer"


def _only(values: set[int]) -> int | None:
    """The one value that all have; None when they differ."""
    return values.pop() if len(values) == 1 else None
