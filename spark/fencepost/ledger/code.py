"""Digests of what determines the rows of a step beside its tables: the code and the settings."""

from __future__ import annotations

import hashlib
import sys
import sysconfig
from functools import cache
from pathlib import Path

import fencepost
from fencepost.places import project_folder
from fencepost.protocol_folders import protocol_folders
from fencepost.settings import Settings

_SAME_ROWS = (
    *("path", "lake", "spark", "in_process_mb", "run_on", "keep_evidence_ms"),
    *("not_judged_passes", "waivers", "alerts", "report", "report_url", "metrics_file"),
)
"""Settings that say where and how work is done, when a run passes and who is told: they do not change the
rows.
"""
_CODE = frozenset({".py", ".sql", ".json", ".yml", ".yaml", ".toml"})


def made_by(step: str, settings: Settings) -> str:
    """A digest of the settings that determine rows, and of the code."""
    of_rows = {name: value for name, value in vars(settings).items() if name not in _SAME_ROWS}
    text = f"{sorted(of_rows.items())!r} {code(dbt=step == 'marts')}"
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def code(*, dbt: bool = False) -> str:
    """A digest of this package, of protocols in other packages, of dbt's project (``dbt``), and of the
    installed packages.
    """
    folders = {Path(fencepost.__file__).parent, *protocol_folders().values()}
    folders |= {project_folder("dbt")} if dbt else set()
    digest = hashlib.sha256(sys.version.encode())
    for folder in sorted(folders):
        for file in sorted(folder.rglob("*")):
            if file.suffix in _CODE and file.is_file():
                digest.update(str(file.relative_to(folder)).encode() + b"\0" + file.read_bytes())
    installed = Path(sysconfig.get_path("purelib")).glob("*.dist-info")
    digest.update(repr(sorted(each.name for each in installed)).encode())
    return digest.hexdigest()
