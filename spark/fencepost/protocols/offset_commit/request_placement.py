"""Places the requests of a coordinator's groups in its log, before any group is replayed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from operator import attrgetter

from fencepost.protocols.offset_commit.answered_epochs import Answer
from fencepost.protocols.offset_commit.candidates import (
    Candidate,
    GroupStates,
    PlacedRequests,
    RecordedRequests,
    candidates_of,
    is_decided,
    leaders_who_answered,
)
from fencepost.protocols.offset_commit.commit_records import CommitRecords
from fencepost.protocols.offset_commit.lateness import Lateness
from fencepost.protocols.offset_commit.matching import Matching
from fencepost.protocols.offset_commit.not_coordinator import NotCoordinatorCommits
from fencepost.protocols.offset_commit.order import Between, Order, epochs_of
from fencepost.protocols.offset_commit.requests import CommitRequest
from fencepost.protocols.offset_commit.shard import GroupEvidence, ShardEvidence
from fencepost.protocols.offset_commit.unlogged_commits import unlogged_commits
from fencepost.reasons import LOST_IN_ELECTION, RECORDS_LOST
from fencepost.replay.logs import Longs
from fencepost.replay.request_clocks import leaders_by_clock
from fencepost.replay.terms import Terms
from fencepost.replay.unlike_lines import is_in_gap

Epochs = Mapping[tuple[str, int], Between]
"""(member id, epoch) -> where in the log the member had the epoch."""


class RequestPlacement:
    """The place in the log of each request: for accepted commits by their records (``matches``), for others
    by the order of requests and by time.

    ``leaders``: leader epoch -> the broker that led the log: the one that answered a request whose record has
    that epoch, otherwise the elected one; NOBODY if the leader's request log has another clock than its
    records.
    """

    def __init__(
        self,
        evidence: ShardEvidence,
        groups: Mapping[str, GroupEvidence],
        records: CommitRecords,
        elected: Mapping[int, int | None],
        tolerance_ms: int,
        *,
        replicated: bool,
    ) -> None:
        """``records``: of commits; ``elected``: leader epoch -> the elected broker; ``replicated``: whether
        the log has several replicas.
        """
        requests, log = evidence.requests, evidence.log
        self.lateness = Lateness(tolerance_ms)
        self._order = Order(requests, evidence.heartbeats, _epochs(evidence, groups))
        self.lateness.note_last(self._order.is_last)

        def state_at(number: int) -> int:
            of_group = groups[records.group_of(number)].records
            return bisect_left(of_group, records["offset"][number], key=attrgetter("offset"))

        begun, past = evidence.incarnation.has_begun, evidence.end.known_past(log)
        matching = Matching(
            requests,
            records,
            self._order,
            tolerance_ms,
            group_records=evidence.group_records,
            log=log,
            ended=past.is_final and not evidence.incarnation.is_gone,
        )
        self.clock_differences, self.unlike = matching.clock_differences, matching.unlike
        elected = leaders_by_clock(
            elected, log.leader_epoch.tolist(), matching.other_clocks | matching.unlike
        )
        terms = Terms(log.terms(elected), log.stretches, begun=begun, past=past)
        # this step finds out how late lines were, which the next one needs
        matching.place_without_clock(terms, self.lateness)
        self.matches = matching.place_by_clock(self.lateness, state_at)
        self.undecided = NotCoordinatorCommits(requests, log, elected, self.lateness)
        self.undecided.settle(self.matches)
        self._places = matching.between(self.matches)
        self._recorded = RecordedRequests(requests, self.matches)
        self.leaders = {**elected, **leaders_who_answered(requests, self.matches)}
        self._terms = Terms(
            log.terms(self.leaders), log.stretches, begun=begun, past=past, replicated=replicated
        )
        self._gaps = matching.gaps
        self.unlogged = unlogged_commits(
            records, matching.without_accepted, evidence, self.leaders, tolerance_ms
        )
        """The numbers of the stored commits of which lines are missing."""

    def placed(self, numbers: Longs, states: GroupStates) -> tuple[PlacedRequests, Longs]:
        """Of a group's requests: those with a record of their own, and the numbers of the others."""
        return self._recorded.placed(numbers, states)

    def why_lost(self, request: CommitRequest) -> str | None:
        """The reason for which a request without a record may have met, or written, records that are gone;
        None if it has not.
        """
        if not is_decided(request):
            return None
        if is_in_gap(self._gaps, request.requested_ms, request.responded_ms):
            return RECORDS_LOST
        if any(commit.accepted for commit in request.commits):
            return None
        start_ms = self._order.arrival(request, self.lateness.of(request))
        may_be_lost = self._terms.may_be_lost(request.broker_id, start_ms, request.responded_ms)
        return LOST_IN_ELECTION if may_be_lost else None

    def came_before(self, line: CommitRequest | Answer, later: Answer) -> bool:
        """Whether a request was certainly answered in an earlier leader term than another one."""
        first, second = (
            self._terms.of(each.broker_id, each.requested_ms - self.lateness.of(each), each.responded_ms)
            for each in (line, later)
        )
        return self._terms.are_before(first, second)

    def candidates(self, request: CommitRequest, states: GroupStates) -> list[Candidate]:
        """The states that a request without a record may have met."""
        return candidates_of(
            request,
            self.matches,
            states,
            self._terms,
            order=self._order,
            places=self._places,
            lateness=self.lateness,
        )


def _epochs(
    evidence: ShardEvidence, groups: Mapping[str, GroupEvidence]
) -> dict[str, dict[tuple[str, int], Between]]:
    # if the log has a hole, it is not known where a member's epoch began and ended
    whole = len(evidence.log.stretches) == 1
    return {
        group_id: epochs_of(group.records) for group_id, group in groups.items() if whole and group.heartbeats
    }
