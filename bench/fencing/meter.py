"""CPU and memory of a process with all processes that it started."""

from __future__ import annotations

import threading
import time
from contextlib import suppress

import psutil

_PAUSE = 0.25


class Meter(threading.Thread):
    """Samples this process, its JVM and their workers, which may have ended before the end of a step."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._seconds: dict[psutil.Process, float] = {}
        self._before = 0.0
        self._peak = 0

    def run(self) -> None:
        """Sample."""
        while True:
            self._sample()
            time.sleep(_PAUSE)

    def read(self) -> dict[str, float]:
        """CPU seconds and peak memory (MiB) since the last call."""
        self._sample()
        seconds = sum(self._seconds.values())
        taken = {"cpu": seconds - self._before, "peak": self._peak / 2**20}
        self._before, self._peak = seconds, 0
        return taken

    def _sample(self) -> None:
        held, machine = 0, 0
        me = psutil.Process()
        for each in (me, *me.children(recursive=True)):
            with suppress(psutil.NoSuchProcess), each.oneshot():
                times, memory = each.cpu_times(), each.memory_info().rss
                self._seconds[each] = times.user + times.system
                if each.name() == "java":
                    # a process that is about to start another program shares its parent's memory
                    machine = max(machine, memory)
                else:
                    held += memory
        self._peak = max(self._peak, held + machine)
