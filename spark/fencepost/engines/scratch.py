"""The temporary files of runs, and data files that no run has committed: they are removed when a run ends, or
by the run after one that was killed.

Each run has a folder beside the data of ``bronze.files``. A task notes there the name of each data file
before the file exists. So whatever ends a task or a run, the files that it leaves are known by name.
"""

from __future__ import annotations

import json
import logging
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cached_property
from uuid import uuid4

from pyarrow import fs
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table as IcebergTable

from fencepost.engines.outputs import Scratch
from fencepost.iceberg.patches import file_system
from fencepost.tables import FILES

_log = logging.getLogger(__name__)


STALE = timedelta(days=3)
"""A run that has written nothing for so long does not run any more."""


class Scratches:
    """The folder of this run, and those that runs before it have left.

    ``lock`` names the lock that this run holds: no other run with the same one is running, but those of other
    machines, which have another one, may be.
    """

    def __init__(self, catalog: Catalog, lock: str = "") -> None:
        self._catalog, self._lock = catalog, lock

    @cached_property
    def own(self) -> Scratch:
        """The folder of this run."""
        stored = self._catalog.load_table(FILES.name)
        run = f"{self._lock}-{uuid4().hex}"
        return Scratch(run, f"{_runs(stored.location())}/{run}", stored.io)

    def remove(self) -> None:
        """Remove the folder of this run and of every run before it, with the data files that they began and
        did not commit. What cannot be removed is left to the next run.
        """
        stored = self._catalog.load_table(FILES.name)
        try:
            system, path = file_system(stored.io, _runs(stored.location()))
            folders = system.get_file_info(fs.FileSelector(path, allow_not_found=True))
            for each in folders:
                if each.type == fs.FileType.Directory and self._has_ended(system, each):
                    self._remove_uncommitted(system, each.path)
                    system.delete_dir(each.path)
        except OSError as error:
            _log.warning("temporary files of runs are left: %s", error)

    def _has_ended(self, system: fs.FileSystem, folder: fs.FileInfo) -> bool:
        """Whether no run writes to this folder."""
        if folder.base_name.rpartition("-")[0] == self._lock:
            return True
        written = [each.mtime for each in system.get_file_info(fs.FileSelector(folder.path)) if each.mtime]
        return bool(written) and max(written) < datetime.now(UTC) - STALE

    def _remove_uncommitted(self, system: fs.FileSystem, folder: str) -> None:
        begun: defaultdict[str, set[str]] = defaultdict(set)
        for name, path in _begun(system, folder):
            begun[name].add(path)
        removed = 0
        for name, paths in begun.items():
            with suppress(NoSuchTableError):
                table = self._catalog.load_table(name)
                for path in paths - _named(table, paths):
                    with suppress(FileNotFoundError):
                        table.io.delete(path)
                        removed += 1
        if removed:
            _log.info("removed %d data files that no commit names", removed)


def _named(table: IcebergTable, paths: set[str]) -> set[str]:
    """Those of the paths that a snapshot of the table names."""
    named: set[str] = set()
    seen: set[str] = set()
    # the newest first: most files are in it
    for snapshot in reversed(table.metadata.snapshots):
        for manifest in snapshot.manifests(table.io) if paths - named else ():
            if manifest.manifest_path not in seen:
                seen.add(manifest.manifest_path)
                entries = manifest.fetch_manifest_entry(table.io)
                named |= paths & {each.data_file.file_path for each in entries}
    return named


def _runs(location: str) -> str:
    return f"{location.rstrip('/')}/runs"


def _begun(system: fs.FileSystem, folder: str) -> Iterator[tuple[str, str]]:
    for each in system.get_file_info(fs.FileSelector(folder)):
        if each.base_name.startswith("begun-"):
            with system.open_input_file(each.path) as file, suppress(ValueError):
                noted = json.loads(file.read())
                yield noted["table"], noted["path"]
