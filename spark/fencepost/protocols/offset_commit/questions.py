"""The requests of a group, each answered when the group is in the states that it may have met."""

from __future__ import annotations

from fencepost.protocols.offset_commit.commits import Commits, Request
from fencepost.protocols.offset_commit.groups import Group
from fencepost.protocols.offset_commit.matches import Matches
from fencepost.protocols.offset_commit.presence import Presence
from fencepost.protocols.offset_commit.states import state_met
from fencepost.protocols.offset_commit.unwritten import Memory


class Questions:
    """What is still to be asked of one group, by the number of its record after which it is to be asked."""

    def __init__(
        self, out: Commits, matches: Matches, memory: Memory, presence: Presence, *, managed: bool
    ) -> None:
        """Rows go to ``out``, whose ``write`` tells of ``matches`` and ``managed``."""
        self._out = out
        self._presence = presence
        self._matches = matches
        self._memory = memory
        self._managed = managed
        self._at: dict[int, list[Request]] = {}
        self._waiting: list[Request] = []

    def ask(self, asked: Request) -> None:
        """Take a request with its candidates, or write at once that nothing is known of what it met."""
        for candidate in asked.candidates:
            self._at.setdefault(candidate.state_no, []).append(asked)
        if not asked.candidates:
            asked.met = asked.met or [[] for _ in asked.request.commits]
            self._write(asked)

    def answer(self, group: Group) -> None:
        """Answer all that is to be asked of the group as it is now."""
        for asked in self._at.pop(group.no, ()):
            if not asked.met:
                asked.met = [[] for _ in asked.request.commits]
            # candidates are in log order
            number = len(asked.met[0])
            stretch = asked.candidates[number].stretch
            for commit, met in zip(asked.request.commits, asked.met, strict=True):
                state = state_met(group, commit, stretch)
                if state.known and not state.alive:
                    state.group_known = self._presence.of(group.no, asked.request)
                met.append((number, state))
            if len(asked.met[0]) == len(asked.candidates):
                self._settle(asked)

    def finish(self) -> None:
        """The log is at its end: what a classic group had in memory is told by what came later."""
        for asked in self._waiting:
            asked.met = [
                [(number, variant) for number, state in met for variant in self._memory.states(commit, state)]
                for commit, met in zip(asked.request.commits, asked.met, strict=True)
            ]
            self._write(asked)
        self._waiting.clear()

    def _settle(self, asked: Request) -> None:
        if any(state.generation is not None for _, state in asked.met[0]):
            self._waiting.append(asked)
        else:
            self._write(asked)

    def _write(self, asked: Request) -> None:
        self._out.write(asked, self._matches, managed=self._managed)
        # request and commits name each other: a group may have millions of them, and each is asked once
        for commit in asked.request.commits:
            self._matches.sure.pop(commit, None)
        asked.request.commits = []
