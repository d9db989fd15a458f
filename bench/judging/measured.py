"""Wall time, CPU seconds and peak memory of a process with all its children."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

_PAUSE = 0.02


@dataclass(frozen=True)
class Run:
    """The cost and the output of a command; ``peak`` is resident memory in bytes, summed over the
    processes.
    """

    wall: float
    cpu: float
    peak: int
    code: int
    output: str

    def __str__(self) -> str:
        return f"{self.wall:7.1f} s wall {self.cpu:7.1f} s CPU {self.peak / 2**20:7,.0f} MiB"


def measured(
    command: Sequence[str], folder: Path, stdin_text: str = "", environment: Mapping[str, str] | None = None
) -> Run:
    """Run ``command`` in ``folder``; its error output is printed only if it fails."""
    begun = time.monotonic()
    with (
        (folder / "out").open("w+") as out,
        (folder / "err").open("w+") as err,
        (folder / "in").open("w+") as into,
    ):
        into.write(stdin_text)
        into.seek(0)
        process = psutil.Popen(
            command, stdin=into, stdout=out, stderr=err, cwd=folder, env=dict(environment or {})
        )
        cpu: dict[psutil.Process, float] = {}
        peak = 0
        while process.poll() is None:
            peak = max(peak, _sampled(process, cpu))
            time.sleep(_PAUSE)
        wall = time.monotonic() - begun
        out.seek(0)
        err.seek(0)
        if process.returncode:
            print(err.read()[-2000:])
        return Run(wall, sum(cpu.values()), peak, int(process.returncode), out.read())


def _sampled(process: psutil.Process, cpu: dict[psutil.Process, float]) -> int:
    """Notes the CPU seconds of each running process; returns the memory of all of them.

    A JVM that is about to run another program appears twice for a moment, with the same memory.
    """
    held, machine = 0, 0
    try:
        for each in (process, *process.children(recursive=True)):
            with each.oneshot():
                times, memory = each.cpu_times(), each.memory_info().rss
                cpu[each] = times.user + times.system
                if each.name() == "java":
                    machine = max(machine, memory)
                else:
                    held += memory
    except psutil.NoSuchProcess:
        pass
    return held + machine
