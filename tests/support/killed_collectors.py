"""Collectors of three brokers that are killed, suspended and ended at any moment, while their logs grow: what
an audit makes of what they have collected is what it makes of logs that nobody disturbed.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from random import Random

from audits import Found, rows_in
from configurations import broker_logs

from fencepost.iceberg.catalog import open_catalog
from fencepost.maintenance import remove_old_files
from fencepost.pipeline import Run
from fencepost.settings import load

CAPTURE, BROKERS = "failover-4.3.1", (1, 2, 3)
COMMAND = Path(__file__).with_name("quick_lease.py")
ROUNDS = 3
_LONGEST_S = 120


class Growing:
    """The brokers' files, whose last parts come later: whole lines of text, and any bytes of segments."""

    def __init__(self, whole: Path, folder: Path) -> None:
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(whole, folder)
        self._whole = {
            path: path.read_bytes() for name in ("*.log", "kafka-request.log") for path in folder.rglob(name)
        }
        self._there = dict.fromkeys(self._whole, 0)
        for path in self._whole:
            path.write_bytes(b"")

    def let_come(self, share: float) -> None:
        """Let every file have this share of its bytes."""
        for path, whole in self._whole.items():
            end = int(len(whole) * share)
            if share < 1 and "log_dir" not in path.parts:
                end = whole.rfind(b"\n", 0, end) + 1
            with path.open("ab") as file:
                file.write(whole[self._there[path] : end])
            self._there[path] = max(end, self._there[path])


class Site:
    """Three brokers, a collector for each of them, and the lake that they share; ``lake``: its part of their
    configurations.
    """

    def __init__(self, logs: Growing, folder: Path, lake: str) -> None:
        self._logs, self._folder, self._lake = logs, folder, lake
        self._parts = {broker: broker_logs(broker, logs.folder / f"broker-{broker}") for broker in BROKERS}
        # each on a machine of its own, so they do not meet in the lock of one
        self.collectors = {
            broker: self._config(f"host-{broker}", part) for broker, part in self._parts.items()
        }
        self.audit = self._config("audit", *(f"[[clusters.brokers]]\nid = {each}\n" for each in BROKERS))

    def _config(self, name: str, *brokers: str) -> Path:
        path = self._folder / name / "fencepost.toml"
        path.parent.mkdir(parents=True)
        path.write_text(f'{self._lake}\n[[clusters]]\nname = "{CAPTURE}"\n{"".join(brokers)}')
        return path

    @contextmanager
    def collecting(self) -> Iterator[Mapping[int, subprocess.Popen[bytes]]]:
        """A collector on each broker, in rounds; all have ended afterwards."""
        with ExitStack() as started:
            running = {}
            for broker, config in self.collectors.items():
                said = started.enter_context(self.said(broker).open("wb"))
                command = [sys.executable, str(COMMAND), "collect", "--every", "1", "--config", str(config)]
                running[broker] = subprocess.Popen(command, stdout=said, stderr=said)
                started.callback(running[broker].wait)
                started.callback(running[broker].kill)
            yield running

    def said(self, broker: int) -> Path:
        """What the last collector of this broker has said."""
        return self.collectors[broker].with_name("said")

    def audited(self) -> Found:
        """The rows after a last round of each collector and an audit; no file is left that nothing names."""
        self._logs.let_come(1)
        for config in self.collectors.values():
            command = [sys.executable, str(COMMAND), "collect", "--config", str(config)]
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_LONGEST_S)
            assert done.returncode == 0, done.stderr
        settings = load(self.audit)
        with Run(settings) as run:
            for step in ("capture", "rebuild", "judge"):
                run.step(step)
        catalog = open_catalog(settings.lake)
        remove_old_files(catalog, timedelta())
        assert remove_old_files(catalog, timedelta()).files == 0
        return rows_in(catalog, verdicts=True)


def kill_some(site: Site, logs: Growing, chance: Random, played: Callable[[str], None]) -> None:
    """Start all collectors and end all, again and again, while the logs grow."""
    shares = iter(sorted(chance.random() for _ in range(ROUNDS * len(BROKERS))))
    for _ in range(ROUNDS):
        with site.collecting() as running:
            # until the first of them has begun to write, in most rounds
            time.sleep(chance.uniform(0.5, 3))
            for broker in chance.sample(BROKERS, len(BROKERS)):
                logs.let_come(next(shares))
                time.sleep(chance.uniform(0, 1.5))
                assert running[broker].poll() is None, site.said(broker).read_text()
                _end(running[broker], chance, played)
        for broker in BROKERS:
            assert "Traceback" not in (said := site.said(broker).read_text()), said


def _end(collector: subprocess.Popen[bytes], chance: Random, played: Callable[[str], None]) -> None:
    how = chance.choices(("killed", "ended by SIGTERM", "suspended, and then killed"), (6, 1, 2))[0]
    if how == "ended by SIGTERM":
        collector.terminate()
        assert collector.wait(_LONGEST_S) in (0, -signal.SIGTERM)
    elif how == "killed":
        collector.kill()
    else:
        # shorter and longer than its lease
        os.kill(collector.pid, signal.SIGSTOP)
        time.sleep(chance.uniform(0, 8))
        os.kill(collector.pid, signal.SIGCONT)
        time.sleep(chance.uniform(0, 1))
        collector.kill()
    collector.wait()
    played(f"a collector was {how}")
