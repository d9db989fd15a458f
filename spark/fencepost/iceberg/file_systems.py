"""File systems that list folders, for locations in a lake."""

from __future__ import annotations

from urllib.parse import urlparse

from pyarrow import fs
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import PyArrowFileIO


def file_system(io: FileIO, location: str) -> tuple[fs.FileSystem, str]:
    """A file system that lists folders, which a FileIO does not, and the location in it. Raises OSError if
    there is none.
    """
    if isinstance(io, PyArrowFileIO):
        scheme, netloc, path = PyArrowFileIO.parse_location(location, io.properties)
        return io.fs_by_scheme(scheme, netloc), path
    # what imports fsspec, other catalogs do not need
    from pyiceberg.io.fsspec import FsspecFileIO

    if isinstance(io, FsspecFileIO):
        system = io._get_fs_from_uri(urlparse(location), location)
        return fs.PyFileSystem(fs.FSSpecHandler(system)), system._strip_protocol(location)
    raise OSError(f"{type(io).__name__} cannot list {location}, so it has to be emptied by hand")
