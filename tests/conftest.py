"""Fixtures shared by every test: one JVM per process, lakes in temporary folders, the stored captures."""

from __future__ import annotations

import io
import os
import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

import hypothesis
import pytest
from pyspark.sql import SparkSession
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from fencepost import cli
from fencepost.engines import places, tasks
from fencepost.engines.backends import Backend
from fencepost.engines.executors import Executors
from fencepost.engines.processes import Processes
from fencepost.opening import ensure
from fencepost.session import spark_session
from fencepost.settings import DEFAULT_SPARK, Broker, Cluster, Lake, Settings
from tlasql.java import jvm

ROOT = Path(__file__).resolve().parents[1]
collect_ignore = ["captures"]
# a machine that does other work is slow, and that is no fault of what is tested
hypothesis.settings.register_profile("any_machine", deadline=None)
hypothesis.settings.load_profile("any_machine")
# one session plans what thousands of runs do, and its parser forgets nothing: 1g is not enough
TEST_SPARK = {**DEFAULT_SPARK, "spark.driver.memory": "2g"}
# A commit to a lake waits until the disk has written it, and tests make ten thousand of them: where there is
# enough memory, their folders are there. pytest removes them when all tests have passed.
MEMORY, ENOUGH_BYTES = Path("/dev/shm"), 4 << 30
if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ENOUGH_BYTES:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


def lake_settings(folder: Path) -> Settings:
    """Settings of a lake in ``folder``, for tests that need tables but no cluster's logs."""
    return Settings(
        path=folder / "fencepost.toml",
        lake=Lake(str(folder / "warehouse"), f"sqlite:///{folder / 'catalog.db'}"),
        clusters=(Cluster("test", (Broker(1),)),),
        spark=TEST_SPARK,
    )


def pytest_addoption(parser: pytest.Parser) -> None:
    """``make diff`` runs the comparisons of tlasql at many times their size."""
    parser.addoption("--times", type=int, default=1, help="how many times the random cases (default: 1)")
    parser.addoption("--seed", type=int, default=0, help="where the seeds of faults begin (default: 0)")


@pytest.fixture(scope="session")
def times(pytestconfig: pytest.Config) -> int:
    """How many times the usual number of random cases is wanted."""
    return int(pytestconfig.getoption("--times"))


@pytest.fixture(scope="session")
def seeds(pytestconfig: pytest.Config, times: int) -> range:
    """The seed of each round of a test of faults: those of ``--seed=100`` are none of a usual run."""
    first = int(pytestconfig.getoption("--seed"))
    return range(first, first + times)


PLAYED = pytest.StashKey[Counter[str]]()


@pytest.fixture(scope="session")
def played(pytestconfig: pytest.Config) -> Callable[[str], None]:
    """Call it with each fault that was played: the last lines of the tests count them by their kind."""
    counts = pytestconfig.stash.setdefault(PLAYED, Counter())

    def play(kind: str) -> None:
        counts[kind] += 1
        sys.stderr.write(f"{kind} {counts[kind]}\n")

    return play


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config
) -> None:
    """How many faults of each kind were played, where there were any."""
    for kind, count in sorted(config.stash.get(PLAYED, Counter()).items()):
        terminalreporter.write_line(f"{count:,} times: {kind}")


@pytest.fixture(scope="session")
def captures() -> Path:
    """The folder of the stored captures of real brokers."""
    return ROOT / "tests" / "captures"


@pytest.fixture(scope="session", autouse=True)
def one_jvm_for_tlc() -> Iterator[None]:
    """SANY and TLC are run many hundred times: in one JVM, as long as it has the memory."""
    with jvm.kept():
        yield


@pytest.fixture(scope="session")
def lake_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the lake that ``spark`` writes to."""
    return tmp_path_factory.mktemp("lake")


@pytest.fixture(scope="session")
def spark(lake_dir: Path) -> Iterator[SparkSession]:
    """The process's Spark session, on a temporary lake that has every table."""
    os.environ.setdefault("FENCEPOST_JARS", str(ROOT / ".jars"))
    settings = lake_settings(lake_dir)
    ensure(settings.lake)
    session = spark_session(settings)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def empty_lake(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Settings]:
    """Call it for the settings of an empty lake of its own, which has every table."""
    first = tmp_path_factory.mktemp("lake")
    ensure(lake_settings(first).lake)

    def make() -> Settings:
        """A copy of the first: to make ninety tables anew takes ten times as long."""
        folder = tmp_path_factory.mktemp("lake")
        shutil.copytree(first, folder, dirs_exist_ok=True)
        for metadata in folder.rglob("*.metadata.json"):
            metadata.write_text(metadata.read_text().replace(str(first), str(folder)))
        with closing(sqlite3.connect(folder / "catalog.db")) as catalog, catalog:
            moved = "UPDATE iceberg_tables SET metadata_location = replace(metadata_location, ?, ?)"
            catalog.execute(moved, (str(first), str(folder)))
        return lake_settings(folder)

    return make


@pytest.fixture(scope="session")
def new_lake(
    spark: SparkSession, empty_lake: Callable[[], Settings]
) -> Callable[[], tuple[SparkSession, Settings]]:
    """Call it for a session (in the same JVM) on an empty lake of its own, and that lake's settings."""

    def make() -> tuple[SparkSession, Settings]:
        settings = empty_lake()
        return spark_session(settings), settings

    return make


