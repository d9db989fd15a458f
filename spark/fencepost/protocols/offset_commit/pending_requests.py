"""The pending requests of a group: each is decided when the replay reaches the states it may have met."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from fencepost.protocols.offset_commit.answered_assignments import Revocations
from fencepost.protocols.offset_commit.candidates import Candidate, PlacedRequests
from fencepost.protocols.offset_commit.commits import Commits
from fencepost.protocols.offset_commit.groups import Group
from fencepost.protocols.offset_commit.request_columns import Requests
from fencepost.protocols.offset_commit.request_states import RequestStates
from fencepost.protocols.offset_commit.requests import CommitRequest
from fencepost.protocols.offset_commit.states import State, is_empty, note_revocations, state_met
from fencepost.protocols.offset_commit.unrecorded_groups import UnrecordedGroups
from fencepost.protocols.offset_commit.unwritten_states import UnwrittenStates

_AT_ONCE = 4_096


class PendingRequests:
    """The requests of one group that are not yet decided, by the number of the group's record after which
    they will be.
    """

    def __init__(
        self,
        out: Commits,
        requests: Requests,
        memory: UnwrittenStates,
        presence: UnrecordedGroups,
        revocations_before: Callable[[CommitRequest, int | None], Revocations | None],
        *,
        managed: bool,
    ) -> None:
        """``out`` gets the rows; ``revocations_before``: of Witnesses; ``managed``: as in ``out.write``."""
        self._out = out
        self._requests = requests
        self._presence, self._revocations_before = presence, revocations_before
        self._memory = memory
        self._managed = managed
        self._placed: list[PlacedRequests] = []
        self._several: dict[int, Sequence[Candidate]] = {}
        self._open: dict[int, RequestStates] = {}
        self._waiting: list[RequestStates] = []

    def add_placed(self, placed: PlacedRequests) -> None:
        """Add requests with one candidate each. To be called before ``begin``."""
        self._placed.append(placed)

    def add(self, pending: RequestStates) -> None:
        """Add a request with its candidates. Without candidates its rows are written at once: they say that
        its state is unknown.
        """
        number = pending.request.number
        if not pending.candidates:
            pending.states = pending.states or [[] for _ in pending.request.commits]
            self._write(pending)
            return
        if len(pending.candidates) > 1:
            self._several[number] = pending.candidates
        # only its number is kept: it becomes an object again when it is decided
        pending.request.commits = []
        columns = zip(*((number, *candidate) for candidate in pending.candidates), strict=True)
        self._placed.append(PlacedRequests(*(np.array(column, dtype=np.int64) for column in columns)))

    def begin(self) -> None:
        """Sort the requests by when they will be decided; all have been added."""
        columns = zip(*self._placed, strict=True)
        self._due = (
            self._each(PlacedRequests(*map(np.concatenate, columns)).in_order()) if self._placed else iter(())
        )
        self._placed.clear()
        self._next = next(self._due, None)

    def is_due(self, group: Group) -> bool:
        """Whether a request may have met the group's present state."""
        return self._next is not None and self._next[0] == group.no

    def decide(self, group: Group) -> bool:
        """Decide the requests that may have met the group's present state. Returns True if there may be more:
        a call decides at most _AT_ONCE.
        """
        for _ in range(_AT_ONCE):
            if self._next is None or self._next[0] != group.no:
                return False
            self._add_states(self._next[1], group)
            self._next = next(self._due, None)
        return True

    def _each(self, placed: PlacedRequests) -> Iterator[tuple[int, RequestStates]]:
        """The requests in the order in which they are decided, each with the number of its next state. Only
        few of them are objects at a time.
        """
        for begin in range(0, len(placed.number), _AT_ONCE):
            some = PlacedRequests(*(column[begin : begin + _AT_ONCE] for column in placed))
            candidates = map(Candidate, *(column.tolist() for column in some[1:]))
            for request, candidate in zip(self._requests.each(some.number), candidates, strict=True):
                several = self._several.get(request.number)
                if several is None:
                    yield candidate.state_no, RequestStates(request, (candidate,))
                else:
                    pending = self._open.setdefault(request.number, RequestStates(request, several))
                    yield candidate.state_no, pending

    def _add_states(self, pending: RequestStates, group: Group) -> None:
        commits, states = pending.request.commits, pending.states
        if not states:
            states.extend([] for _ in commits)
        # candidates are in log order
        number = len(states[0])
        stretch = pending.candidates[number].stretch
        for commit, of_commit in zip(commits, states, strict=True):
            state = state_met(group, commit, stretch)
            if state.known and not state.alive:
                self._presence.note_in(state, group.no, pending.request)
            elif _is_empty_consumer_group(group, stretch, state):
                self._presence.note_forgotten(state, group.no, pending.request)
            elif state.member_known and state.revocation_epoch is None:
                revocations = self._revocations_before(pending.request, state.member_epoch)
                if revocations is not None:
                    note_revocations(state, commit, revocations)
            of_commit.append((number, state))
        if number + 1 == len(pending.candidates):
            self._settle(pending)

    def finish(self) -> Iterator[RequestStates]:
        """Decide, at the end of the log, the requests that waited for it: only later records show what a
        classic group had in memory. Yields each of them.
        """
        for pending in self._waiting:
            pending.states = [
                [
                    (number, variant)
                    for number, state in states
                    for variant in self._memory.states(commit, state)
                ]
                for commit, states in zip(pending.request.commits, pending.states, strict=True)
            ]
            pending.number_variants()
            self._write(pending)
            yield pending
        self._waiting.clear()

    def _settle(self, pending: RequestStates) -> None:
        if any(state.generation is not None for _, state in pending.states[0]):
            self._waiting.append(pending)
        else:
            self._write(pending)

    def _write(self, pending: RequestStates) -> None:
        self._out.write(pending, managed=self._managed)
        # Break the reference cycle of a request and its commits, so that memory is freed at once: a group may
        # have millions of them.
        pending.request.commits = []
        if self._open:
            self._open.pop(pending.request.number, None)


def _is_empty_consumer_group(group: Group, stretch: int, state: State) -> bool:
    is_consumers = state.alive and group.group_type == "consumer"
    return is_consumers and is_empty(group, stretch, known=state.known) is True
