"""The lab's own Java programs (``java/NAME.java``), compiled against one version's jars."""

from __future__ import annotations

import subprocess
from pathlib import Path

from brokers import LabError

SOURCES = Path(__file__).parent / "java"


def compile_program(name: str, class_path: str, folder: Path) -> Path:
    """Compile ``java/<name>.java`` into ``folder``, once; returns it. Raises ``LabError``."""
    if not (folder / f"{name}.class").exists():
        command = ["javac", "-nowarn", "-proc:none", "-d", str(folder), "-cp", class_path]
        done = subprocess.run(
            [*command, str(SOURCES / f"{name}.java")], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise LabError(f"cannot compile {name}.java: {done.stdout}{done.stderr}")
    return folder
