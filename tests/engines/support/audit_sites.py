"""Whole audits in processes that may end at any moment, and what they left and told."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from audits import Found, marts_in, rows_in
from inline import left_behind

from fencepost.opening import ensure
from fencepost.settings import Lake, Settings, load

CAPTURE = "troubled-4.2.1"
TOLD = "FENCEPOST_TEST_TOLD"
"""The variable with the file of what somebody was told."""
TELLS = f"""
import os, sys
with open(os.environ["{TOLD}"], "a") as told:
    told.write(" ".join(sys.stdin.read().splitlines()) + chr(10))
"""
ENDED = (0, 1)
LONGEST_S = 300.0


class Site:
    """A lake of a capture's files, of which some may still come. ``disk``: where the lake and temporary files
    are, if not in the folder, too.
    """

    def __init__(self, logs: Path, folder: Path, disk: Path | None = None) -> None:
        folder.mkdir()
        self._folder, self._told, self._lake = folder, folder / "told", (disk or folder) / "lake"
        scratch = (disk or folder) / "tmp"
        scratch.mkdir()
        self._config = logs / "fencepost.toml"
        self._whole = {each: each.read_bytes() for each in logs.rglob("kafka-request.log*")}
        self._env = {**os.environ, "TZ": "UTC", "FENCEPOST_LAKE": str(self._lake), TOLD: str(self._told)}
        self._env["TMPDIR"] = str(scratch)

    def let_come(self, share: float) -> None:
        """Let the request logs have only this share of their lines."""
        for path, whole in self._whole.items():
            end = whole.rfind(b"\n", 0, int(len(whole) * share)) + 1
            path.write_bytes(whole if share == 1 else whole[:end])

    @contextmanager
    def started(self, *command: str) -> Iterator[subprocess.Popen[bytes]]:
        """A command that has just begun; all its processes have been killed afterwards."""
        with (self._folder / "said").open("wb") as said:
            started = subprocess.Popen(
                [sys.executable, "-m", "fencepost.cli", *command, "--config", str(self._config)],
                env=self._env,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )
            try:
                yield started
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(started.pid, signal.SIGKILL)
                started.wait()

    def is_killed(self, *command: str, after_s: float) -> bool:
        """Kill a command; False if it had ended before."""
        with self.started(*command) as started, suppress(subprocess.TimeoutExpired):
            started.wait(after_s)
            return False
        return True

    @property
    def said(self) -> str:
        """What the last command has said."""
        return (self._folder / "said").read_text()

    def audit(self) -> None:
        """Audit to the end."""
        with self.started("audit") as started:
            assert started.wait(LONGEST_S) in ENDED, self.said

    @property
    def told(self) -> Counter[str]:
        """How often somebody was told of each incident."""
        lines = self._told.read_text().splitlines() if self._told.exists() else []
        return Counter(event["key"] for line in lines for event in json.loads(line)["events"])

    def rows(self) -> Found:
        """The rows of silver, verdicts and marts, less what tells of the runs."""
        catalog = ensure(self._settings.lake)
        return {**rows_in(catalog, verdicts=True), **marts_in(catalog)}

    def left(self) -> set[str]:
        """Files that nothing names."""
        return {str(each) for each in left_behind(self._settings, ensure(self._settings.lake))}

    @property
    def _settings(self) -> Settings:
        lake = Lake(str(self._lake / "warehouse"), f"sqlite:///{self._lake / 'catalog.db'}")
        return replace(load(self._config), lake=lake)
