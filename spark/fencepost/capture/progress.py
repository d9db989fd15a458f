"""How far every file had been read by the runs before, from the append-only table ``bronze.files``."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, BinaryIO

import pyarrow as pa
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.capture.digests import head_digest, headers_digest, last_header
from fencepost.capture.files import opened_exactly
from fencepost.capture.files import size as size_of
from fencepost.capture.plan import SEGMENT, Origin, Plan, ReadProgress, Source, is_compressed, is_text
from fencepost.tables import FILES

_OF_PARTITION = re.compile(r"(?P<partition>.+-\d+)(\.[0-9a-f]{32}-\w+)?")
_ORIGIN = ("cluster", "broker_id", "kind", "file")
_READ = ("head_digest", "size", "consumed_to", "file_begins", "topic_id")


class Progress:
    """The newest row of every file: it says where reading goes on."""

    def __init__(self, catalog: Catalog) -> None:
        rows = lake.scan(catalog, FILES, (*_ORIGIN, *_READ, "captured_at")).sort_by("captured_at")
        # the last one of each file stays
        newest = {row[: len(_ORIGIN)]: row[len(_ORIGIN) : -1] for row in zip(*_values(rows), strict=True)}
        # all that a file may have been called: few, however many files there are
        self._read: dict[tuple[str, int | None, str, tuple[str, str]], dict[str, ReadProgress]] = defaultdict(
            dict
        )
        for (cluster, broker_id, kind, file), last in newest.items():
            self._read[cluster, broker_id, kind, _family(kind, file)][file] = ReadProgress(file, *last)

    def begins(self, sources: Iterable[Source]) -> dict[Origin, str | None]:
        """How those of them that are logs in text began when they were read last."""
        return {
            source.origin: read.file_begins
            for source in sources
            if is_text(source.kind) and (read := self._known(source).get(source.file))
        }

    def resume(self, source: Source, plan: Plan) -> None:
        """Put into ``plan`` what is new of ``source``: nothing, what was added since, or all of it.

        A file that was renamed goes on under its new name; one that is replaced in place is new under each.
        Raises OSError when the file cannot be read.
        """
        size = size_of(source.file)
        source = replace(source, end=size)
        known = self._known(source)
        own = known.get(source.file)
        others = () if source.in_place else known.values()
        read = _find(source, size, [*([own] if own else ()), *others])
        if source.topic_id is None and read is not None:
            source = replace(source, topic_id=read.topic_id or None)
        if source.topic is not None:
            plan.of_partitions.append(source)
        if size == 0 and own and own.size == 0:
            return
        if read is None or (source.in_place and read.size != size):
            plan.sources.append(source)
            return
        if source.topic_id is not None and read.topic_id not in {None, source.topic_id}:
            # its folder's id came late; or the folder of the topic's next incarnation has a file like it
            plan.sources.append(source)
            if read.topic_id == "" or source.kind == SEGMENT:
                plan.misnamed.add((source.cluster, source.topic, source.partition, read.topic_id or None))
                plan.renewed.add(source.origin)
            return
        renamed = read.file != source.file
        before = replace(source, file=read.file)
        if renamed and (before.origin in plan.copies or not still_holds(before, read)):
            source = replace(source, moved_from=read.file)
        if read.size != size:
            header = last_header(read.head_digest) if source.is_headers_only else 0
            plan.sources.append(replace(source, start=read.consumed_to, last_header=header))
        elif renamed:
            plan.known.append((source, read))

    def _known(self, source: Source) -> dict[str, ReadProgress]:
        family = _family(source.kind, source.file)
        return self._read.get((source.cluster, source.broker_id, source.kind, family), {})


def _values(rows: pa.Table) -> list[list[Any]]:
    return [column.to_pylist() for column in rows.columns]


def _find(source: Source, size: int, known: Iterable[ReadProgress]) -> ReadProgress | None:
    # unbuffered: nothing is read but what is asked for
    with opened_exactly(source.file) as file:
        return next((read for read in known if _begins_with(source, file, size, read)), None)


def still_holds(source: Source, read: ReadProgress) -> bool:
    """Whether ``source.file`` is what ``read`` says of it: not renamed, rotated or written anew since."""
    try:
        size = size_of(source.file)
        return read.consumed_to == 0 or _find(source, size, [read]) is not None
    except OSError:
        return False


def _begins_with(source: Source, file: BinaryIO, size: int, read: ReadProgress) -> bool:
    if is_text(source.kind) and is_compressed(file):
        # what a compressed file holds is known by all of its bytes, or not at all
        return read.size == size and head_digest(file, size) == read.head_digest
    if not 0 < read.consumed_to <= size:
        return False
    if source.is_headers_only:
        last = last_header(read.head_digest)
        return headers_digest(file.fileno(), read.consumed_to, last) == read.head_digest
    return head_digest(file, read.consumed_to) == read.head_digest


def _family(kind: str, file: str) -> tuple[str, str]:
    """What stays when a file is renamed: rotation keeps the folder of a log in text.

    The deletion of a topic, or of a segment, keeps the partition and the first offset of its files.
    """
    folder, _, name = file.rpartition("/")
    if is_text(kind):
        return folder, ""
    partition = folder.rpartition("/")[2]
    found = _OF_PARTITION.fullmatch(partition)
    return found["partition"] if found else partition, name[:20]
