"""Commands that a person can copy from a report or an alert, wherever its shell is."""

from __future__ import annotations

from pathlib import Path

from fencepost import shell
from fencepost.settings import Settings


def command(settings: Settings, *words: str, anywhere: bool = False, last: str | None = None) -> str:
    """A command of ``fencepost``, with the configuration unless it is the one that is read by default.
    ``anywhere``: whether it must work in every folder, for what is read later or by others. ``last``: an
    argument that begins with a dash, and is no option.
    """
    is_default = not anywhere and settings.path == Path("fencepost.toml").absolute()
    option = [] if is_default else ["--config", str(settings.path) if anywhere else _path(settings.path)]
    return shell.line("fencepost", *words, *option, *([] if last is None else ["--", last]))


def _path(path: Path) -> str:
    """The path as it is shortest from here."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
