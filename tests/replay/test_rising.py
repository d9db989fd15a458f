"""Numbers by keys that need not rise with them."""

from __future__ import annotations

import random

from fencepost.replay.rising import Rising


def test_bounds_are_those_of_all_numbers_on_one_side() -> None:
    rng = random.Random(1)
    for size in (0, 1, 2, 30):
        pairs = [(rng.randrange(20), rng.randrange(1, 40)) for _ in range(size)]
        rising = Rising(pairs)
        for key in range(-1, 21):
            assert rising.greatest_before(key) == max([n for k, n in pairs if k < key], default=0)
            assert rising.least_after(key) == min([n for k, n in pairs if k > key], default=None)
            assert sorted(rising.between(key, key + 3)) == sorted(n for k, n in pairs if key <= k <= key + 3)


def test_several_parts_of_a_key_are_compared_in_turn() -> None:
    rising = Rising([((5, 2), 1), ((5, 1), 3)])
    assert rising.greatest_before((5, 2)) == 3
    assert rising.least_after((5, 1)) == 1
    assert rising.between((5, 1), (5, 2)) == [3, 1]
