"""Whole audits that are killed at any moment, marts and alerts too: the next one that ends leaves what an
undisturbed one does, and nobody was told less.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from audit_sites import Site
from audits import differences

KILLS = 10
"""Runs that are killed, for each one that is left to end."""


@pytest.mark.faults
def test_killed_audits(logs: Path, tmp_path: Path, seeds: range, played: Callable[[str], None]) -> None:
    undisturbed = Site(logs, tmp_path / "undisturbed")
    undisturbed.let_come(1)
    begun = time.monotonic()
    undisturbed.audit()
    took_s = time.monotonic() - begun
    expected, told = undisturbed.rows(), undisturbed.told
    assert told
    for number in seeds:
        chance = Random(number)
        site = Site(logs, tmp_path / str(number))
        killed = 0
        while killed < KILLS:
            site.let_come(0.5 if killed < KILLS // 2 else 1)
            command = chance.choices(("audit", "maintain"), (9, 1))[0]
            if site.is_killed(command, after_s=chance.uniform(0.5, took_s)):
                played(f"all processes of {command} were killed")
                killed += 1
        site.audit()
        assert differences(site.rows(), expected) == {}, number
        assert site.told.keys() == told.keys(), number
        assert site.left() == set(), number
        shutil.rmtree(tmp_path / str(number))
