"""Replays entities in tasks: all rows of an entity are in one of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from zlib import crc32

import numpy as np
import pyarrow as pa

from fencepost.engines import Replay
from fencepost.engines.entities import by_entity
from fencepost.engines.outputs import Output, Place, Staging, closed
from fencepost.engines.parts import Part, Rows
from fencepost.engines.piece_files import PieceBuffer
from fencepost.formats.arrow_stream import read, written

SHUFFLED_BYTES = 64 << 20
"""So many bytes of rows wait in a task, for all buckets together, before they are sent to their buckets."""

Shuffled = tuple[str, bytes]
"""Some rows on their way to their bucket: the name of the evidence, and the rows."""


def replay_all(
    evidence: dict[str, list[Rows]], replay: Replay, places: Mapping[str, Place]
) -> dict[str, Output]:
    """Replay each entity of this evidence, of which none has rows elsewhere."""
    staged = {name: Staging(place) for name, place in places.items()}
    for entity, own in by_entity(evidence):
        steps = replay(entity, own)
        # the replay frees rows when it needs them no more
        del own
        for table, made in steps:
            staged[table.name].add(made if isinstance(made, pa.Table) else pa.Table.from_batches([made]))
    return closed(staged)


def gathered(values: Iterator[Shuffled], schemas: Mapping[str, pa.Schema]) -> dict[str, list[Rows]]:
    """The evidence of a bucket."""
    buffer = PieceBuffer(schemas)
    for name, rows in values:
        buffer.add(name, read(rows))
    return {name: [each] for name, each in buffer.rows().items()}


def into_buckets(parts: Sequence[tuple[str, Part]], buckets: int) -> Iterator[tuple[int, Shuffled]]:
    """The rows of parts, each with its name, in pieces with the bucket of their entities; rows without an
    entity are left out.
    """
    waiting: defaultdict[tuple[int, str], list[pa.Table]] = defaultdict(list)
    size = 0
    for name, part in parts:
        for piece in part.pieces():
            for bucket, rows in _by_bucket(piece, buckets):
                waiting[bucket, name].append(rows)
            size += piece.nbytes
            if size >= SHUFFLED_BYTES:
                yield from _sent(waiting)
                size = 0
    yield from _sent(waiting)


def _sent(waiting: dict[tuple[int, str], list[pa.Table]]) -> Iterator[tuple[int, Shuffled]]:
    """The rows that wait, which then wait no more."""
    while waiting:
        (bucket, name), rows = waiting.popitem()
        yield bucket, (name, _packed(rows))


def _packed(rows: Sequence[pa.Table]) -> bytes:
    return written(pa.concat_tables(rows).combine_chunks())


def _by_bucket(rows: pa.Table, buckets: int) -> Iterator[tuple[int, pa.Table]]:
    coded = rows["entity"].combine_chunks().dictionary_encode()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.combine_chunks()
    of_code = np.array([crc32(name.encode()) % buckets for name in coded.dictionary.to_pylist()], np.int64)
    codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    bucket = np.where(codes < 0, -1, of_code[codes] if len(of_code) else -1)
    for each in np.unique(bucket):
        if each >= 0:
            places = np.flatnonzero(bucket == each)
            yield int(each), rows if len(places) == rows.num_rows else rows.take(pa.array(places))
