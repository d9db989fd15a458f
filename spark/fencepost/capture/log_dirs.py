"""Finds the files of every partition in Kafka's log directories, also those of deleted incarnations."""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from fencepost.capture.files import closed_folders, content, expand, inside, is_folder, names
from fencepost.capture.kinds import Kind
from fencepost.capture.plan import CLOSED, READ_WHOLE, SEGMENT, Fault, Source
from fencepost.formats.partition_files import topic_id_in
from fencepost.formats.properties import META_PROPERTIES
from fencepost.settings import Broker, Cluster

# LocalLog: deleted, stray and future folders carry a suffix; future ones are copies on their way to a disk
_FOLDER = re.compile(r"(?P<topic>.+)-(?P<partition>\d+)(\.[0-9a-f]{32}-(?P<state>delete|future|stray))?")
# LocalLog.logDirNameWithSuffixCappedLength cuts the topic's name where a suffix would make it longer
_CUT = 255
_LOOKED_INTO = 100  # of so many entries it is asked whether they were meant
_OFFSET = re.compile(r"\d{20}\D")
_Partition = tuple[str | None, int | None]
_LIVE, _DELETED = "live", ".deleted"
PARTITION_METADATA = "partition.metadata"
# Uuid.METADATA_TOPIC_ID
_FIXED_IDS = {"__cluster_metadata": "AAAAAAAAAAAAAAAAAAAAAQ"}

# between the first file of a new partition and its segment some milliseconds pass, on a busy machine more
_CREATION_S = 1.0
_OTHER_NAME = (
    "its partition.metadata has the id of topic {name}: move a copy out of log_dirs, or correct its name"
)
_FORMER = (
    "no partition.metadata tells it from the partition that has its name now: nothing of it is read, unless "
    "partition.metadata is copied, too"
)
_NO_SEGMENT = "the partition has no segment, although other files of it are there: put its segments back"


def find_files(
    kinds: Sequence[Kind], cluster: Cluster, *, internal: bool
) -> tuple[list[Source], list[Fault]]:
    """The files of these kinds in the ``log_dirs``, and faults for folders that are missing or cannot be
    listed, and for partitions without segments.

    ``internal``: choose the topics of Kafka's own state (READ_WHOLE), or else the topics of applications.
    """
    sources, faults = _find(kinds, cluster, internal=internal)
    missing = _without_segments(sources)
    if missing:  # a broker that creates a partition writes other files before its first segment
        time.sleep(_CREATION_S)
        sources, faults = _find(kinds, cluster, internal=internal)
        still = _without_segments(sources)
        faults += [still[partition] for partition in missing if partition in still]
    return sources, faults


def _find(kinds: Sequence[Kind], cluster: Cluster, *, internal: bool) -> tuple[list[Source], list[Fault]]:
    sources: list[Source] = []
    faults: list[Fault] = []
    for broker in cluster.brokers:
        for pattern in broker.log_dirs:
            paths, closed = expand(pattern), closed_folders(pattern)
            faults += [_fault(cluster.name, broker, each, "unreadable", CLOSED) for each in closed]
            if not paths and not closed:
                detail = "no such directory: correct log_dirs in the configuration, or mount it"
                faults.append(_fault(cluster.name, broker, pattern, "missing", detail))
            for path in paths:
                try:
                    sources += _log_dir(kinds, cluster, broker, path, faults, internal=internal)
                except OSError as error:
                    faults.append(_unlistable(cluster.name, broker, path, error))
    sources = _of_one_name(sources, faults)
    return [each for each in sources if (each.topic in READ_WHOLE) == internal], faults


def _of_one_name(sources: list[Source], faults: list[Fault]) -> list[Source]:
    """The sources without folders whose topic, by its id, has another name: a backup inside a log directory,
    or a folder that was restored under another name. Kafka's own topics have the right name, else most
    folders, else the one with the shortest: who copies a folder adds to its name.
    """
    folders: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for source in sources:
        if source.topic_id and source.topic:
            folders[source.topic_id][source.topic].add(_folder_of(source))
    right = {
        topic_id: min(named, key=lambda name: (name not in READ_WHOLE, -len(named[name]), len(name), name))
        for topic_id, named in folders.items()
    }
    wrong = {
        _folder_of(each): each for each in sources if right.get(each.topic_id or "", each.topic) != each.topic
    }
    faults += [
        _set_aside(each, _OTHER_NAME.format(name=right[each.topic_id or ""])) for each in wrong.values()
    ]
    return [each for each in sources if _folder_of(each) not in wrong]


def told_apart(sources: list[Source], faults: list[Fault]) -> list[Source]:
    """The sources without folders of deleted or stray partitions that nothing tells from what has their name
    now: neither has the id of its topic, so that the records of two logs would be taken for those of one.
    """
    without_id = [each for each in sources if each.partition is not None and each.topic_id is None]
    present = {(each.cluster, *_partition_of(each)) for each in without_id if each.state == _LIVE}
    former = {
        _folder_of(each): each
        for each in without_id
        if each.state != _LIVE and (each.cluster, *_partition_of(each)) in present
    }
    faults += [_set_aside(each, _FORMER) for each in former.values()]
    return [each for each in sources if _folder_of(each) not in former]


def _folder_of(source: Source) -> str:
    return source.file.rpartition("/")[0]


def _set_aside(source: Source, detail: str) -> Fault:
    return Fault(source.cluster, source.broker_id, SEGMENT, _folder_of(source), 0, 0, "unreadable", detail)


