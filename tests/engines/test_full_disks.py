"""Audits whose disk is full from some moment on, with the lake and temporary files on it: they say so in a
sentence, and the next one leaves what an undisturbed one does.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random

import pytest
from audit_sites import ENDED, LONGEST_S, Site
from audits import differences

pytestmark = pytest.mark.faults

FULL = 4
"""Runs whose disk is full, for each one that ends."""
SIZE = 512 << 20


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "none", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this user may not mount a file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def _full(disk: Path, left: int) -> Iterator[None]:
    """Only so many bytes are left on the disk meanwhile."""
    ballast = disk / "ballast"
    with ballast.open("wb") as file:
        while True:
            space = os.statvfs(disk)
            # the run may take some of it at the same time
            with suppress(OSError):
                os.posix_fallocate(file.fileno(), 0, max(1, space.f_bavail * space.f_frsize - left))
                break
    try:
        yield
    finally:
        ballast.unlink()


def test_audits_whose_disk_is_full(
    logs: Path, disk: Path, tmp_path: Path, seeds: range, played: Callable[[str], None]
) -> None:
    undisturbed = Site(logs, tmp_path / "undisturbed")
    begun = time.monotonic()
    undisturbed.audit()
    took_s = time.monotonic() - begun
    expected, told = undisturbed.rows(), undisturbed.told
    for seed in seeds:
        chance, place = Random(seed), disk / str(seed)
        place.mkdir()
        site = Site(logs, tmp_path / str(seed), place)
        for number in range(FULL):
            site.let_come(0.5 if number < FULL // 2 else 1)
            run_on = chance.choice(("process", "processes"))
            with site.started("audit", "--run-on", run_on) as run:
                time.sleep(chance.uniform(0.5, took_s))
                with _full(disk, chance.choice((0, 1 << 12, 1 << 16, 1 << 20))):
                    code = run.wait(LONGEST_S)
            assert "Traceback" not in site.said, site.said
            if code not in ENDED:
                assert code == 2, site.said
                assert "Free some space, and repeat the command" in site.said, site.said
                played(f"the disk of an audit was full ({run_on})")
        site.audit()
        assert differences(site.rows(), expected) == {}, seed
        assert site.told.keys() == told.keys(), seed
        assert site.left() == set(), seed
        shutil.rmtree(place)
