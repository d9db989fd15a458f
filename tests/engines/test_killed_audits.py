"""Whole audits that are killed at any moment, marts and alerts too: the next one that ends leaves what an
undisturbed one does, and nobody was told less.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from audits import Found, differences, rows_in
from inline import left_behind

from fencepost.ledger.states import find
from fencepost.opening import ensure
from fencepost.settings import Lake, Settings, load

CAPTURE = "troubled-4.2.1"
KILLS = 10
"""Runs that are killed, for each one that is left to end."""
TOLD = "FENCEPOST_TEST_TOLD"
"""The variable with the file of what somebody was told."""
TELLS = f"""
import os, sys
with open(os.environ["{TOLD}"], "a") as told:
    told.write(" ".join(sys.stdin.read().splitlines()) + chr(10))
"""
_OF_RUNS = ("marts.fct_audit_runs", "marts.fct_incidents")
_ENDED = (0, 1)
_LONGEST_S = 300.0


class Site:
    """A lake of a capture's files, of which some may still come."""

    def __init__(self, logs: Path, folder: Path) -> None:
        folder.mkdir()
        self._folder, self._told = folder, folder / "told"
        self._config = logs / "fencepost.toml"
        self._whole = {each: each.read_bytes() for each in logs.rglob("kafka-request.log*")}
        self._env = {**os.environ, "TZ": "UTC", "FENCEPOST_LAKE": str(folder / "lake"), TOLD: str(self._told)}

    def let_come(self, share: float) -> None:
        """Let the request logs have only this share of their lines."""
        for path, whole in self._whole.items():
            end = whole.rfind(b"\n", 0, int(len(whole) * share)) + 1
            path.write_bytes(whole if share == 1 else whole[:end])

    def run(self, *command: str, killed_after_s: float | None = None) -> int | None:
        """The exit code of a command; None if it was killed."""
        with (self._folder / "said").open("wb") as said:
            started = subprocess.Popen(
                [sys.executable, "-m", "fencepost.cli", *command, "--config", str(self._config)],
                env=self._env,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )
            try:
                return started.wait(killed_after_s or _LONGEST_S)
            except subprocess.TimeoutExpired:
                assert killed_after_s is not None, self.said
                with suppress(ProcessLookupError):
                    os.killpg(started.pid, signal.SIGKILL)
                started.wait()
                return None

    @property
    def said(self) -> str:
        """What the last command has said."""
        return (self._folder / "said").read_text()

    def audit(self) -> None:
        """Audit to the end."""
        assert self.run("audit") in _ENDED, self.said

    @property
    def told(self) -> Counter[str]:
        """How often somebody was told of each incident."""
        lines = self._told.read_text().splitlines() if self._told.exists() else []
        return Counter(event["key"] for line in lines for event in json.loads(line)["events"])

    def rows(self) -> Found:
        """The rows of silver, verdicts and marts, less what tells of the runs."""
        catalog = ensure(self._settings.lake)
        found = dict(rows_in(catalog, verdicts=True))
        for name in map(".".join, catalog.list_tables("marts")):
            mart = find(catalog, name) if name not in _OF_RUNS else None
            if mart is not None:
                found[name] = Counter(
                    tuple(map(repr, row.values())) for row in mart.scan().to_arrow().to_pylist()
                )
        return found

    def left(self) -> set[str]:
        """Files that nothing names."""
        return {str(each) for each in left_behind(self._settings, ensure(self._settings.lake))}

    @property
    def _settings(self) -> Settings:
        place = self._folder / "lake"
        lake = Lake(str(place / "warehouse"), f"sqlite:///{place / 'catalog.db'}")
        return replace(load(self._config), lake=lake)


@pytest.fixture
def logs(captures: Path, tmp_path: Path) -> Path:
    """The files of a capture, and a configuration by which somebody is told of incidents."""
    folder = tmp_path / "logs"
    shutil.copytree(captures / CAPTURE, folder)
    config, recipient = folder / "fencepost.toml", json.dumps([sys.executable, "-c", TELLS])
    config.write_text(
        f"{config.read_text()}\n[[alerts]]\nname = 'somebody'\ncommand = {recipient}\n"
        "on = ['new']\n\n[engine]\nrun_on = 'process'\n"
    )
    return folder


@pytest.mark.faults
def test_killed_audits(logs: Path, tmp_path: Path, times: int) -> None:
    undisturbed = Site(logs, tmp_path / "undisturbed")
    undisturbed.let_come(1)
    begun = time.monotonic()
    undisturbed.audit()
    took_s = time.monotonic() - begun
    expected, told = undisturbed.rows(), undisturbed.told
    assert told
    for number in range(times):
        chance = Random(number)
        site = Site(logs, tmp_path / str(number))
        killed = 0
        while killed < KILLS:
            site.let_come(0.5 if killed < KILLS // 2 else 1)
            command = chance.choices(("audit", "maintain"), (9, 1))[0]
            killed += site.run(command, killed_after_s=chance.uniform(0.5, took_s)) is None
        site.audit()
        assert differences(site.rows(), expected) == {}, number
        assert site.told.keys() == told.keys(), number
        assert site.left() == set(), number
        shutil.rmtree(tmp_path / str(number))
