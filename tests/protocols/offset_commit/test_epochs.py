"""A member's rows beside the epochs of its group: each says of all its moments which epoch is ahead."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from fencepost.protocols.offset_commit.epochs import EpochHistory, Epochs
from fencepost.replay.histories import Point


def history(*states: tuple[int | None, int | None], kind: str = "consumer") -> EpochHistory:
    """(group epoch, target assignment epoch), every tenth offset."""
    found = EpochHistory()
    for number, (group, target) in enumerate(states):
        found.add(Point(10 * number, number), Epochs(kind, group, target))
    return found


@pytest.mark.parametrize(
    ("states", "cuts"),
    [
        pytest.param([(1, 1), (2, 1), (2, 2), (9, 9)], [(0, None)], id="rise"),
        pytest.param([(1, 1), (2, 2), (3, 1), (4, 4)], [(0, 20), (20, None)], id="the target falls"),
        pytest.param([(3, 2), (2, 2), (4, 4)], [(0, 10), (10, None)], id="the group falls"),
        pytest.param([(2, 2), (2, 3), (3, 3), (4, 4)], [(0, 10), (10, 20), (20, None)], id="target is ahead"),
        pytest.param([(1, 0), (2, 0), (2, 1), (2, 2)], [(0, 10), (10, 20), (20, None)], id="member is ahead"),
        pytest.param([(1, None), (2, None), (2, 2)], [(0, 20), (20, None)], id="the target becomes known"),
    ],
)
def test_a_row_goes_on_while_epochs_rise_in_order(
    states: list[tuple[int | None, int | None]], cuts: list[tuple[int, int | None]]
) -> None:
    rows = list(history(*states).beside(1, Point(0, 0), None))
    assert [row.during[:2] for row in rows] == cuts
    assert [row.first[1:] for row in rows] == [states[begin // 10] for begin, _ in cuts]
    assert [row.last[1:] for row in rows] == [states[(end or 10 * len(states)) // 10 - 1] for _, end in cuts]


@pytest.mark.parametrize("seed", range(200))
def test_every_moment_of_a_row_has_its_order(seed: int) -> None:
    rng = Random(seed)
    epochs = [None, *range(1, 5)]
    states = [(rng.choice(epochs), rng.choice(epochs)) for _ in range(rng.randrange(1, 9))]
    if rng.random() < 0.5:
        states.sort(key=lambda each: (each[0] or 0, each[1] or 0))
    of = history(*states)
    begin, member = Point(rng.randrange(40), None), rng.choice([-2, 1, 2, 3])
    end = rng.choice([None, Point(begin.position + rng.randrange(1, 60), None)])
    rows = list(of.beside(member, begin, end))
    moments = of.between(begin, end)
    assert [row.during[0] for row in rows][:1] == [cut[0] for _, cut in moments][:1]
    assert [row.during[1] for row in rows][-1:] == [cut[1] for _, cut in moments][-1:]
    assert all(one.during[1] == other.during[0] for one, other in pairwise(rows))
    for state, cut in moments:
        (row,) = (
            row for row in rows
            if row.during[0] <= cut[0] and (row.during[1] is None or (cut[1] or 2**63) <= row.during[1])
        )  # fmt: skip
        assert order(member, state) == order(member, row.first) == order(member, row.last)
        for at in (1, 2):
            epoch, first, last = state[at], row.first[at], row.last[at]
            if epoch is None or first is None or last is None:
                assert epoch is first is last
            else:
                assert first <= epoch <= last  # type: ignore[operator]


def order(member: int, of: Epochs) -> tuple[bool | None, bool | None]:
    """What may be asked of a row: whether the member is ahead of its target, and that of the group."""
    target, group = of.target_assignment_epoch, of.group_epoch
    ahead = None if target is None else member > target
    return ahead, None if target is None or group is None else target > group
