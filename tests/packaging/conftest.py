"""Virtual environments that see what an extra of the package requires, and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable
from functools import cache
from importlib.metadata import distribution
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).with_name("support")))

from extras_of import ROOT, closure, requirements

Environment = Callable[[str], Path]


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built of a copy of the checkout by the pinned setuptools alone."""
    source = tmp_path_factory.mktemp("source") / "checkout"
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in listed.stdout.decode().split("\0"):
        if name and not name.startswith("tests/") and (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, source / name)
    out = tmp_path_factory.mktemp("wheel")
    command = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "-w", str(out), "."]
    subprocess.run([sys.executable, "-m", "pip", *command], cwd=source, check=True)
    shutil.rmtree(source)
    (built,) = out.glob("fencepost-*.whl")
    return built


@pytest.fixture(scope="session")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Makes a virtual environment with the wheel and the pinned packages of an extra; returns its folder."""

    @cache
    def made(extra: str) -> Path:
        folder = tmp_path_factory.mktemp("environment") / (extra or "base")
        venv.create(folder, symlinks=True)
        site = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
        for name in closure(requirements(extra)):
            found = distribution(name)
            for file in found.files or ():
                top = file.parts[0]
                if top not in {"..", "bin", "__pycache__"} and not (site / top).exists():
                    (site / top).symlink_to(found.locate_file(top))
        # with it pip would look for what is installed in the checkout, too
        variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        command = ["--python", str(folder), "install", "--quiet", "--no-deps", "--no-index", str(wheel)]
        subprocess.run([sys.executable, "-m", "pip", *command], check=True, env=variables)
        return folder

    return made
