"""Tasks that fail or are killed: they are run again, or one error says what happened."""

from __future__ import annotations

import os
import pickle
import signal
import tempfile
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from fencepost.engines.backends import Backend
from fencepost.engines.errors import TaskError
from fencepost.engines.processes import Processes

BACKENDS = pytest.mark.parametrize("name", ["processes", "spark"])


class TwoPartsError(Exception):
    """Cannot be unpickled as it is pickled: with one argument."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} and {second}")


def _fail_plainly(number: int) -> int:
    if number == 2:
        raise LookupError(f"task {number} found nothing")
    return number


def _fail_oddly(number: int) -> int:
    raise TwoPartsError("one", "two")


class Trap:
    """Evidence that would run code if it were unpickled."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.mkdir, (self.folder,)


def _fail_with_hostile_evidence(folder: str) -> int:
    raise LookupError(f"no group named [carried {b64encode(pickle.dumps(Trap(folder))).decode()}]")


@BACKENDS
def test_what_an_error_says_of_evidence_is_never_unpickled(
    name: str, backend_for: Callable[[str], Backend], tmp_path: Path
) -> None:
    with pytest.raises(LookupError, match="no group named"):
        backend_for(name).run("try", [str(tmp_path / "trapped")], _fail_with_hostile_evidence)
    assert not list(tmp_path.iterdir())


@BACKENDS
def test_an_error_in_a_task_is_raised_as_it_was(name: str, backend_for: Callable[[str], Backend]) -> None:
    backend = backend_for(name)
    with pytest.raises(LookupError, match="task 2 found nothing") as plain:
        backend.run("try", [1, 2, 3], _fail_plainly)
    assert "in _fail_plainly" in "".join(plain.value.__notes__)
    with pytest.raises(TaskError, match=r"TwoPartsError: one and two$"):
        backend.run("try", [1], _fail_oddly)
    for spread, work in ((_fail_in_spread, len), (_pairs, _fail_in_work)):
        with pytest.raises(ValueError, match="no integer"):
            backend.shuffle("try", [1, 2], spread, work, 2)
    assert backend.shuffle("try", [1, 2], _pairs, sorted, 2) == [[2], [1]]


def _pairs(number: int) -> Iterator[tuple[int, int]]:
    yield number % 2, number


def _fail_in_spread(number: int) -> Iterator[tuple[int, int]]:
    yield number, number
    raise ValueError("no integer")


def _fail_in_work(values: Iterator[Any]) -> int:
    raise ValueError("no integer")


def _killed_once(place: str) -> str:
    """The task's process is killed, as the system does for want of memory."""
    if not Path(place).exists():
        Path(place).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return tempfile.gettempdir()


def test_tasks_of_a_killed_process_are_run_again_once(processes: Processes, tmp_path: Path) -> None:
    first, *_ = processes.run("try", [str(tmp_path / "first")], _killed_once)
    assert Path(first) != tmp_path
    with pytest.raises(TaskError, match=r"try: a process was killed, .*run_on"):
        processes.run("try", [1], lambda _: os.kill(os.getpid(), signal.SIGKILL))
    assert processes.run("try", [3], str) == ["3"]


def test_what_was_shuffled_is_not_lost_with_a_process(processes: Processes, tmp_path: Path) -> None:
    def spread(number: int) -> Iterator[tuple[int, int]]:
        for bucket in range(3):
            yield bucket, number

    def work(values: Iterator[int]) -> list[int]:
        found = sorted(values)
        _killed_once(str(tmp_path / "once"))
        return found

    assert processes.shuffle("try", list(range(5)), spread, work, 3) == [list(range(5))] * 3


def test_ctrl_c_and_errors_end_the_tasks_that_run(processes: Processes, tmp_path: Path) -> None:
    def slow(number: int) -> None:
        (tmp_path / str(os.getpid())).touch()
        time.sleep(60)

    def press() -> None:
        while not any(tmp_path.iterdir()):
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    presser = threading.Thread(target=press)
    presser.start()
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        processes.run("try", [1, 2, 3], slow)
    presser.join()
    assert time.monotonic() - begun < 30
    assert not [file.name for file in tmp_path.iterdir() if Path(f"/proc/{file.name}").exists()]


def test_ctrl_c_at_the_start_of_a_process_leaves_none_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would end with a traceback when it finds that the driver is gone."""
    started: list[BaseProcess] = []
    start = BaseProcess.start

    def start_and_press(process: BaseProcess) -> None:
        start(process)
        started.append(process)
        if len(started) == 1:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(BaseProcess, "start", start_and_press)
    backend = Processes(2)
    with pytest.raises(KeyboardInterrupt):
        backend.run("try", [1, 2, 3], str)
    assert started
    assert not any(each.is_alive() for each in started)
    backend.stop()


def test_what_spark_says_of_a_lost_task_is_one_sentence(backend_for: Callable[[str], Backend]) -> None:
    with pytest.raises(TaskError) as failed:
        backend_for("spark").run("try", [1], lambda _: os.kill(os.getpid(), signal.SIGKILL))
    said = str(failed.value)
    assert said.startswith("try: Spark gave the job up: Lost task 0.")
    assert "Python worker exited unexpectedly" in said
    assert "\n" not in said
    assert "\tat " not in said
