"""The folders of protocols: what was compiled for one is found without importing its code."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from pkgutil import extend_path, iter_modules


@cache
def protocol_folders() -> dict[str, Path]:
    """``{name: folder}`` of every package in ``fencepost/protocols``, here and anywhere else on Python's
    path, in the order of names.
    """
    roots = extend_path([str(Path(__file__).with_name("protocols"))], "fencepost.protocols")
    packages = {each.name: each.module_finder for each in iter_modules(roots) if each.ispkg}
    return {name: Path(packages[name].path, name) for name in sorted(packages)}  # type: ignore[union-attr]
