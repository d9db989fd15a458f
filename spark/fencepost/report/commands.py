"""Commands that a person can copy from a report or an alert, wherever its shell is."""

from __future__ import annotations

import shlex
from pathlib import Path

from fencepost.settings import Settings


def command(settings: Settings, *words: str, anywhere: bool = False) -> str:
    """A command of ``fencepost``, with the configuration unless it is the one that is read by default.
    ``anywhere``: whether it must work in every folder, for what is read later or by others.
    """
    is_default = not anywhere and settings.path == Path("fencepost.toml").absolute()
    option = [] if is_default else ["--config", str(settings.path) if anywhere else _path(settings.path)]
    return shlex.join(["fencepost", *words, *option])


def _path(path: Path) -> str:
    """The path as it is shortest from here."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
