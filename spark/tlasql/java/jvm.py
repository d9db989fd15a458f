"""Where SANY and TLC run: each in a JVM of its own or, within :func:`kept`, all in one.

A small model costs little but the start of a JVM and the first run of its code. A JVM that is kept has loaded
its classes; before each run ``Checkpoint.java`` sets their static fields back. Another JVM follows where
threads of a run go on after its end. Where Java does not let fields be set back, each run has its own again,
and so has a run in whose course the kept one ends.
"""

from __future__ import annotations

import atexit
import logging
import os
import select
import shutil
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_OPTIONS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Dfile.encoding=UTF-8")
# A finalizer closes the files of TLC's other sets of states. It would run in the middle of a later run,
# and give back, or give back twice, what files share in static fields.
_STATES_IN_MEMORY = "-Dtlc2.tool.fp.FPSet.impl=tlc2.tool.fp.MemFPSet1"
# a file of the kept JVM's temporary folder, and how many characters of its end a warning shows
_ERRORS, _SHOWN = "errors", 2_000
_kept: list[_Kept] = []
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Call:
    """A main class of the tools: ``path`` is its class path, ``library`` where TLC looks for modules.

    What ``arguments`` name is found from any folder. ``exits``: it ends its JVM, so it needs one of its own.
    """

    main: str
    arguments: Sequence[str]
    path: Sequence[Path]
    library: Sequence[Path] = ()
    heap: str = "512m"
    exits: bool = False


@dataclass(frozen=True)
class Ended:
    """How a call ended: the exit code, and what was printed, also as errors."""

    code: int
    printed: str
    errors: str


class NoJavaError(RuntimeError):
    """There is no command java on PATH."""


def run(call: Call, timeout: float) -> Ended:
    """Runs it, with a temporary folder of its own. Raises NoJavaError, and subprocess.TimeoutExpired after
    ``timeout`` seconds.
    """
    if _kept and not call.exits:
        ended = _kept[-1].run(call, timeout)
        if ended is not None:
            return ended
    # SANY unpacks the standard modules into java.io.tmpdir under fixed names
    with tempfile.TemporaryDirectory(prefix="tlasql-") as scratch:
        command = [*_java(Path(scratch), call.heap), f"-DTLA-Library={_joined(call.library)}"]
        command += ["-cp", _joined(call.path), call.main, *call.arguments]
        done = subprocess.run(
            command,
            capture_output=True,
            encoding="utf-8",
            timeout=timeout,
            check=False,
            cwd=_nowhere(Path(scratch)),
        )
    return Ended(done.returncode, done.stdout, done.stderr)


class CompilerError(RuntimeError):
    """Java's compiler is missing, or refuses the source: the message is what it said."""


