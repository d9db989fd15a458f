"""Builds the wheel: what lies beside the package in a checkout is in its folder ``project`` there."""

from __future__ import annotations

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).resolve().parent
PROJECT = {
    "dbt": ("*.sql", "*.yml", "*.md"),
    "dags": ("*.py", ".airflowignore"),
    "expectations": ("*.json", "*.yml"),
    "spec": ("*.tla", "*.cfg", "*.toml", "*.json"),
    "requirements": ("jars.lock",),
}
"""The folders that ``fencepost.places.project_folder`` finds, and their files that are read at run time."""


class BuildWithProject(build_py):
    """Copies these folders beside the modules, unless modules stay where they are (an editable install)."""

    def run(self) -> None:
        """Build the modules, then copy."""
        if not self.editable_mode:
            # what an earlier build has left, which may be no part of it any more
            shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()
        if not self.editable_mode:
            to = Path(self.build_lib, "fencepost", "project")
            for name, patterns in PROJECT.items():
                for file in sorted(each for pattern in patterns for each in _files(name, pattern)):
                    (to / file.parent).mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(HERE / file, to / file)


def _files(folder: str, pattern: str) -> list[Path]:
    found = (each.relative_to(HERE) for each in (HERE / folder).rglob(pattern))
    return [each for each in found if not _IGNORED & set(each.parts)]


_IGNORED = {"target", "logs", "states", "uncommitted", "__pycache__"}
"""Folders that runs leave, as .gitignore has them."""

setup(cmdclass={"build_py": BuildWithProject})
