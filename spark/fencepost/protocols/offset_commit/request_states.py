"""A request with the states that it may have met."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from fencepost.protocols.offset_commit.candidates import Candidate
from fencepost.protocols.offset_commit.requests import CommitRequest
from fencepost.protocols.offset_commit.states import State


@dataclass(slots=True)
class RequestStates:
    """A request with the states that it may have met.

    ``states``: for each of its commits, in their order, the states with their numbers; a number means the
    same group state for all commits. ``lost``: the reason for which it may have met records that are gone.
    """

    request: CommitRequest
    candidates: Sequence[Candidate]
    states: list[list[tuple[int, State]]] = field(default_factory=list)
    lost: str | None = None

    def number_variants(self) -> None:
        """Number the states anew, because one candidate may have several variants."""
        variants = sorted({(number, state.variant) for states in self.states for number, state in states})
        numbers = {place: number for number, place in enumerate(variants)}
        self.states = [
            [(numbers[number, state.variant], state) for number, state in states] for states in self.states
        ]
