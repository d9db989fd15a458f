"""Writes a first ``fencepost.toml``, with comments that say what was found and what is missing."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from fencepost import shell
from fencepost.discovery.brokers import FoundBroker, clusters
from fencepost.formats.clock import zone_of

_HEAD = """\
# Written by `fencepost init`. What every key means: docs/operating.md.
# Next: fencepost doctor --config {name}    says what is missing, and what to do about it
#       fencepost audit --config {name}     reads the logs, and judges them

"""
_NO_REQUEST_LOG = """\
# request_logs = ["/var/log/kafka/kafka-request.log*"]
#   None was found. Without it nobody knows which client presented which epoch, and little can be judged.
#   Switch it on: set the logger kafka.request.logger to DEBUG (docs/request_log.md).
"""
_TAIL = """\
# [[clusters.clients]]    # the logs of Kafka Streams applications and other Java clients, if there are any
# name = "checkout"
# logs = ["/var/log/checkout/*.log*"]
# timezone = {zone}
"""
_ZONES = "zoneinfo/"


def configuration(
    brokers: Sequence[FoundBroker], zone: str | None, *, cluster: str | None = None, name: str
) -> str:
    """The text of a configuration. ``zone``: of the logs' local times, None if it is not known; ``cluster``:
    what to call the first cluster, None for its id; ``name``: the path of the file, for its comments.
    """
    return _HEAD.format(name=shell.line(name)) + "\n".join(_clusters(brokers, zone, cluster))


def local_zone() -> str | None:
    """The IANA name of this machine's time zone, in which log4j writes; None if it cannot be told."""
    named = os.environ.get("TZ", "").removeprefix(":") or _linked() or _written()
    try:
        zone_of(named)
    except ValueError:
        return None
    return named


def _linked() -> str:
    _, found, zone = os.path.realpath("/etc/localtime").rpartition(_ZONES)
    return zone if found else ""


def _written() -> str:
    try:
        return Path("/etc/timezone").read_text().strip()
    except OSError:
        return ""


def _clusters(brokers: Sequence[FoundBroker], zone: str | None, cluster: str | None) -> Iterator[str]:
    for number, (cluster_id, of_cluster) in enumerate(clusters(brokers)):
        own = cluster if number == 0 and cluster else cluster_id or "kafka"
        yield "[[clusters]]"
        told = f"cluster.id {cluster_id}; " if cluster_id and own != cluster_id else ""
        yield f"name = {_text(own)}    # {told}what reports and marts call it: choose now, they keep it"
        yield ""
        for broker in of_cluster:
            yield from _broker(broker, zone)
        yield "# Add a [[clusters.brokers]] for every other broker and controller, with copies of its files."
        yield ""
        yield _TAIL.format(zone=_text(zone or "UTC"))


def _broker(broker: FoundBroker, zone: str | None) -> Iterator[str]:
    yield f"[[clusters.brokers]]    # found by {_comment(broker.found_by)}"
    if broker.id is None:
        yield "id = 0    # not found: write the broker's node.id"
    else:
        yield f"id = {broker.id}"
    yield f"log_dirs = {_paths(broker.log_dirs)}"
    for each in broker.closed:
        yield f"#   this user may not look into {_comment(each)}: give it permission to read"
    if broker.request_logs:
        yield f"request_logs = {_paths(broker.request_logs, '*')}"
    else:
        yield _NO_REQUEST_LOG.rstrip()
    if broker.server_logs:
        yield f"server_logs = {_paths(broker.server_logs, '*')}"
    if zone:
        yield f"timezone = {_text(zone)}    # this machine's; must be that of the logs' local times"
    else:
        yield 'timezone = "UTC"    # not found: write that of the logs\' local times'
    yield ""


def _paths(paths: Sequence[Path], rolled: str = "") -> str:
    """A list of globs. What is special in a glob is escaped."""
    return f"[{', '.join(_text(glob.escape(str(each.absolute())) + rolled) for each in paths)}]"


def _text(value: str) -> str:
    """A basic string of TOML, which has JSON's escapes; DEL must be escaped, too."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _comment(path: Path) -> str:
    """A path that cannot end its comment."""
    return _text(str(path))[1:-1]
