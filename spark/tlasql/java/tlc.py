"""One run of TLC, the model checker, and what it printed; and an operator by which it goes on where it stops.

TLC ends at the first expression that it cannot evaluate. ``Attempt(P)`` lets it judge many states in one run:
TLC's own evaluator evaluates ``P`` as it stands in the module, and the value is "TRUE", "FALSE" or, where it
throws, "STOPS".
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tlasql.java import jvm

# TLC's exit codes: its own constants (tlc2.output.EC.ExitStatus).
SUCCESS = 0
INVARIANT_VIOLATED = 12
PROPERTY_VIOLATED = 13
_UNREADABLE = frozenset({150, 151})

_INVARIANT = re.compile(r"^Error: Invariant (\w+) is violated", re.MULTILINE)
_ACTION = re.compile(r"^Error: Action property (.+?) is violated", re.MULTILINE)
_PLACE = re.compile(r"line (\d+), col \d+ to line \d+, col \d+ of module (\w+)")
_ATTEMPTS = """---- MODULE Attempts ----
Attempt(P) == IF P THEN "TRUE" ELSE "FALSE"
====
"""
_COUNTS = re.compile(r"^(\d+) states generated, (\d+) distinct states found", re.MULTILINE)


@dataclass(frozen=True)
class TlcResult:
    """What one run said.

    ``violated`` is the name of the invariant or property that does not hold (a property by the name it is
    defined under), null when none was found. ``states`` and ``distinct`` are TLC's counts when it stopped,
    null when it never counted. ``output`` is everything TLC printed.
    """

    exit_code: int
    violated: str | None
    states: int | None
    distinct: int | None
    seconds: float
    output: str


_TOO_LARGE = re.compile(r"TLC can't handle a number this big\.\s+(\d+)")


class TlcError(RuntimeError):
    """TLC could not be run or could not finish: the message says which file and what to do."""


class UnreadableError(TlcError):
    """TLC cannot read a module or its configuration, so it says nothing of any state."""


@dataclass(frozen=True)
class _Model:
    module: Path
    cfg: Path
    extra_path: tuple[Path, ...]
    classes: Path | None = None

    @property
    def folder(self) -> Path:
        return self.module.resolve().parent


def run_tlc(
    module_path: Path,
    cfg_path: Path,
    *,
    jar: Path,
    timeout: float,
    extra_path: Sequence[Path] = (),
    heap: str = "1g",
    classes: Path | None = None,
) -> TlcResult:
    """Checks the model ``cfg_path`` of ``module_path`` with one worker, breadth first.

    ``extra_path`` holds folders searched for extended modules beside the module's own, ``classes`` operators
    in Java. Runs may overlap.

    Raises UnreadableError when TLC cannot read a module or the configuration; TlcError when the jar, Java or
    a file is missing, when ``timeout`` seconds are over, and when TLC stops for any other reason but a
    finished search or a violation (evaluation errors).
    """
    for needed in (jar, module_path, cfg_path):
        if not needed.is_file():
            raise TlcError(f"{needed}: no such file; `make setup` fetches the jars, or set FENCEPOST_JARS")
    model = _Model(module_path, cfg_path, tuple(extra_path), classes)
    with tempfile.TemporaryDirectory(prefix="tlc-") as states:
        path = [jar, *([classes] if classes else [])]
        call = jvm.Call("tlc2.TLC", _arguments(model, Path(states)), path, model.extra_path, heap)
        started = time.monotonic()
        try:
            ended = jvm.run(call, timeout)
        except subprocess.TimeoutExpired as late:
            raise TlcError(f"{cfg_path}: TLC was not done after {timeout:.0f} s; lower its bounds") from late
        except jvm.NoJavaError as error:
            raise TlcError("java is not on PATH: TLC needs a Java runtime of version 17 or later") from error
        seconds = time.monotonic() - started
    return _result(model, ended.code, ended.printed + ended.errors, seconds)


def _arguments(model: _Model, states: Path) -> list[str]:
    return [
        *("-workers", "1", "-nowarning"),
        *("-metadir", str(states)),
        # TLC looks for it below the folder of the module
        *("-config", os.path.relpath(model.cfg.resolve(), model.folder)),
        str(model.module.resolve()),
    ]


def _result(model: _Model, code: int, output: str, seconds: float) -> TlcResult:
    if large := _TOO_LARGE.search(output):
        raise UnreadableError(
            f"TLC cannot read {large[1]} (its integers have 32 bits), so it says nothing of a module with "
            "it: write a smaller number, or a CONSTANT that the mapping gives"
        )
    if code not in (SUCCESS, INVARIANT_VIOLATED, PROPERTY_VIOLATED):
        error = UnreadableError if code in _UNREADABLE else TlcError
        raise error(f"{model.cfg}: TLC ended with exit code {code} on {model.module.name}\n{output}")
    counts = _COUNTS.findall(output)
    states, distinct = (int(counts[-1][0]), int(counts[-1][1])) if counts else (None, None)
    violated = _violated(output, (model.folder, *model.extra_path))
    if (violated is None) != (code == SUCCESS):
        raise TlcError(f"{model.cfg}: TLC ended with exit code {code} but names {violated}\n{output}")
    return TlcResult(code, violated, states, distinct, seconds, output)


def _violated(output: str, folders: Sequence[Path]) -> str | None:
    if found := _INVARIANT.search(output):
        return found[1]
    if not (found := _ACTION.search(output)):
        return None
    # TLC names an action property by the place of its formula.
    place = _PLACE.fullmatch(found[1])
    return _defined_at(place[2], int(place[1]), folders) if place else found[1]


def _defined_at(module: str, line: int, folders: Sequence[Path]) -> str | None:
    for folder in folders:
        path = folder / f"{module}.tla"
        if path.is_file():
            before = path.read_text(encoding="utf-8").splitlines()[:line]
            names = [found[1] for text in before if (found := re.match(r"(\w+)\s*==", text))]
            return names[-1] if names else None
    return None


@lru_cache(maxsize=1)
def attempts(jar: Path) -> Path:
    """A folder with the module ``Attempts`` and the class of its operator: ``classes``, and one of
    ``extra_path``, for :func:`run_tlc`. A process makes it once and removes it when it ends. Raises TlcError.
    """
    folder = Path(tempfile.mkdtemp(prefix="tlasql-attempt-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    try:
        jvm.compile_java([Path(__file__).with_name("TLCOverrides.java")], folder, [jar])
    except jvm.NoJavaError as error:
        raise TlcError("java is not on PATH: TLC needs a Java runtime of version 17 or later") from error
    except jvm.CompilerError as error:
        raise TlcError(f"tlasql diff needs a compiler (Debian: openjdk-17-jdk-headless)\n{error}") from error
    (folder / "Attempts.tla").write_text(_ATTEMPTS, encoding="utf-8")
    return folder
