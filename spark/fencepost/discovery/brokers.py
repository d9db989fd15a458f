"""Finds brokers by the files that Kafka keeps: ``server.properties``, ``meta.properties``, logs in text."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fencepost.formats.properties import META_PROPERTIES, NODE_ID, properties_in

USUAL = (
    "/etc/kafka", "/opt/kafka", "/usr/local/kafka", "/var/lib/kafka", "/var/kafka-logs", "/var/log/kafka",
    "/bitnami/kafka", "/kafka", "/tmp/kraft-combined-logs", "/tmp/kraft-broker-logs", "/tmp/kafka-logs",
)  # fmt: skip
"""Where packages, images and Kafka's own examples put a broker's files."""

_REQUEST_LOG, _SERVER_LOG = "kafka-request.log", "server.log"
_DEPTH = 4
"""How many folders deep brokers are looked for. Folders of partitions are not entered."""


class NothingFoundError(Exception):
    """No file of a broker was found; the message says where was looked and what to do."""


@dataclass
class FoundBroker:
    """A broker: its id and its cluster's (None if no file tells), and paths. ``found_by``: the file that told
    of it first; ``closed``: paths that this user may not read.
    """

    id: int | None
    cluster_id: str | None
    found_by: Path
    log_dirs: list[Path] = field(default_factory=list)
    request_logs: list[Path] = field(default_factory=list)
    server_logs: list[Path] = field(default_factory=list)
    closed: list[Path] = field(default_factory=list)


@dataclass
class _Files:
    """The files that were found."""

    servers: list[Path] = field(default_factory=list)
    log_dirs: list[Path] = field(default_factory=list)
    request_logs: list[Path] = field(default_factory=list)
    server_logs: list[Path] = field(default_factory=list)
    closed: list[Path] = field(default_factory=list)


def find_brokers(paths: Sequence[Path]) -> list[FoundBroker]:
    """The brokers with files in these folders, or named by these ``server.properties``; in USUAL without any.

    Raises NothingFoundError.
    """
    looked = [*paths] or [Path(each) for each in USUAL]
    files = _Files()
    for path in looked:
        _look(path.absolute(), files)
    brokers: list[FoundBroker] = []
    for server in dict.fromkeys(files.servers):
        _add_server(brokers, server)
    for folder in dict.fromkeys(files.log_dirs):
        _add_log_dir(brokers, folder, folder / META_PROPERTIES)
    brokers = [each for each in brokers if each.log_dirs]
    if not brokers:
        raise NothingFoundError(_nothing(looked, files))
    for kind in ("request_logs", "server_logs"):
        for log in sorted(dict.fromkeys(getattr(files, kind))):
            getattr(_nearest(brokers, log), kind).append(log)
    for each in brokers:
        each.closed += [path for path in files.closed if path not in each.closed]
    return sorted(brokers, key=lambda each: (each.cluster_id or "", -1 if each.id is None else each.id))


def _nothing(looked: Iterable[Path], files: _Files) -> str:
    where = ", ".join(map(str, looked))
    if files.closed:
        return (
            f"this user may not look into {', '.join(map(str, files.closed))}: run the command as a user who "
            "may, such as Kafka's own, or give the user read permission there"
        )
    return (
        f"no meta.properties and no server.properties in {where}. Name Kafka's configuration file, its data "
        "directory (log.dirs) and the folder with its logs: fencepost init /path/to/server.properties "
        "/path/to/data /path/to/logs"
    )


# --- looking through folders -------------------------------------------------------------------------------


def _look(path: Path, files: _Files) -> None:
    try:
        is_file = path.is_file()
    except PermissionError:
        files.closed.append(path)
        return
    if is_file:
        _take(path, files)
    else:
        _look_into(path, files, _DEPTH)


def _look_into(folder: Path, files: _Files, depth: int) -> None:
    try:
        entries = sorted(folder.iterdir())
    except PermissionError:
        files.closed.append(folder)
        return
    except OSError:
        return
    names = {each.name for each in entries}
    for each in entries:
        if each.name == META_PROPERTIES or _is_text(each):
            _take(each, files)
    if META_PROPERTIES in names:  # what else is in it are partitions
        return
    for each in entries if depth else ():
        if each.is_dir() and not each.is_symlink():
            _look_into(each, files, depth - 1)


def _is_text(path: Path) -> bool:
    return path.suffix == ".properties" or path.name in (_REQUEST_LOG, _SERVER_LOG)


def _take(path: Path, files: _Files) -> None:
    if path.name == META_PROPERTIES:
        files.log_dirs.append(path.parent)
    elif path.suffix == ".properties":
        if _log_dirs(_properties(path)):
            files.servers.append(path)
    elif path.name.startswith(_REQUEST_LOG):
        files.request_logs.append(path.with_name(_REQUEST_LOG))
    elif path.name.startswith(_SERVER_LOG):
        files.server_logs.append(path.with_name(_SERVER_LOG))


def _properties(path: Path) -> dict[str, str]:
    try:
        return properties_in(path.read_bytes())
    except (OSError, UnicodeDecodeError):
        return {}


# --- whose files these are ----------------------------------------------------------------------------------


def _add_server(brokers: list[FoundBroker], server: Path) -> None:
    """The broker that a ``server.properties`` describes. Kafka's examples describe brokers that nobody runs:
    only directories that are there count.
    """
    values = _properties(server)
    for folder in _log_dirs(values):
        if (folder / META_PROPERTIES).exists():
            _add_log_dir(brokers, folder, server)
        elif folder.exists() and not os.access(folder, os.R_OK | os.X_OK):
            broker = _broker(brokers, _id_in(values), None, server)
            broker.log_dirs.append(folder)
            broker.closed.append(folder)


def _add_log_dir(brokers: list[FoundBroker], folder: Path, found_by: Path) -> None:
    values = _properties(folder / META_PROPERTIES)
    broker = _broker(brokers, _id_in(values), values.get("cluster.id"), found_by)
    if folder not in broker.log_dirs:
        broker.log_dirs.append(folder)


def _broker(
    brokers: list[FoundBroker], number: int | None, cluster_id: str | None, found_by: Path
) -> FoundBroker:
    for each in brokers:
        if (each.id, each.cluster_id) == (number, cluster_id):
            return each
    brokers.append(FoundBroker(number, cluster_id, found_by))
    return brokers[-1]


def _log_dirs(values: dict[str, str]) -> list[Path]:
    """KafkaConfig: ``log.dirs``, else ``log.dir``; and the directory of the metadata log."""
    named = values.get("log.dirs") or values.get("log.dir") or ""
    names = (*named.split(","), values.get("metadata.log.dir", ""))
    return [Path(each.strip()) for each in dict.fromkeys(names) if each.strip()]


def _id_in(values: dict[str, str]) -> int | None:
    numbers = (values.get(name, "") for name in NODE_ID)
    return next((int(each) for each in numbers if each.isdecimal()), None)


def _nearest(brokers: Sequence[FoundBroker], log: Path) -> FoundBroker:
    """The broker whose other files are nearest to a log, by the length of the common path."""

    def common(broker: FoundBroker) -> int:
        return max(len(os.path.commonpath([log, each])) for each in (*broker.log_dirs, broker.found_by))

    return max(brokers, key=common)


def clusters(brokers: Iterable[FoundBroker]) -> Iterator[tuple[str | None, list[FoundBroker]]]:
    """Cluster id -> its brokers, in order. A broker without a readable id belongs to the only cluster."""
    by_id: dict[str | None, list[FoundBroker]] = {}
    for each in brokers:
        by_id.setdefault(each.cluster_id, []).append(each)
    unknown = by_id.pop(None, [])
    if len(by_id) == 1:
        next(iter(by_id.values())).extend(unknown)
    elif unknown:
        by_id[None] = unknown
    yield from by_id.items()
