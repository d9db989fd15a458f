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
from functools import cached_property
from uuid import uuid4

from pyarrow import fs
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import PyArrowFileIO

from fencepost.engines.outputs import Scratch
from fencepost.tables import FILES

_log = logging.getLogger(__name__)


class Scratches:
    """The folder of this run, and those that runs before it have left."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    @cached_property
    def own(self) -> Scratch:
        """The folder of this run."""
        stored = self._catalog.load_table(FILES.name)
        run = uuid4().hex
        return Scratch(run, f"{_runs(stored.location())}/{run}", stored.io)

    def remove(self) -> None:
        """Remove the folder of this run and of every run before it, with the data files that they began and
        did not commit. No other run may be writing to the lake.
        """
        stored = self._catalog.load_table(FILES.name)
        system, path = _file_system(stored.io, _runs(stored.location()))
        folders = system.get_file_info(fs.FileSelector(path, allow_not_found=True))
        for each in folders:
            if each.type == fs.FileType.Directory:
                self._remove_uncommitted(stored.io, system, each.path)
                system.delete_dir(each.path)

    def _remove_uncommitted(self, io: FileIO, system: fs.FileSystem, folder: str) -> None:
        begun: defaultdict[str, set[str]] = defaultdict(set)
        for table, path in _begun(system, folder):
            begun[table].add(path)
        removed = 0
        for table, paths in begun.items():
            for path in paths - self._named(table, paths):
                with suppress(FileNotFoundError):
                    io.delete(path)
                    removed += 1
        if removed:
            _log.info("removed %d data files that no commit names", removed)

    def _named(self, table: str, paths: set[str]) -> set[str]:
        """Those of the paths that a snapshot of the table names."""
        try:
            stored = self._catalog.load_table(table)
        except NoSuchTableError:
            return set()
        named: set[str] = set()
        seen: set[str] = set()
        # the newest first: most files are in it
        for snapshot in reversed(stored.metadata.snapshots):
            for manifest in snapshot.manifests(stored.io) if paths - named else ():
                if manifest.manifest_path not in seen:
                    seen.add(manifest.manifest_path)
                    entries = manifest.fetch_manifest_entry(stored.io)
                    named |= paths & {each.data_file.file_path for each in entries}
        return named


def _runs(location: str) -> str:
    return f"{location.rstrip('/')}/runs"


def _file_system(io: FileIO, location: str) -> tuple[fs.FileSystem, str]:
    assert isinstance(io, PyArrowFileIO)
    scheme, netloc, path = PyArrowFileIO.parse_location(location, io.properties)
    return io.fs_by_scheme(scheme, netloc), path


def _begun(system: fs.FileSystem, folder: str) -> Iterator[tuple[str, str]]:
    for each in system.get_file_info(fs.FileSelector(folder)):
        if each.base_name.startswith("begun-"):
            with system.open_input_file(each.path) as file, suppress(ValueError):
                noted = json.loads(file.read())
                yield noted["table"], noted["path"]
