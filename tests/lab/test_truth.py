"""The driver's account of ownership, on histories small enough to check by eye."""

from __future__ import annotations

import pytest
from truth import Ownership, error_name

P = ("orders", 0)


def _history(*moments: tuple[str, int, bool]) -> Ownership:
    ownership = Ownership()
    for member, epoch, holds in moments:
        ownership.holds(member, epoch, {P} if holds else set())
    return ownership


KEPT = (("a", 2, True), ("a", 3, True))
REVOKED = (*KEPT, ("a", 4, False))
MOVED = (*REVOKED, ("b", 4, True))
REGAINED = (*MOVED, ("b", 5, False), ("a", 5, True))


@pytest.mark.parametrize(
    ("history", "epoch", "truth"),
    [
        (KEPT, 2, "owner"),
        (KEPT, 3, "owner"),
        (KEPT, 4, "not_owner"),
        (KEPT, -1, "unfenced"),
        (REVOKED, 3, "not_owner"),
        (MOVED, 3, "zombie"),
        (MOVED, 4, "not_owner"),
        (REGAINED, 3, "zombie"),
        (REGAINED, 4, "not_owner"),
        (REGAINED, 5, "owner"),
    ],
)
def test_truth(history: tuple[tuple[str, int, bool], ...], epoch: int, truth: str) -> None:
    assert _history(*history).truth("a", epoch, P) == truth


def test_owner() -> None:
    assert _history(*REVOKED).owner(P) is None
    assert _history(*MOVED).owner(P) == "b"


def test_an_answer_without_a_name_stops_the_recording() -> None:
    with pytest.raises(LookupError, match="no name for error code 9999"):
        error_name(9999)
