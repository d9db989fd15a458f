"""Collectors of three brokers and one lake on this machine, killed at any moment in their rounds."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from audits import differences
from configurations import local_lake
from killed_collectors import CAPTURE, Growing, Site, kill_some


@pytest.mark.faults
def test_killed_collectors(
    captures: Path, tmp_path: Path, seeds: range, played: Callable[[str], None]
) -> None:
    logs = Growing(captures / CAPTURE, tmp_path / "logs")
    expected = Site(logs, tmp_path / "undisturbed", local_lake(tmp_path / "undisturbed")).audited()
    for seed in seeds:
        folder, chance = tmp_path / str(seed), Random(seed)
        logs = Growing(captures / CAPTURE, tmp_path / "logs")
        site = Site(logs, folder, local_lake(folder))
        kill_some(site, logs, chance, played)
        assert differences(site.audited(), expected) == {}, seed
        shutil.rmtree(folder)