def _without_segments(sources: Sequence[Source]) -> dict[_Partition, Fault]:
    """A fault for each partition of which other files are there, but no segment: Kafka keeps at least one."""
    live = [source for source in sources if source.state == _LIVE]
    present = {_partition_of(source) for source in live if source.kind == SEGMENT}
    missing = {_partition_of(source): source for source in live if _partition_of(source) not in present}
    return {partition: _no_segment(source) for partition, source in missing.items()}


def _no_segment(source: Source) -> Fault:
    file = inside(_folder_of(source), f"{0:020d}.log")
    return Fault(source.cluster, source.broker_id, SEGMENT, file, 0, 0, "missing", _NO_SEGMENT)


def _partition_of(source: Source) -> _Partition:
    return source.topic, source.partition


def with_known_topic_ids(sources: list[Source]) -> list[Source]:
    """Sources whose ``partition.metadata`` could not be read get the id that all other replicas have.

    Without it the same record read from two replicas would count as two. A folder that is being deleted
    usually belongs to the topic's previous incarnation: its id is not used for others, and it gets no id from
    others.
    """
    ids: dict[tuple[str, str | None], set[str]] = defaultdict(set)
    for source in sources:
        if source.topic_id and source.state == _LIVE:
            ids[source.cluster, source.topic].add(source.topic_id)
    return [
        replace(source, topic_id=min(of_topic))
        if source.topic_id is None
        and source.state == _LIVE
        and len(of_topic := ids[source.cluster, source.topic]) == 1
        else source
        for source in sources
    ]


def has_no_replicas(sources: Sequence[Source]) -> bool:
    """Whether each partition is read from only one folder, without segments that compaction has replaced."""
    if any(source.file.endswith(_DELETED) for source in sources):
        return False
    partitions = {(source.cluster, source.topic, source.topic_id, source.partition) for source in sources}
    return len(partitions) == len({_folder_of(source) for source in sources})


def partition_of(file: str) -> tuple[str, int] | None:
    """The topic and partition of a file whose name is an offset, as those of segments and snapshots are; None
    for other paths: a log directory or a broker may be named as a partition's folder is.
    """
    path = Path(file)
    match = _FOLDER.fullmatch(path.parent.name) if _OFFSET.match(path.name) else None
    return (match["topic"], int(match["partition"])) if match else None


def base_offset(file: str) -> int:
    """The first offset of a segment, which is its name."""
    return int(Path(file).name[:20])


def _no_topic(path: str, entries: Sequence[str]) -> str:
    """What is said of a directory without topics: often the one that was meant is a level above or below."""
    detail = "holds no topic: log_dirs must name the directories that log.dirs names in server.properties"
    above, _, name = path.rstrip("/").rpartition("/")
    if _FOLDER.fullmatch(name) and any(_OFFSET.match(each) for each in entries):
        return f"{detail}. This one is of a partition: write {above}"
    below = [folder for each in entries[:_LOOKED_INTO] if _has_topics(folder := inside(path, each))]
    return f"{detail}. Topics are in {' and '.join(below[:3])}" if below else detail


def _has_topics(folder: str) -> bool:
    try:
        return any(_FOLDER.fullmatch(each) for each in names(folder)) if is_folder(folder) else False
    except OSError:
        return False


def _log_dir(
    kinds: Sequence[Kind], cluster: Cluster, broker: Broker, path: str, faults: list[Fault], *, internal: bool
) -> Iterator[Source]:
    entries = names(path)
    folders = [(name, match) for name in entries if (match := _FOLDER.fullmatch(name))]
    if not folders and META_PROPERTIES not in entries:
        faults.append(_fault(cluster.name, broker, path, "missing", _no_topic(path, entries)))
    for name, match in folders:
        # with the others Kafka's own topics are looked for, too: a backup of theirs has another name
        if (internal and match["topic"] not in READ_WHOLE) or match["state"] == "future":
            continue
        if match["state"] and len(name) == _CUT:  # of which topic is not told: as if it had been deleted
            continue
        folder = inside(path, name)
        try:
            files = names(folder)
            topic_id = topic_id_of(folder, match["topic"])
        except OSError as error:
            faults.append(_unlistable(cluster.name, broker, folder, error))
            continue
        state = match["state"] or _LIVE
        matching = [
            (kind, file) for kind in kinds for file in files if kind.file and kind.file.fullmatch(file)
        ]
        active = [file for kind, file in matching if kind.name == SEGMENT][-1:]
        for kind, file in matching:
            yield Source(
                cluster.name,
                broker.id,
                kind.name,
                inside(folder, file),
                topic=match["topic"],
                topic_id=topic_id,
                partition=int(match["partition"]),
                state=state,
                closed=state != _LIVE or file.endswith(_DELETED) or file not in active,
                in_place=kind.in_place,
                checksums=cluster.checksums,
            )


def topic_id_of(folder: str, topic: str) -> str | None:
    """The id of the topic of a partition's folder, None if it has none. Raises OSError if it cannot be
    read.
    """
    try:
        topic_id = topic_id_in(content(inside(folder, PARTITION_METADATA)))
    except FileNotFoundError:
        topic_id = None
    return topic_id or _FIXED_IDS.get(topic)


def _fault(cluster: str, broker: Broker, path: str, reason: str, detail: str) -> Fault:
    return Fault(cluster, broker.id, SEGMENT, path, 0, 0, reason, detail)


def _unlistable(cluster: str, broker: Broker, path: str, error: OSError) -> Fault:
    detail = f"cannot be listed ({error.strerror}): check that it is a directory and its permissions"
    return _fault(cluster, broker, path, "unreadable", detail)
