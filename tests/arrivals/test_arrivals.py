"""The same evidence in any order, in one run or in many: the same rows, with the same ids.

Every run takes what there is of a capture's files, cut and named as at that time; after the last one the
lake holds what one audit of all files finds. ``--times 3`` (``make arrivals``) tries each of the eight ways
in which files arrive three times on every capture, which takes hours; else a few are tried on small ones.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from audits import Found, Site, differences
from trees import CUTS, tree_of

ALWAYS = (
    ("markers-4.3.1", "grown", 1),
    ("markers-4.3.1", "cut_anywhere", 2),
    ("subscriptions-4.3.1", "renamed", 3),
    ("subscriptions-4.3.1", "late_logs", 4),
)
"""Capture, how its files arrive, and a seed."""

_KILLED = 0.25
"""How often runs are killed while they write."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """All captures, ways and so many seeds, if many times the usual number of cases is wanted."""
    times = int(metafunc.config.getoption("--times"))
    captures = Path(__file__).resolve().parents[1] / "captures"
    every = sorted(path.parent.name for path in captures.glob("*/fencepost.toml"))
    cases = (
        ALWAYS
        if times == 1
        else [(name, way, seed) for name in every for way in CUTS for seed in range(times)]
    )
    metafunc.parametrize(("name", "way", "seed"), cases)


@pytest.fixture(scope="module")
def audited_at_once(
    captures: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], tuple[Site, Found, Found]]:
    """Call it for a capture, and what is found if it is audited at once: rows, and verdicts on them."""
    known: dict[str, tuple[Site, Found, Found]] = {}

    def audited(name: str) -> tuple[Site, Found, Found]:
        if name not in known:
            # a path is part of what is found, so every audit of a capture finds it at the same one
            known.clear()
            site = Site(tmp_path_factory.mktemp(name), tree_of(captures / name))
            known[name] = (site, site.audited(), site.judged())
        return known[name]

    return audited


def test_what_arrives_in_pieces_is_found_as_if_it_had_been_there_at_once(
    name: str, way: str, seed: int, audited_at_once: Callable[[str], tuple[Site, Found, Found]]
) -> None:
    site, rows, verdicts = audited_at_once(name)
    chance = random.Random(f"{name} {way} {seed}")
    before = CUTS[way](site.whole, chance)
    found = site.audited(before, killed=chance if chance.random() < _KILLED else None)
    assert differences(found, rows) == {}
    # verdicts are made of silver alone
    if seed % 4 == 0:
        assert differences(site.judged(), verdicts) == {}
