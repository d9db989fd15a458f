"""How far earlier runs have read every file, from the append-only table ``bronze.files``."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, BinaryIO

import pyarrow as pa
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.capture.digests import head_digest, headers_digest, last_header
from fencepost.capture.files import opened_exactly
from fencepost.capture.files import size as size_of
from fencepost.capture.packed import is_compressed
from fencepost.capture.plan import ORIGIN, SEGMENT, Log, Origin, Plan, ReadProgress, Source, is_text, named_on
from fencepost.capture.text import final_first_entry_digest
from fencepost.conditions import Where
from fencepost.formats.clock import are_alike
from fencepost.settings import Cluster
from fencepost.tables import FILES

_OF_PARTITION = re.compile(r"(?P<partition>.+-\d+)(\.[0-9a-f]{32}-\w+)?")
_READ = ("head_digest", "size", "consumed_to", "file_begins", "topic_id", "timezone")


class Progress:
    """The newest row of every file of the brokers and clients whose logs are read here, which decides where
    reading continues. A collector's rounds take no longer because others collect, too.
    """

    def __init__(self, catalog: Catalog, clusters: Sequence[Cluster]) -> None:
        brokers = {each.name: [broker.id for broker in each.brokers if broker.paths] for each in clusters}
        here: Where = [
            *({"cluster": name, "broker_id": frozenset(ids)} for name, ids in brokers.items() if ids),
            *({"cluster": each.name, "broker_id": None} for each in clusters if each.clients),
        ]
        rows = lake.scan(catalog, FILES, (*ORIGIN, *_READ, "captured_at"), here).sort_by("captured_at")
        # the last row of each file replaces the others
        newest = {row[: len(ORIGIN)]: row[len(ORIGIN) : -1] for row in zip(*_values(rows), strict=True)}
        # by family: a renamed file stays in its family, and families are small
        self._read: dict[tuple[str, int | None, str, tuple[str, str]], dict[str, ReadProgress]] = defaultdict(
            dict
        )
        for (cluster, broker_id, kind, file), last in newest.items():
            self._read[cluster, broker_id, kind, _family(kind, file)][file] = ReadProgress(file, *last)

    def begins(self, sources: Iterable[Source]) -> dict[Origin, str | None]:
        """For sources that are logs in text: the digest of their first entry when they were last read."""
        return {
            source.origin: read.file_begins
            for source in sources
            if is_text(source.kind) and (read := self._by_name(source).get(source.name))
        }

    def rezoned(self, sources: Iterable[Source]) -> set[Log]:
        """The logs whose time zone is another one now than when a file of them was last read."""
        return {
            source.log
            for source in sources
            if is_text(source.kind)
            and (zone := self.zone(source)) is not None
            and not are_alike(zone, source.timezone)
        }

    def zone(self, source: Source) -> str | None:
        """The time zone in which a log was last read; None if it was not, or by an earlier release."""
        read = self._by_name(source).get(source.name)
        return read.timezone if read else None

    def resume(self, source: Source, plan: Plan) -> None:
        """Add to ``plan`` the new part of ``source``: nothing, the bytes added since, or the whole file.

        Reading of a renamed file continues under its new name; but a file that is replaced in place is read
        whole under a new name. Raises OSError if the file cannot be read.
        """
        source = planned(source)
        size = source.end
        by_name = self._by_name(source)
        under_this_name = by_name.get(source.name)
        others = () if source.in_place else (each for each in by_name.values() if _may_be(source, each))
        read = _find(source, size, [*([under_this_name] if under_this_name else ()), *others])
        if source.topic_id is None and read is not None:
            source = replace(source, topic_id=read.topic_id or None)
        if source.topic is not None:
            plan.of_partitions.append(source)
        if size == 0 and under_this_name and under_this_name.size == 0:
            return
        if read is None or (source.in_place and read.size != size):
            plan.sources.append(source)
            return
        if source.topic_id is not None and read.topic_id not in {None, source.topic_id}:
            # partition.metadata came late, or the folder of the topic's next incarnation has a file like it
            plan.sources.append(source)
            if read.topic_id == "" or source.kind == SEGMENT:
                plan.misnamed.add((source.cluster, source.topic, source.partition, read.topic_id or None))
                plan.to_read_again.add(source.origin)
            return
        renamed = read.file != source.name
        before = replace(source, file=read.file.removeprefix(named_on(source.host, "")))
        if renamed and (before.origin in plan.copies or not still_holds(before, read)):
            source = replace(source, moved_from=read.file)
        if read.size != size:
            header = last_header(read.head_digest) if source.is_headers_only else 0
            plan.sources.append(replace(source, start=read.consumed_to, last_header=header))
        elif renamed:
            plan.renamed.append((source, read))

    def _by_name(self, source: Source) -> dict[str, ReadProgress]:
        family = _family(source.kind, source.name)
        return self._read.get((source.cluster, source.broker_id, source.kind, family), {})


def planned(source: Source) -> Source:
    """The source with all bytes that its file has now. Raises OSError if the file cannot be read."""
    return replace(source, end=size_of(source.file), file_begins=_begins(source))


def unread_note(source: Source, run_id: str, now: datetime, zone: str | None = None) -> tuple[object, ...]:
    """A row of FILES for a source of which nothing was read; ``zone``: of a log in text."""
    values = {
        **dict.fromkeys(FILES.columns),
        **dict(zip(ORIGIN, source.origin, strict=True)),
        **{"head_digest": "", "size": -1, "consumed_to": 0, "entries": 0, "skipped": 0},
        **{"topic_id": None if source.topic is None else source.topic_id or "", "timezone": zone},
        **{"run_id": run_id, "captured_at": now},
    }
    return tuple(values[name] for name in FILES.columns)


def _values(rows: pa.Table) -> list[list[Any]]:
    return [column.to_pylist() for column in rows.columns]


def _begins(source: Source) -> str | None:
    return final_first_entry_digest(source.file) if is_text(source.kind) else None


def _find(source: Source, size: int, candidates: Iterable[ReadProgress]) -> ReadProgress | None:
    # unbuffered, so that only the requested bytes are read
    with opened_exactly(source.file) as file:
        return next((read for read in candidates if _begins_with(source, file, size, read)), None)


def _may_be(source: Source, read: ReadProgress) -> bool:
    """Whether a file may be one that had another name. A folder of logs in text was read under thousands of
    names in a year, and their first entries tell them apart without opening the file for each.
    """
    return None in (source.file_begins, read.file_begins) or source.file_begins == read.file_begins


def still_holds(source: Source, read: ReadProgress) -> bool:
    """Whether ``source.file`` is still the file of ``read``: not renamed, rotated or written anew since."""
    try:
        size = size_of(source.file)
        return read.consumed_to == 0 or _find(source, size, [read]) is not None
    except OSError:
        return False


def _begins_with(source: Source, file: BinaryIO, size: int, read: ReadProgress) -> bool:
    if is_text(source.kind) and is_compressed(file):
        # a compressed file is identified by all of its bytes
        return read.size == size and head_digest(file, size) == read.head_digest
    if not 0 < read.consumed_to <= size:
        return False
    if source.is_headers_only:
        last = last_header(read.head_digest)
        return headers_digest(file, read.consumed_to, last) == read.head_digest
    return head_digest(file, read.consumed_to) == read.head_digest


def _family(kind: str, file: str) -> tuple[str, str]:
    """A key that does not change when a file is renamed.

    Rotation keeps the folder of a log in text. The deletion of a topic, or of a segment, keeps the partition
    and the first offset of its files.
    """
    folder, _, name = file.rpartition("/")
    if is_text(kind):
        return folder, ""
    partition = folder.rpartition("/")[2]
    match = _OF_PARTITION.fullmatch(partition)
    return match["partition"] if match else partition, name[:20]
