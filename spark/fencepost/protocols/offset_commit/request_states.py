"""A request with the states that it may have met."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from fencepost.protocols.offset_commit.candidates import Candidate
from fencepost.protocols.offset_commit.requests import CommitRequest
from fencepost.protocols.offset_commit.states import State


@dataclass(slots=True)
class RequestStates:
    """A request with the states that it may have met. ``met``: for each of its commits, in their order, the
    states with their numbers, which are alike for all its partitions. ``lost``: it may have met records that
    an election took from the log.
    """

    request: CommitRequest
    candidates: Sequence[Candidate]
    met: list[list[tuple[int, State]]] = field(default_factory=list)
    lost: bool = False

    def number_variants(self) -> None:
        """Of one candidate there may be several states: number these."""
        found = sorted({(number, state.variant) for met in self.met for number, state in met})
        numbers = {place: number for number, place in enumerate(found)}
        self.met = [[(numbers[number, state.variant], state) for number, state in met] for met in self.met]
