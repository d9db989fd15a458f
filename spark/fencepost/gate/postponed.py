"""Modules that Great Expectations imports at its start, and that no suite of this project needs.

``altair`` draws a picture in Data Docs, ``scipy.stats`` tests distributions: together a third of the time
that importing Great Expectations takes. May go when it imports them where it uses them (``import altair`` at
the top of ``expect_column_kl_divergence_to_be_less_than.py``).
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

_NOT_NEEDED = ("altair", "scipy.stats")


def postpone_imports() -> None:
    """Let these modules be imported when something of theirs is first used."""
    for name in _NOT_NEEDED:
        if name not in sys.modules:
            sys.modules[name] = _postponed(name)


def _postponed(name: str) -> ModuleType:
    module = ModuleType(name)

    def look_up(attribute: str) -> Any:
        if sys.modules.get(name) is module:
            del sys.modules[name]
        return getattr(import_module(name), attribute)

    vars(module)["__getattr__"] = look_up
    return module
