"""Times of day that are not the machine's: of one broker, or of all processes; days pass in a minute."""

from __future__ import annotations

import os
import struct
import subprocess
import time
from pathlib import Path
from types import TracebackType

from brokers import LabError

_DAY_S = 86_400


class Clock:
    """Processes that are started inside the ``with`` block, or with its ``environment``, read this clock,
    which is set for all of them at once.

    Durations, as for timeouts, are those of the machine. Raises ``LabError`` if there is no C compiler.
    """

    def __init__(self, folder: Path) -> None:
        self._ahead_s = 0.0
        self._file = folder / "clock"
        self._file.write_bytes(bytes(8))
        library = folder / "clock.so"
        source = Path(__file__).with_name("clock.c")
        command = ["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise LabError(
                f"cannot compile {source.name}, which needs a C compiler named cc: {error}"
            ) from error
        self.environment = {"LD_PRELOAD": str(library), "LAB_CLOCK": str(self._file)}

    def __enter__(self) -> Clock:
        os.environ.update(self.environment)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        for name in self.environment:
            del os.environ[name]

    def advance_to_midnight(self, seconds: float) -> None:
        """Set the clock to so many seconds before the next midnight in UTC."""
        now = time.time() + self._ahead_s
        self.set_ahead(self._ahead_s + (now // _DAY_S + 1) * _DAY_S - seconds - now)

    def set_ahead(self, seconds: float) -> None:
        """Set the clock to so many seconds after the machine's, or before it."""
        self._ahead_s = seconds
        with self._file.open("r+b") as file:
            file.write(struct.pack("=q", int(self._ahead_s * 1e9)))
