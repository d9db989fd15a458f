"""Audits of one capture in lakes that may be anywhere, by the commands, and the rows that come out."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from fencepost.iceberg.catalog import open_catalog
from fencepost.settings import Lake, load

CAPTURE = "troubled-4.3.1"
OF_RUNS = frozenset({"run_id", "captured_at", "audited_at", "seen"})
"""Columns that say which run wrote a row, or which snapshot it read."""
_PACKED = b"\xff\xff\xff\xff"
"""How a stream of Arrow begins."""
LAYERS = ("bronze.", "silver.", "verdicts.", "marts.")
OF_AUDITS = frozenset({"marts.fct_audit_runs", "verdicts.audit_runs", "verdicts.incident_notes"})
"""Tables that are about runs."""


def configured(folder: Path, captures: Path, lake: str) -> Path:
    """A configuration of the capture in a folder of its own."""
    folder.mkdir()
    given = (captures / CAPTURE / "fencepost.toml").read_text()
    for name in ("broker-1/", "clients/"):
        given = given.replace(f'"{name}', f'"{captures / CAPTURE / name}/')
    path = folder / "fencepost.toml"
    path.write_text(lake + given)
    return path


def run(command: str, config: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command, to its end."""
    started = [sys.executable, "-m", "fencepost.cli", command, *arguments, "--config", str(config)]
    return subprocess.run(started, capture_output=True, text=True, check=False)


def audited(config: Path) -> Mapping[str, Counter[str]]:
    """The rows of each table after an audit that finds what is wrong with the capture."""
    done = run("audit", config)
    assert done.returncode == 1, done.stderr
    return rows_of(load(config).lake)


def rows_of(place: Lake) -> Mapping[str, Counter[str]]:
    """The rows of each table of a lake, without the columns that are about the run."""
    catalog = open_catalog(place)
    found: dict[str, Counter[str]] = {}
    for (space,) in catalog.list_namespaces():
        for table in catalog.list_tables(space):
            name = ".".join(table)
            if name.startswith(LAYERS) and name not in OF_AUDITS:
                rows: list[dict[str, Any]] = catalog.load_table(table).scan().to_arrow().to_pylist()
                found[name] = Counter(map(_told, rows))
    return found


def _told(row: Mapping[str, Any]) -> str:
    return str({key: _unpacked(value) for key, value in sorted(row.items()) if key not in OF_RUNS})


def _unpacked(value: Any) -> Any:
    """A value; of rows that are packed as one, these in any order."""
    if not isinstance(value, bytes) or not value.startswith(_PACKED):
        return value
    return sorted(map(_told, pa.ipc.open_stream(value).read_all().to_pylist()))
