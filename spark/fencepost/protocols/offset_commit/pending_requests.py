"""The requests of a group: each is decided when the replay is in the states that it may have met."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from fencepost.protocols.offset_commit.candidates import Candidate, PlacedRequests
from fencepost.protocols.offset_commit.commits import Commits
from fencepost.protocols.offset_commit.groups import Group
from fencepost.protocols.offset_commit.request_columns import Requests
from fencepost.protocols.offset_commit.request_states import RequestStates
from fencepost.protocols.offset_commit.states import state_met
from fencepost.protocols.offset_commit.unrecorded_groups import UnrecordedGroups
from fencepost.protocols.offset_commit.unwritten_states import UnwrittenStates

_AT_ONCE = 4_096


class PendingRequests:
    """What is still to be asked of one group, by the number of its record after which it is to be asked."""

    def __init__(
        self,
        out: Commits,
        requests: Requests,
        memory: UnwrittenStates,
        presence: UnrecordedGroups,
        *,
        managed: bool,
    ) -> None:
        """Rows go to ``out``, whose ``write`` tells of ``managed``."""
        self._out = out
        self._requests = requests
        self._presence = presence
        self._memory = memory
        self._managed = managed
        self._to_ask: list[PlacedRequests] = []
        self._several: dict[int, Sequence[Candidate]] = {}
        self._open: dict[int, RequestStates] = {}
        self._waiting: list[RequestStates] = []

    def ask(self, placed: PlacedRequests) -> None:
        """Take requests with their one candidate each, before any is answered."""
        self._to_ask.append(placed)

    def ask_one(self, asked: RequestStates) -> None:
        """Take a request with its candidates, or write at once that nothing is known of what it met."""
        number = asked.request.number
        if not asked.candidates:
            asked.met = asked.met or [[] for _ in asked.request.commits]
            self._write(asked)
            return
        if len(asked.candidates) > 1:
            self._several[number] = asked.candidates
        # it is made again when it is asked
        asked.request.commits = []
        columns = zip(*((number, *candidate) for candidate in asked.candidates), strict=True)
        self._to_ask.append(PlacedRequests(*(np.array(column, dtype=np.int64) for column in columns)))

    def begin(self) -> None:
        """All requests were taken."""
        columns = zip(*self._to_ask, strict=True)
        self._due = (
            self._each(PlacedRequests(*map(np.concatenate, columns)).in_order()) if self._to_ask else iter(())
        )
        self._to_ask.clear()
        self._next = next(self._due, None)

    def is_due(self, group: Group) -> bool:
        """Whether something is to be asked of the group as it is now."""
        return self._next is not None and self._next[0] == group.no

    def answer(self, group: Group) -> bool:
        """Answer what is to be asked of the group as it is now; of many requests some, and True: there may be
        more.
        """
        for _ in range(_AT_ONCE):
            if self._next is None or self._next[0] != group.no:
                return False
            self._meet(self._next[1], group)
            self._next = next(self._due, None)
        return True

    def _each(self, placed: PlacedRequests) -> Iterator[tuple[int, RequestStates]]:
        """The requests in the order in which they are asked, each with the state that it is asked of: few of
        them are objects at a time.
        """
        for begin in range(0, len(placed.number), _AT_ONCE):
            some = PlacedRequests(*(column[begin : begin + _AT_ONCE] for column in placed))
            candidates = map(Candidate, *(column.tolist() for column in some[1:]))
            for request, candidate in zip(self._requests.each(some.number), candidates, strict=True):
                several = self._several.get(request.number)
                if several is None:
                    yield candidate[0], RequestStates(request, (candidate,), [])
                else:
                    asked = self._open.setdefault(request.number, RequestStates(request, several, []))
                    yield candidate[0], asked

    def _meet(self, asked: RequestStates, group: Group) -> None:
        commits, states = asked.request.commits, asked.met
        if not states:
            states.extend([] for _ in commits)
        # candidates are in log order
        number = len(states[0])
        stretch = asked.candidates[number].stretch
        for commit, of_commit in zip(commits, states, strict=True):
            state = state_met(group, commit, stretch)
            if state.known and not state.alive:
                state.group_known = self._presence.of(group.no, asked.request)
            of_commit.append((number, state))
        if number + 1 == len(asked.candidates):
            self._settle(asked)

    def finish(self) -> Iterator[RequestStates]:
        """The log is at its end: what a classic group had in memory is told by what came later. Gives each
        request that was answered only now.
        """
        for asked in self._waiting:
            asked.met = [
                [(number, variant) for number, state in met for variant in self._memory.states(commit, state)]
                for commit, met in zip(asked.request.commits, asked.met, strict=True)
            ]
            asked.number_variants()
            self._write(asked)
            yield asked
        self._waiting.clear()

    def _settle(self, asked: RequestStates) -> None:
        for _, state in asked.met[0]:
            if state.generation is not None:
                self._waiting.append(asked)
                return
        self._write(asked)

    def _write(self, asked: RequestStates) -> None:
        self._out.write(asked, managed=self._managed)
        # request and commits name each other: a group may have millions of them, and each is asked once
        asked.request.commits = []
        if self._open:
            self._open.pop(asked.request.number, None)
