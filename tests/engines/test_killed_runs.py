"""Runs and executors that are killed at any moment: in the end the rows are those of one process that nothing
disturbed, and no file and no process is left.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

import psutil
import pytest
from audit_steps import STEPS
from audits import Found, differences, rows_in
from inline import left_behind
from spark_cluster import standalone_cluster

from fencepost import pipeline
from fencepost.cli import INTERRUPTED
from fencepost.opening import ensure
from fencepost.settings import Lake, Settings, load

ROOT = Path(__file__).resolve().parents[2]
TEMPORARY = "temporary files in a folder whose name is longer than the path of a socket may be" + 30 * "."
SCRIPT = Path(__file__).with_name("support") / "audit_steps.py"
MARK = "FENCEPOST_TEST_RUN"
"""A variable of the environment by which the processes of a run are found."""

Played = Callable[[str], None]
_LONGEST_S, _SLOW_S = 900.0, 240.0
"""A machine that does other work is slow."""


def _rows(settings: Settings) -> Found:
    return rows_in(ensure(settings.lake), verdicts=True)


@dataclass
class Site:
    """A capture and a lake for runs in processes of their own."""

    config: Path
    folder: Path
    conf: Sequence[str] = ()

    @property
    def settings(self) -> Settings:
        """The settings of its runs."""
        place = self.folder / "lake"
        own = Lake(str(place / "warehouse"), f"sqlite:///{place / 'catalog.db'}")
        return replace(load(self.config), lake=own)

    @contextmanager
    def run(self, run_on: str) -> Iterator[subprocess.Popen[bytes]]:
        """A run; it and all that it has started have ended afterwards."""
        mark = uuid4().hex
        scratch = self.folder / TEMPORARY
        scratch.mkdir(exist_ok=True)
        environment = {**os.environ, "FENCEPOST_LAKE": str(self.folder / "lake"), "TMPDIR": str(scratch)}
        command = [sys.executable, str(SCRIPT), str(self.config), run_on, *self.conf]
        with self.said.open("wb") as said:
            started = subprocess.Popen(
                command,
                env={**environment, MARK: mark},
                stdout=said,
                stderr=said,
                cwd=ROOT,
                start_new_session=True,
            )
        try:
            yield started
        finally:
            started.kill()
            started.wait()
        ends_by = time.monotonic() + _SLOW_S
        while left := _processes_with(mark):
            assert time.monotonic() < ends_by, left
            time.sleep(0.1)

    @property
    def said(self) -> Path:
        """What the last run has said."""
        return self.folder / "said"

    def end_in(self, step: str, run_on: str, chance: random.Random) -> signal.Signals | None:
        """A run that is ended in the first seconds of a step, unless it has ended before: killed, asked to
        end, or by Ctrl-C, which all its processes get. The signal that it got.
        """
        with self.run(run_on) as run:
            while run.poll() is None and f"{step} begins" not in self.said.read_text():
                time.sleep(0.05)
            with suppress(subprocess.TimeoutExpired):
                run.wait(chance.uniform(0, 6 if run_on == "spark" else 2))
            sent = chance.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGINT))
            if run.poll() is not None:
                return None
            if sent == signal.SIGINT:
                was_done = "all is done" in self.said.read_text()
                os.killpg(run.pid, sent)
                # Python that ends may not look at signals any more
                if run.wait(_SLOW_S) != 0 or not was_done:
                    self.check_interrupted(run)
            else:
                run.send_signal(sent)
            return sent

    def check_interrupted(self, run: subprocess.Popen[bytes]) -> None:
        """The run has ended by Ctrl-C, and of all its processes only the first says so, in one sentence."""
        said = self.said.read_text()
        assert "Traceback" not in said and "KeyboardInterrupt" not in said, said
        if run.returncode == -signal.SIGINT:  # all was done, and only Python had still to end
            return
        assert run.returncode == INTERRUPTED, said
        assert said.count("fencepost: interrupted") == 1, said

    def run_to_the_end(self, run_on: str) -> None:
        """A run that nothing disturbs."""
        with self.run(run_on) as run:
            assert run.wait(_LONGEST_S) == 0, self.said.read_text()[-5_000:]

    def check(self, expected: Found) -> None:
        """The rows are as expected, and nothing else is left."""
        assert differences(_rows(self.settings), expected) == {}
        catalog = ensure(self.settings.lake)
        assert left_behind(self.settings, catalog) == set()
        of_runs = [each for each in (self.folder / TEMPORARY).iterdir() if each.name.startswith("fencepost-")]
        assert [each for each in of_runs if each.is_dir() and each.name != "fencepost-spark-warehouse"] == []


def _processes_with(mark: str) -> list[str]:
    """The command lines of the processes that have it in their environment."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get(MARK) == mark:
                found.append(" ".join(process.cmdline()))
    return found


def _undisturbed(config: Path, folder: Path) -> Found:
    settings = replace(Site(config, folder).settings, run_on="process")
    with pipeline.Run(settings) as run:
        for name in ("capture", "rebuild", "judge"):
            run.step(name)
    return _rows(settings)


