"""Numbers for the rows of columns."""

from __future__ import annotations

import numpy as np
import pytest

from fencepost.replay.entities import first_of_each, numbered_rows
from fencepost.replay.logs import UNKNOWN, Longs

_LIMITS = np.iinfo(np.int64)
_KINDS = ("few", "places", "limits", "any")


def _column(rng: np.random.Generator, kind: str, size: int) -> Longs:
    if kind == "few":
        return rng.integers(-1, 2, size)
    if kind == "places":
        return rng.integers(0, 1 << 40, size) // (1 << 36)
    if kind == "limits":
        return rng.choice(np.array([_LIMITS.min, _LIMITS.max, UNKNOWN, 0]), size)
    return rng.integers(_LIMITS.min, _LIMITS.max, size, endpoint=True)


@pytest.mark.parametrize("seed", range(200))
def test_equal_rows_have_the_number_of_the_first(seed: int) -> None:
    """Also where values, their differences or products of them need all of 64 bits, or more."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(0, 40))
    columns = [_column(rng, str(kind), size) for kind in rng.choice(_KINDS, rng.integers(1, 6))]
    numbers: dict[tuple[int, ...], int] = {}
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    expected = [numbers.setdefault(row, len(numbers)) for row in rows]
    found = numbered_rows(*columns)
    assert found.tolist() == expected
    assert first_of_each(found).tolist() == [rows.index(row) for row in numbers]
