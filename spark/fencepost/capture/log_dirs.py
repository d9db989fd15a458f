"""What lies in Kafka's log directories: the files of every partition, deleted incarnations included."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from fencepost.capture.plan import (
    ABORTED_INDEX,
    PRODUCER_SNAPSHOT,
    READ_WHOLE,
    SEGMENT,
    Fault,
    Source,
    expand,
)
from fencepost.settings import Broker, Cluster

# LocalLog: deleted, stray and future folders carry a suffix; future ones are copies on their way to a disk
_FOLDER = re.compile(r"(?P<topic>.+)-(?P<partition>\d+)(\.[0-9a-f]{32}-(?P<state>delete|future|stray))?")
_SEGMENT = re.compile(r"\d{20}\.log(?P<deleted>\.deleted)?")
# What a snapshot tells, the segment read after it holds; what a segment holds, the index read after it tells.
_FILES = (
    (PRODUCER_SNAPSHOT, re.compile(r"\d{20}\.snapshot")),
    (SEGMENT, _SEGMENT),
    (ABORTED_INDEX, re.compile(r"\d{20}\.txnindex")),
)
# Uuid.METADATA_TOPIC_ID
_FIXED_IDS = {"__cluster_metadata": "AAAAAAAAAAAAAAAAAAAAAQ"}


def find_data_files(cluster: Cluster) -> tuple[list[Source], list[Fault]]:
    """The files of every topic of applications in the ``log_dirs``; what is missing or cannot be listed."""
    return _find(cluster, internal=False)


def find_internal_files(cluster: Cluster) -> tuple[list[Source], list[Fault]]:
    """The same for the topics in which Kafka keeps what it believes."""
    return _find(cluster, internal=True)


FINDS = (find_data_files, find_internal_files)
"""In this order: whatever an application's partition holds, the coordinator's log read last knows already."""


def with_known_topic_ids(sources: list[Source]) -> list[Source]:
    """Sources whose ``partition.metadata`` could not be read get the one id that other replicas have.

    Without it the same record read from two replicas would count as two.
    """
    ids: dict[tuple[str, str | None], set[str]] = defaultdict(set)
    for source in sources:
        if source.topic_id:
            ids[source.cluster, source.topic].add(source.topic_id)
    return [
        replace(source, topic_id=min(known))
        if source.topic_id is None and len(known := ids[source.cluster, source.topic]) == 1
        else source
        for source in sources
    ]


def has_no_replicas(sources: Sequence[Source]) -> bool:
    """Whether each partition is read from one folder, without segments that compaction replaced."""
    if any(source.file.endswith(".deleted") for source in sources):
        return False
    partitions = {(source.cluster, source.topic, source.topic_id, source.partition) for source in sources}
    return len(partitions) == len({Path(source.file).parent for source in sources})


def base_offset(file: str) -> int:
    """The offset a segment begins with, which is its name."""
    return int(Path(file).name[:20])


def _find(cluster: Cluster, *, internal: bool) -> tuple[list[Source], list[Fault]]:
    sources: list[Source] = []
    faults: list[Fault] = []
    for broker in cluster.brokers:
        for pattern in broker.log_dirs:
            paths = expand(pattern)
            if not paths:
                detail = "no such directory: correct log_dirs in the configuration, or mount it"
                faults.append(_fault(cluster.name, broker, pattern, "missing", detail))
            for path in paths:
                try:
                    sources += _log_dir(cluster.name, broker, path, faults, internal=internal)
                except OSError as error:
                    faults.append(_unlistable(cluster.name, broker, path, error))
    return sources, faults


def _log_dir(
    cluster: str, broker: Broker, path: str, faults: list[Fault], *, internal: bool
) -> Iterator[Source]:
    entries = sorted(entry.name for entry in Path(path).iterdir())
    folders = [(name, match) for name in entries if (match := _FOLDER.fullmatch(name))]
    if not folders and "meta.properties" not in entries:
        detail = "holds no topic: log_dirs must name the directories that log.dirs names in server.properties"
        faults.append(_fault(cluster, broker, path, "missing", detail))
    for name, match in folders:
        if (match["topic"] in READ_WHOLE) != internal or match["state"] == "future":
            continue
        folder = Path(path, name)
        try:
            files = sorted(entry.name for entry in folder.iterdir())
            topic_id = _topic_id(folder, match["topic"])
        except OSError as error:
            faults.append(_unlistable(cluster, broker, str(folder), error))
            continue
        segments = [file for file in files if _SEGMENT.fullmatch(file)]
        for kind, pattern in _FILES:
            for file in files:
                if found := pattern.fullmatch(file):
                    gone = match["state"] or found.groupdict().get("deleted")
                    yield Source(
                        cluster,
                        broker.id,
                        kind,
                        str(folder / file),
                        topic=match["topic"],
                        topic_id=topic_id,
                        partition=int(match["partition"]),
                        closed=bool(gone or file not in segments[-1:]),
                    )


def _topic_id(folder: Path, topic: str) -> str | None:
    try:
        text = (folder / "partition.metadata").read_text(encoding="utf-8", errors="replace")
        found = re.search(r"^topic_id:\s*([\w-]{22})\s*$", text, re.MULTILINE)
    except FileNotFoundError:
        found = None
    return found[1] if found else _FIXED_IDS.get(topic)


def _fault(cluster: str, broker: Broker, path: str, reason: str, detail: str) -> Fault:
    return Fault(cluster, broker.id, SEGMENT, path, 0, 0, reason, detail)


def _unlistable(cluster: str, broker: Broker, path: str, error: OSError) -> Fault:
    detail = f"cannot be listed ({error.strerror}): check that it is a directory and its permissions"
    return _fault(cluster, broker, path, "unreadable", detail)
