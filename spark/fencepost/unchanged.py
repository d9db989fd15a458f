"""Skips a step whose work is done already: in a repeated run, or in one that found nothing new.

The tables that a step reads, the settings and the code determine what it writes. So its work need not be
repeated while none of these has changed, and neither have the tables that it wrote. Iceberg's snapshot ids
identify the states of tables, digests the rest. They are noted, at the end of the step, as a property of
``bronze.files``. Before a step writes anything, a note says there that it has begun: until it is finished,
no later step may run.
"""

from __future__ import annotations

import hashlib
import json
import logging
import sys
import sysconfig
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError

import fencepost
from fencepost.places import project_folder
from fencepost.protocol_folders import protocol_folders
from fencepost.protocols import captured, protocols
from fencepost.settings import Settings
from fencepost.tables import FILES, INCIDENT_NOTES, OF_REBUILDS, OF_VERDICTS, VERDICTS, WAIVERS

Summary = dict[str, Any]

_PROPERTY = "fencepost.done."
_BEGUN = "{}"
_IN_ORDER = ("rebuild", "judge", "marts", "gate")
_SAME_ROWS = (
    "path",
    "lake",
    "spark",
    "in_process_mb",
    "run_on",
    "not_judged_passes",
    "waivers",
    "report",
    "report_url",
)
"""Settings that say where and how work is done, and when a run passes: they do not change the rows."""
_CODE = frozenset({".py", ".sql", ".json", ".yml", ".yaml", ".toml"})
_log = logging.getLogger(__name__)


class UnfinishedError(Exception):
    """An earlier step has begun and not finished: its tables are partly of this run, partly of the last."""


def require_finished(step: str, catalog: Catalog) -> None:
    """Raises UnfinishedError if an earlier step was killed or failed, and has not been repeated since."""
    properties = catalog.load_table(FILES.name).properties
    for before in _IN_ORDER[: _IN_ORDER.index(step)]:
        if properties.get(_PROPERTY + before) == _BEGUN:
            raise UnfinishedError(f"{before} was begun and did not end: repeat it before {step}")


def unless_done(step: str, settings: Settings, catalog: Catalog, work: Callable[[], Summary]) -> Summary:
    """Do the work of a step, unless it has been done with the same inputs. Returns the work's summary.

    Raises UnfinishedError as ``require_finished`` does.
    """
    require_finished(step, catalog)
    reads, writes = _READS[step](), _WRITES[step]
    before = [_snapshots(catalog, reads), _settings_and_code(step, settings)]
    note = json.loads(catalog.load_table(FILES.name).properties.get(_PROPERTY + step, "{}"))
    if note.get("from") == _digest(before) and note["made"] == _digest(_snapshots(catalog, writes(catalog))):
        _log.info("%s: nothing has changed since it was done", step)
        return dict(note["summary"])
    _note(catalog, step, _BEGUN)
    summary = work()
    written = _digest(_snapshots(catalog, writes(catalog)))
    _note(catalog, step, json.dumps({"from": _digest(before), "made": written, "summary": summary}))
    return summary


def _note(catalog: Catalog, step: str, note: str) -> None:
    with catalog.load_table(FILES.name).transaction() as change:
        change.set_properties({_PROPERTY + step: note})


def made_by(step: str, settings: Settings) -> str:
    """A digest of everything beside its tables that determines a step's rows: code and settings."""
    return _digest(_settings_and_code(step, settings))


def _captured() -> list[str]:
    return sorted(table.name for table in captured())


def _silver() -> list[str]:
    own = (table for protocol in protocols() for table in protocol.tables)
    return [table.name for table in (*OF_REBUILDS, *own)]


def _verdicts() -> list[str]:
    return [table.name for table in VERDICTS]


def _marts(catalog: Catalog) -> list[str]:
    return sorted(".".join(name) for name in catalog.list_tables("marts"))


_READS: dict[str, Callable[[], list[str]]] = {
    "rebuild": _captured,
    "judge": _silver,
    "marts": lambda: [*_captured(), *_silver(), *_verdicts(), INCIDENT_NOTES.name, WAIVERS.name],
}
_WRITES: dict[str, Callable[[Catalog], list[str]]] = {
    "rebuild": lambda _: _silver(),
    "judge": lambda _: [*_verdicts(), *(table.name for table in OF_VERDICTS)],
    "marts": _marts,
}


def _snapshots(catalog: Catalog, names: Iterable[str]) -> list[list[Any]]:
    snapshots: list[list[Any]] = []
    for name in names:
        try:
            table = catalog.load_table(name).metadata
        except NoSuchTableError:
            snapshots.append([name])
            continue
        snapshots.append([name, str(table.table_uuid), table.current_snapshot_id, table.current_schema_id])
    return snapshots


def _settings_and_code(step: str, settings: Settings) -> list[str]:
    """The settings that determine rows, and the code's digest."""
    of_rows = {name: value for name, value in vars(settings).items() if name not in _SAME_ROWS}
    return [repr(sorted(of_rows.items())), code(dbt=step == "marts")]


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


def _digest(values: Any) -> str:
    return hashlib.sha256(json.dumps(values, default=str).encode()).hexdigest()
