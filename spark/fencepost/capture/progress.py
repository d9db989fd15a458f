"""How far every file had been read by the runs before, from the append-only table ``bronze.files``."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from fencepost.capture.plan import Plan, Read, Source, head_digest, is_compressed
from fencepost.lake import FILES


class Progress:
    """The newest row of every file, to be asked where to go on."""

    def __init__(self, spark: SparkSession) -> None:
        newest = (
            spark.table(FILES.name)
            .groupBy("cluster", "broker_id", "kind", "file")
            .agg(F.max_by(F.struct("head_digest", "size", "consumed_to"), "captured_at").alias("last"))
            .select("cluster", "broker_id", "kind", "file", "last.*")
        )
        self._read: dict[tuple[str, int, str], dict[str, Read]] = defaultdict(dict)
        for row in newest.toLocalIterator():
            read = Read(row.file, row.head_digest, row["size"], row.consumed_to)
            self._read[(row.cluster, row.broker_id, row.kind)][row.file] = read

    def resume(self, source: Source, plan: Plan) -> None:
        """Put into ``plan`` what is new of ``source``: nothing, what was added since, or all of it.

        A file that was renamed goes on under its new name. Raises OSError when the file cannot be read.
        """
        size = Path(source.file).stat().st_size
        source = replace(source, end=size)
        read = self._find(source, size)
        if read is None:
            plan.sources.append(source)
            return
        renamed = read.file != source.file
        if renamed and not _still_there(read):
            source = replace(source, moved_from=read.file)
        if read.size != size:
            plan.sources.append(replace(source, start=read.consumed_to))
        elif renamed:
            plan.known.append((source, read))

    def _find(self, source: Source, size: int) -> Read | None:
        known = self._read[(source.cluster, source.broker_id, source.kind)]
        own = known.get(source.file)
        others = (read for read in known.values() if _may_be_renamed(read.file, source.file))
        with Path(source.file).open("rb") as file:
            return next((read for read in (own, *others) if read and _begins_with(file, size, read)), None)


def _begins_with(file: BinaryIO, size: int, read: Read) -> bool:
    if is_compressed(file):
        # what a compressed file holds is known by all of its bytes, or not at all
        return read.size == size and head_digest(file, size) == read.head_digest
    return 0 < read.consumed_to <= size and head_digest(file, read.consumed_to) == read.head_digest


def _still_there(read: Read) -> bool:
    """Whether the old path still holds what was read, so that the new one is a copy."""
    try:
        with Path(read.file).open("rb") as file:
            return _begins_with(file, Path(read.file).stat().st_size, read)
    except OSError:
        return False


def _may_be_renamed(old: str, new: str) -> bool:
    """Rotation keeps the folder of a file, the deletion of a topic keeps its name."""
    before, now = Path(old), Path(new)
    return before != now and (before.parent == now.parent or before.name == now.name)