def compile_java(sources: Sequence[Path], folder: Path, path: Sequence[Path] = ()) -> None:
    """Compiles ``sources``, which use ``path``, into ``folder``. Raises NoJavaError and CompilerError."""
    # a runtime has the compiler's module, not its command
    compiler = [_command(), "-m", "jdk.compiler/com.sun.tools.javac.Main", "-nowarn"]
    command = [*compiler, "-cp", _joined([*path, folder]), "-d", str(folder), *map(str, sources)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CompilerError(f"Java's compiler is the module jdk.compiler of its runtime\n{done.stderr}")


@contextmanager
def kept(heap: str = "1g") -> Iterator[None]:
    """Until it is left, calls share a JVM of this ``heap``, one after the other; it starts with the first.

    It needs Java's compiler, which a runtime has as the module jdk.compiler.
    """
    one = _Kept(heap)
    _kept.append(one)
    try:
        yield
    finally:
        _kept.remove(one)
        one.end()


@cache
def _classes() -> Path:
    """The classes of ``KeptJvm.java``: a process compiles them once, and removes them when it ends."""
    folder = Path(tempfile.mkdtemp(prefix="tlasql-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    compile_java([Path(__file__).with_name(f"{name}.java") for name in ("KeptJvm", "Checkpoint")], folder)
    return folder


class _Kept:
    """A JVM that runs ``KeptJvm.java``, one call at a time."""

    def __init__(self, heap: str) -> None:
        self._heap = heap
        self._turn = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self._refused = False

    def run(self, call: Call, timeout: float) -> Ended | None:
        """As the module's function; None if Java does not let this JVM run anything, or it ends meanwhile."""
        with self._turn:
            return None if self._refused else self._answer(call, timeout)

    def _answer(self, call: Call, timeout: float) -> Ended | None:
        ends = time.monotonic() + timeout
        texts = [call.main, _joined(call.library), _joined(call.path), *call.arguments]
        request = b"".join(struct.pack(">i", len(each)) + each for each in map(str.encode, texts))
        try:
            process = self._process or self._start(ends)
            if process is None:
                return None
            assert process.stdin is not None
            process.stdin.write(struct.pack(">i", len(texts)) + request)
            code, quiet = self._number(ends), self._number(ends)
            printed, errors = (self._read(self._number(ends), ends).decode() for _ in range(2))
        except TimeoutError:
            self.end()
            raise subprocess.TimeoutExpired(call.main, timeout) from None
        except (BrokenPipeError, EOFError):
            _log.warning("%s runs again in a JVM of its own: %s", call.main, self._how_it_ended())
            self.end()
            return None
        if not quiet:
            self.end()
        return Ended(code, printed, errors)

    def _how_it_ended(self) -> str:
        assert self._process is not None
        assert self._scratch is not None
        code = self._process.wait()
        said = Path(self._scratch.name, _ERRORS).read_text(errors="replace").strip()
        return f"the one that was kept ended with {code} and said {said[-_SHOWN:] or 'nothing'}"

    def end(self) -> None:
        """End the JVM, if there is one; the next call starts another."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
        if self._scratch is not None:
            self._scratch.cleanup()
        self._process = self._scratch = None

    def _start(self, ends: float) -> subprocess.Popen[bytes] | None:
        classes = _classes()
        self._scratch = tempfile.TemporaryDirectory(prefix="tlasql-")
        java = _java(Path(self._scratch.name), self._heap)
        command = [*java, _STATES_IN_MEMORY, "-cp", str(classes), "KeptJvm"]
        with Path(self._scratch.name, _ERRORS).open("wb") as errors:
            self._process = subprocess.Popen(
                command,
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=_nowhere(Path(self._scratch.name)),
            )
        if self._number(ends):
            return self._process
        self.end()
        self._refused = True
        _log.warning(
            "This Java does not let sun.misc.Unsafe write fields, so that SANY and TLC cannot share a JVM: "
            "each run starts one of its own, which takes longer. From Java 23 on "
            "JDK_JAVA_OPTIONS=--sun-misc-unsafe-memory-access=allow may let it."
        )
        return None

    def _number(self, ends: float) -> int:
        return int(struct.unpack(">i", self._read(4, ends))[0])

    def _read(self, size: int, ends: float) -> bytes:
        assert self._process is not None
        assert self._process.stdout is not None
        pipe, found = self._process.stdout.fileno(), b""
        while len(found) < size:
            ready, _, _ = select.select([pipe], [], [], max(0.0, ends - time.monotonic()))
            if not ready:
                raise TimeoutError
            part = os.read(pipe, size - len(found))
            if not part:
                raise EOFError
            found += part
        return found


def _java(scratch: Path, heap: str) -> list[str]:
    return [_command(), *_OPTIONS, f"-Xmx{heap}", f"-Djava.io.tmpdir={scratch}"]


def _nowhere(scratch: Path) -> Path:
    """An empty folder to run in: the tools look for modules in the working directory first."""
    folder = scratch / "empty"
    folder.mkdir()
    return folder


def _command() -> str:
    java = shutil.which("java")
    if java is None:
        raise NoJavaError
    return java


def _joined(folders: Sequence[Path]) -> str:
    return os.pathsep.join(str(each.resolve()) for each in folders)
