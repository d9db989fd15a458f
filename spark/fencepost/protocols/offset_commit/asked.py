"""A request with the states that it may have met."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from fencepost.protocols.offset_commit.places import Candidate
from fencepost.protocols.offset_commit.requests import CommitRequest
from fencepost.protocols.offset_commit.states import State


@dataclass(slots=True)
class Request:
    """A request with the states that it may have met. ``met``: for each of its commits, in their order, the
    states with the number of the candidate that each belongs to.
    """

    request: CommitRequest
    candidates: Sequence[Candidate]
    met: list[list[tuple[int, State]]] = field(default_factory=list)

    def variants(self) -> dict[tuple[int, int], int] | None:
        """The states that the request may have met, numbered alike for all its partitions; None where these
        are the candidates' own numbers.
        """
        if all(state.variant == 0 for met in self.met for _, state in met):
            return None
        found = {(number, state.variant) for met in self.met for number, state in met}
        return {place: number for number, place in enumerate(sorted(found))}