def test_the_run_after_some_that_were_ended_leaves_what_an_undisturbed_one_does(
    captures: Path, tmp_path: Path
) -> None:
    config = captures / "markers-4.3.1" / "fencepost.toml"
    site = Site(config, tmp_path)
    (tmp_path / "undisturbed").mkdir()
    expected = _undisturbed(config, tmp_path / "undisturbed")
    chance = random.Random()
    for step in chance.sample(STEPS, 2):
        site.end_in(step, "processes", chance)
    site.run_to_the_end("processes")
    site.check(expected)


def test_ctrl_c_while_processes_start_is_one_sentence(captures: Path, tmp_path: Path) -> None:
    site = Site(captures / "markers-4.3.1" / "fencepost.toml", tmp_path)
    with site.run("processes") as run:
        while not (started := _fork_servers(run.pid)):
            assert run.poll() is None, site.said.read_text()
            time.sleep(0.01)
        time.sleep(0.3)  # It imports what tasks need, which takes some seconds.
        assert not started[0].children()
        os.killpg(run.pid, signal.SIGINT)
        run.wait(_SLOW_S)
        site.check_interrupted(run)


def _fork_servers(pid: int) -> list[psutil.Process]:
    with suppress(psutil.Error):
        return [each for each in psutil.Process(pid).children() if "forkserver" in " ".join(each.cmdline())]
    return []


@pytest.fixture(scope="module")
def healthy(captures: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Found]:
    config = captures / "healthy-4.3.1" / "fencepost.toml"
    return config, _undisturbed(config, tmp_path_factory.mktemp("undisturbed"))


@pytest.mark.faults
@pytest.mark.parametrize("run_on", ["processes", "spark"])
def test_many_killed_runs(
    run_on: str, healthy: tuple[Path, Found], tmp_path: Path, seeds: range, played: Played
) -> None:
    config, expected = healthy
    for number in seeds:
        chance = random.Random(number)
        (tmp_path / str(number)).mkdir()
        site = Site(config, tmp_path / str(number))
        for step in (*STEPS, chance.choice(STEPS)):
            if sent := site.end_in(step, run_on, chance):
                played(f"the driver of a run in {run_on} got {sent.name}")
        site.run_to_the_end(run_on)
        site.check(expected)


@pytest.mark.faults
def test_a_run_whose_jvm_is_killed_says_so(captures: Path, tmp_path: Path) -> None:
    site = Site(captures / "markers-4.3.1" / "fencepost.toml", tmp_path)
    with site.run("spark") as run:
        while "judge begins" not in site.said.read_text():
            assert run.poll() is None, site.said.read_text()
            time.sleep(0.05)
        (jvm,) = (each for each in psutil.Process(run.pid).children(recursive=True) if each.name() == "java")
        jvm.kill()
        assert run.wait(_SLOW_S) != 0
    assert "Spark's JVM has ended. If the system lacks memory" in site.said.read_text()
    site.run_to_the_end("spark")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Sequence[int]]]:
    """A standalone cluster on this machine: the master's URL, and two workers by process id."""
    with standalone_cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.mark.faults
def test_a_run_survives_its_executors(
    cluster: tuple[str, Sequence[int]],
    healthy: tuple[Path, Found],
    tmp_path: Path,
    seeds: range,
    played: Played,
) -> None:
    master, workers = cluster
    config, expected = healthy
    for number in seeds:
        chance = random.Random(number)
        (tmp_path / str(number)).mkdir()
        site = Site(config, tmp_path / str(number), (f"spark.master={master}", "spark.executor.memory=1g"))
        killed = 0
        begun = time.monotonic()
        with site.run("spark") as run:
            while run.poll() is None:
                assert time.monotonic() - begun < _LONGEST_S, site.said.read_text()[-5_000:]
                time.sleep(chance.uniform(2, 8))
                executors = [child for worker in workers for child in psutil.Process(worker).children()]
                if executors and killed < 5:
                    chance.choice(executors).kill()
                    played("an executor was killed")
                    killed += 1
            assert run.returncode == 0, site.said.read_text()[-5_000:]
        assert killed > 2
        site.check(expected)


@pytest.mark.faults
def test_tasks_that_spark_runs_twice(
    cluster: tuple[str, Sequence[int]], captures: Path, tmp_path: Path
) -> None:
    """Spark starts a task again that takes long, and the slower one is dropped."""
    master, _ = cluster
    config = captures / "markers-4.3.1" / "fencepost.toml"
    (tmp_path / "undisturbed").mkdir()
    expected = _undisturbed(config, tmp_path / "undisturbed")
    events = tmp_path / "events"
    events.mkdir()
    conf = {
        "spark.master": master,
        "spark.executor.memory": "1g",
        "spark.speculation": "true",
        "spark.speculation.interval": "20ms",
        "spark.speculation.minTaskRuntime": "0ms",
        "spark.speculation.multiplier": "1.01",
        "spark.speculation.quantile": "0.1",
        "spark.speculation.task.duration.threshold": "50ms",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": events.as_uri(),
    }
    site = Site(config, tmp_path, [f"{name}={value}" for name, value in conf.items()])
    site.run_to_the_end("spark")
    lines = [line for file in events.rglob("*") if file.is_file() for line in file.read_text().splitlines()]
    ended = [line for line in lines if line.startswith('{"Event":"SparkListenerTaskEnd"')]
    assert sum('"Speculative":true' in line for line in ended) > 5
    site.check(expected)
