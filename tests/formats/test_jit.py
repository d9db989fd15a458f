"""Kernels that are compiled once for a machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

MODULE = """
from typing import NamedTuple
from fencepost.formats.jit import kernel

class {name}(NamedTuple):
    number: int

@kernel
def doubled(given):
    return 2 * given.number

print(doubled({name}({number})))
"""


def printed(folder: Path, name: str, number: int, **environment: str) -> tuple[str, str]:
    """What a process prints that imports the module, also as errors."""
    (folder / "numbers_of.py").write_text(MODULE.format(name=name, number=number))
    command = [sys.executable, "-c", "import numbers_of"]
    environment = {**os.environ, **environment}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.stdout, done.stderr


def test_a_cache_that_names_a_class_that_is_gone_is_no_cache(tmp_path: Path) -> None:
    """As it stays beside the code of an earlier release."""
    for name, number in (("Before", 2), ("After", 21), ("After", 21)):
        assert printed(tmp_path, name, number) == (f"{2 * number}\n", "")
    assert list(tmp_path.glob("__pycache__/*.nbc"))


def test_kernels_run_as_python_where_numba_is_told_not_to_compile(tmp_path: Path) -> None:
    assert printed(tmp_path, "Number", 2, NUMBA_DISABLE_JIT="1") == ("4\n", "")


def test_who_may_write_nowhere_compiles_kernels_each_time(tmp_path: Path) -> None:
    """As a service without a home, of a package that belongs to another user."""
    (tmp_path / "__pycache__").touch()
    nowhere = {"HOME": "/proc", "XDG_CACHE_HOME": "/proc/none", "NUMBA_CACHE_DIR": ""}
    assert printed(tmp_path, "Number", 2, **nowhere) == ("4\n", "")
