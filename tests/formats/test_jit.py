"""Kernels that are compiled once for a machine."""

from __future__ import annotations

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


def test_a_cache_that_names_a_class_that_is_gone_is_no_cache(tmp_path: Path) -> None:
    """As it stays beside the code of an earlier release."""
    module = tmp_path / "numbers_of.py"
    for name, number in (("Before", 2), ("After", 21), ("After", 21)):
        module.write_text(MODULE.format(name=name, number=number))
        command = [sys.executable, "-c", "import numbers_of"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.stdout, done.stderr) == (f"{2 * number}\n", "")
    assert list(tmp_path.glob("__pycache__/*.nbc"))
