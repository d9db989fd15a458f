"""A line about a job every few seconds: what it does, and how many of its tasks are done."""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Event, Thread
from types import TracebackType
from typing import Self

INTERVAL_S = 5.0
_log = logging.getLogger(__name__)


class Progress:
    """To be used around a job as a context manager. ``done`` returns how many tasks are done."""

    def __init__(self, what: str, tasks: int, done: Callable[[], int]) -> None:
        self._what, self._tasks, self._done = what, tasks, done
        self._ended = Event()
        self._thread = Thread(target=self._tell, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _tell(self) -> None:
        while not self._ended.wait(INTERVAL_S):
            _log.info("%s: %d of %d tasks done", self._what, self._done(), self._tasks)