@pytest.fixture(scope="session")
def processes() -> Iterator[Backend]:
    """Two processes of this machine for tasks, which are forked when a test first needs them."""
    backend = Processes(2)
    yield backend
    backend.stop()


@pytest.fixture
def backend_for(request: pytest.FixtureRequest) -> Callable[[str], Backend]:
    """Call it for a back end by its name; the processes and the Spark context are those of all tests."""

    def named(name: str) -> Backend:
        if name == "spark":
            context = request.getfixturevalue("spark").sparkContext
            return Executors(lambda: context)
        backend: Backend = request.getfixturevalue(name)
        return backend

    return named


@pytest.fixture
def all_by_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """However few rows are, tasks do the work, and write files."""
    monkeypatch.setattr(tasks, "SMALL_BYTES", -1)
    monkeypatch.setattr(places, "FEW_BYTES", -1)
    for name in ("TASK_BYTES", "BUCKET_BYTES"):
        monkeypatch.setattr(tasks, name, 1)


@dataclass(frozen=True)
class Audited:
    """A capture that ``fencepost audit`` has audited: its lake, and how the command ended."""

    config: Path
    lake: Path
    said: subprocess.CompletedProcess[str]


@pytest.fixture(scope="session")
def troubled(captures: Path, tmp_path_factory: pytest.TempPathFactory) -> Audited:
    """A cluster with zombies; commands and DAGs may read its lake, and audit again what has not changed.

    It is audited in this process; tests/protocols/toy audits in one of its own.
    """
    config = captures / "troubled-4.2.1" / "fencepost.toml"
    audited = tmp_path_factory.mktemp("troubled") / "lake"
    command = ["audit", "--config", str(config)]
    out, errors = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(errors):
        patch.setenv("FENCEPOST_LAKE", str(audited))
        patch.setenv("TZ", "UTC")
        code = cli.main(command)
    said = subprocess.CompletedProcess(command, code, out.getvalue(), errors.getvalue())
    return Audited(config, audited, said)


# Folders and files whose tests share what is dear to make: one process has all of each.
TOGETHER = ("dags", "dbt", "e2e", "gate", "judge", "protocols/*", "protocols")
WITH = {"test_cli.py": "dags", "test_site.py": "dags"}


SPARK = (
    "bench/test_generated_cluster.py", "capture/*", "dbt", "e2e", "engines/test_failing_tasks.py",
    "iceberg/test_catalog.py", "iceberg/test_times.py", "judge", "protocols", "protocols/leader_epoch",
    "test_lake.py", "test_plot.py", "test_reading.py", "test_secrets.py", "test_views.py",
    "tlasql/test_generated.py", "tlasql/test_traps.py", "tlasql/test_unplaced.py",
)  # fmt: skip
"""Those of them that run Spark: its first queries take a process longer than all later ones."""
LONGEST = "e2e"
LAST = (LONGEST, "dags", "arrivals", "spec", "spec/test_models.py")
"""Folders that audit whole captures, what takes longest first; runs of TLC fill the time left."""


class Shares(LoadScopeScheduling):
    """What a process of several takes next: a folder of ``TOGETHER``, else a file; runs of TLC one by one.

    One process takes what runs Spark as long as there is any, the others what does not. When those have no
    quick tests left, one of them takes the longest share, and after it more of what runs Spark: then all end
    at about the same time.
    """

    def _split_scope(self, nodeid: str) -> str:
        return _share(nodeid)

    def _assign_work_unit(self, node: WorkerController) -> None:
        takes_spark = self._has_run_spark(node) or not any(map(self._has_run_spark, self.nodes))
        chosen = next((share for share in self.workqueue if _runs_spark(share) == takes_spark), None)
        if LONGEST in self.workqueue and (chosen is None or not _is_quick(chosen)):
            chosen = LONGEST
        if chosen is not None:
            self.workqueue.move_to_end(chosen, last=False)
        super()._assign_work_unit(node)

    def _has_run_spark(self, node: WorkerController) -> bool:
        return any(map(_runs_spark, self.assigned_work.get(node, ())))


def _share(nodeid: str) -> str:
    """The share that a test belongs to: a folder or file below tests, or the test itself."""
    test = nodeid.removeprefix("tests/")
    file = test.partition("::")[0]
    if file == "spec/test_models.py":
        return test
    folder = WITH.get(file, str(Path(file).parent))
    return folder if any(Path(folder).match(each) for each in TOGETHER) else file


def _runs_spark(share: str) -> bool:
    return any(fnmatch(share, each) for each in SPARK)


def _is_quick(share: str) -> bool:
    return _turn(share) < 0


def _turn(share: str) -> int:
    """When a share's turn is: what is quick fails first."""
    names = (share.partition("::")[0], share.partition("/")[0])
    return next((LAST.index(name) for name in names if name in LAST), -1)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Shares:
    """For pytest-xdist: who takes which tests."""
    return Shares(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """In turn, else as they were found."""
    items.sort(key=lambda item: _turn(_share(item.nodeid)))


@pytest.fixture
def unlisted(request: pytest.FixtureRequest) -> set[str]:
    """Shares that use ``spark`` and are not in its list: a second process would start it, too."""
    items = [each for each in request.session.items if "spark" in getattr(each, "fixturenames", ())]
    return {share for share in (_share(each.nodeid) for each in items) if not _runs_spark(share)}
