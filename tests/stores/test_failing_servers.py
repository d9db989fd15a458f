"""Servers of a lake that fail at any moment: a catalog whose power is off, a store that answers 500 and 503
or breaks connections. Collectors that are killed, and audits that sleep longer than their lease. In the end
the rows are those of a lake on this machine that nobody disturbed.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest
from audits import Found, differences, marts_in, rows_in
from configurations import local_lake
from failing import BROKEN, OUTAGES, Failing, failing
from killed_collectors import CAPTURE, COMMAND, Growing, Site, kill_some
from quick_lease import ENDED_S
from servers import PASSWORD, SECRET, Stores

from fencepost.iceberg.catalog import open_catalog
from fencepost.maintenance import remove_old_files
from fencepost.settings import load

pytestmark = pytest.mark.stores

Played = Callable[[str], None]
SMALL = "markers-4.3.1"
FAULTS_A_ROUND = 4
ENDED, FAILED = (0, 1, 3), (2, 70)
_LONGEST_S = 600
FAULTS = ("the catalog's power was off", "the store failed", "the store was killed")


class Disturber:
    """Lets servers fail, one after the other; ``front``: what stands before the store."""

    def __init__(self, stores: Stores, front: Failing, chance: Random, played: Played) -> None:
        self._stores, self._front, self._chance, self._played = stores, front, chance, played

    def disturb(self, longest_s: float) -> None:
        """One of the servers fails for a while."""
        kind, for_s = self._chance.choice(FAULTS), self._chance.uniform(0.2, longest_s)
        if kind == "the store failed":
            kind = self._chance.choice((*OUTAGES, *BROKEN))
            self._front.outage = kind
            time.sleep(for_s)
            self._front.outage = None
            self._played(f"the store failed ({kind})")
            return
        server = self._stores.database if "catalog" in kind else self._stores.store
        server.power_off()
        time.sleep(for_s)
        server.power_on()
        self._played(kind)


@dataclass(frozen=True)
class Undisturbed:
    """Logs of three brokers, and what collectors and an audit made of them that nobody disturbed."""

    logs: Path
    rows: Found


@pytest.fixture
def undisturbed(captures: Path, tmp_path: Path) -> Undisturbed:
    """Of a lake on this machine."""
    logs = Growing(captures / CAPTURE, tmp_path / "logs")
    site = Site(logs, tmp_path / "local", local_lake(tmp_path / "local"))
    return Undisturbed(captures / CAPTURE, site.audited())


def test_killed_collectors_of_a_lake_on_postgresql_and_s3(
    stores: Stores, undisturbed: Undisturbed, tmp_path: Path, seeds: range, played: Played
) -> None:
    for seed in seeds:
        logs = Growing(undisturbed.logs, tmp_path / "logs")
        site = Site(logs, tmp_path / str(seed), stores.lake(f"lake-{seed}"))
        kill_some(site, logs, Random(seed), played)
        assert differences(site.audited(), undisturbed.rows) == {}, seed


def test_collectors_outlive_the_servers_of_their_lake(
    stores: Stores, undisturbed: Undisturbed, tmp_path: Path, seeds: range, played: Played
) -> None:
    with failing(stores.store.port) as front:
        for seed in seeds:
            chance, logs = Random(seed), Growing(undisturbed.logs, tmp_path / "logs")
            site = Site(logs, tmp_path / str(seed), stores.lake(f"lake-{seed}", front.port))
            disturber = Disturber(stores, front, chance, played)
            with site.collecting() as running:
                for share in sorted(chance.random() for _ in range(FAULTS_A_ROUND)):
                    time.sleep(chance.uniform(0, 3))
                    logs.let_come(share)
                    disturber.disturb(3)
                for broker, collector in running.items():
                    said = site.said(broker).read_text()
                    assert collector.poll() is None, said
                    assert "Traceback" not in said, said
            assert differences(site.audited(), undisturbed.rows) == {}, seed


class Audits:
    """Audits of a small capture, in processes of their own; ``lake``: that part of their configuration."""

    def __init__(self, captures: Path, folder: Path, lake: str) -> None:
        folder.mkdir()
        self._config, self._said = folder / "fencepost.toml", folder / "said"
        given = (captures / SMALL / "fencepost.toml").read_text()
        self._config.write_text(lake + given.replace('"broker-1/', f'"{captures / SMALL}/broker-1/'))

    @contextmanager
    def started(self) -> Iterator[subprocess.Popen[bytes]]:
        """An audit that has just begun, and has ended afterwards."""
        with self._said.open("wb") as said:
            command = [sys.executable, str(COMMAND), "audit", "--config", str(self._config)]
            started = subprocess.Popen([*command, "--run-on", "process"], stdout=said, stderr=said)
            try:
                yield started
            finally:
                started.kill()
                started.wait()

    def await_end(self, started: subprocess.Popen[bytes]) -> bool:
        """Whether the audit has ended well; if not, it has said so in a sentence."""
        code, said = started.wait(_LONGEST_S), self._said.read_text()
        assert "Traceback" not in said, said
        assert not any(word in said for word in (SECRET, PASSWORD))
        assert code in (*ENDED, *FAILED), said
        return code in ENDED

    def to_the_end(self) -> Found:
        """The rows after an audit that nothing disturbs."""
        with self.started() as started:
            assert self.await_end(started), self._said.read_text()
        catalog = open_catalog(load(self._config).lake)
        remove_old_files(catalog, timedelta())
        assert remove_old_files(catalog, timedelta()).files == 0
        return {**rows_in(catalog, verdicts=True), **marts_in(catalog)}


def _undisturbed_audit(captures: Path, folder: Path) -> tuple[Found, float]:
    """The rows, and how long it took."""
    begun = time.monotonic()
    return Audits(captures, folder, "").to_the_end(), time.monotonic() - begun


def test_audits_while_the_servers_of_their_lake_fail(
    stores: Stores, captures: Path, tmp_path: Path, seeds: range, played: Played
) -> None:
    expected, took_s = _undisturbed_audit(captures, tmp_path / "local")
    with failing(stores.store.port) as front:
        for seed in seeds:
            chance = Random(seed)
            site = Audits(captures, tmp_path / str(seed), stores.lake(f"lake-{seed}", front.port))
            disturber = Disturber(stores, front, chance, played)
            for _ in range(FAULTS_A_ROUND):
                with site.started() as run:
                    time.sleep(chance.uniform(1, took_s))
                    disturber.disturb(8)
                    site.await_end(run)
            assert differences(site.to_the_end(), expected) == {}, seed


def test_audits_that_sleep_longer_than_their_lease(
    stores: Stores, captures: Path, tmp_path: Path, seeds: range, played: Played
) -> None:
    """Another one takes the lake meanwhile; who wakes up writes nothing more."""
    expected, took_s = _undisturbed_audit(captures, tmp_path / "local")
    for seed in seeds:
        chance, lake = Random(seed), stores.lake(f"lake-{seed}")
        one, other = (Audits(captures, tmp_path / f"{name}-{seed}", lake) for name in ("one", "other"))
        with one.started() as sleeping:
            time.sleep(chance.uniform(2, took_s))
            sleeping.send_signal(signal.SIGSTOP)
            with other.started() as second:
                time.sleep(chance.uniform(ENDED_S, ENDED_S + took_s))
                sleeping.send_signal(signal.SIGCONT)
                one.await_end(sleeping)
                played("an audit slept longer than its lease")
                other.await_end(second)
        assert differences(other.to_the_end(), expected) == {}, seed
