"""What is known of the batches of partitions' logs, in few rows.

Of batches of one leader epoch that follow one another three rows are enough: the first, the last, and one
that stands for all between. They show the same runs, epochs, holes and losses as the whole log. Where batches
are read of which something is known already, those that were read count.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fencepost.protocols.leader_epoch.tables import KNOWN_BATCHES
from fencepost.replay.logs import UNKNOWN, Longs, longs

LOG_APPEND_TIME, CONTROL = 8, 32
"""The bits of a batch's attributes that are set if the broker, not the client, dated the batch, and if its
records are markers.
"""

_SCHEMA = KNOWN_BATCHES.arrow_schema
READ = tuple(name for name in _SCHEMA.names if name != "batches")
"""The columns of ``bronze.batches`` that are kept."""
Flags = NDArray[np.bool_]


def as_known(batches: pa.Table) -> pa.Table:
    """Rows of ``bronze.batches`` (READ) as rows of KNOWN_BATCHES."""
    one = pa.repeat(pa.scalar(1, pa.int64()), batches.num_rows)
    return batches.append_column("batches", one).select(_SCHEMA.names).cast(_SCHEMA)


def with_read(before: pa.Table, batches: pa.Table) -> pa.Table:
    """The batches of one log: those that were known ``before``, and those read (both rows of KNOWN_BATCHES).

    Where both have the same batch, the one that was read counts. From the first batch read on, the log may
    have been truncated and written anew since, so a row that stands for batches on both sides of that offset
    is cut there.
    """
    if not batches.num_rows:
        return before
    read = _Read(batches)
    above = pc.greater_equal(before["last_offset"], read.begin)
    kept = [row for known in before.filter(above).to_pylist() for row in read.rest_of(known)]
    rest = pa.Table.from_pylist(kept, schema=_SCHEMA)
    return pa.concat_tables([before.filter(pc.invert(above)), rest, batches])


class _Read:
    """Batches of one log that were read."""

    def __init__(self, batches: pa.Table) -> None:
        self._base, self._last = longs(batches["base_offset"]), longs(batches["last_offset"])
        self._epoch = longs(batches["leader_epoch"])
        self.begin = int(self._base.min())

    def rest_of(self, known: dict[str, object]) -> Iterator[dict[str, object]]:
        """The pieces to keep of a row that goes on behind the first batch read."""
        base, last, batches = (known[name] for name in ("base_offset", "last_offset", "batches"))
        assert isinstance(base, int)
        assert isinstance(last, int)
        assert batches is None or isinstance(batches, int)
        # one batch is never cut: a truncation removes all of it, or nothing
        cut = base if batches == 1 else max(base, self.begin)
        inside = (self._epoch == known["leader_epoch"]) & (self._base >= cut) & (self._last <= last)
        offsets = int((self._last[inside] - self._base[inside] + 1).sum())
        others = None if batches is None else batches - int(inside.sum())
        is_read = offsets == last - cut + 1
        if base < cut:
            # it is not known when the newest batch of this piece was written; if the other piece was not
            # read, neither is the number of batches here, nor whether one ends just here
            piece: dict[str, object] = {"batches": others} if is_read else {"batches": None, "file": ""}
            yield {**known, "last_offset": cut - 1, "attributes": 0, **piece}
        if not is_read:
            yield {**known, "base_offset": cut, "batches": others if base == cut else None}


def summed_up(batches: pa.Table, survived: Flags, *, by_file: bool) -> pa.Table:
    """Rows of KNOWN_BATCHES of one log; of batches that follow one another, at most three remain.

    ``survived``: the batches that no later leader epoch overwrote. ``by_file``: batches of two files are
    never merged.
    """
    base, last = longs(batches["base_offset"]), longs(batches["last_offset"])
    epoch = longs(batches["leader_epoch"])
    order = np.lexsort((last, base, survived, epoch))
    begins = np.ones(len(order), dtype=np.bool_)
    one, other = order[:-1], order[1:]
    # where an epoch begins, keep the rows on both sides: PartitionLog.begins_exactly needs them
    place, starts = (
        _places(batches, by_file=by_file),
        [base[epoch == each].min() for each in np.unique(epoch)],
    )
    begins[1:] = (
        (epoch[one] != epoch[other])
        | (survived[one] != survived[other])
        | (last[one] + 1 != base[other])
        | (place[one] != place[other])
        | np.isin(base[other], starts)
    )
    first = np.flatnonzero(begins)
    end = np.append(first[1:], len(order))
    many = end - first > 3
    alone = np.ones(len(order), dtype=np.bool_)
    for begin, behind in zip(first[many], end[many], strict=True):
        alone[begin + 1 : behind - 1] = False
    rows = [batches.take(pa.array(order[alone]))]
    if many.any():
        rows.append(_between(batches, order, first[many] + 1, end[many] - 1))
    return pa.concat_tables(rows)


def _places(batches: pa.Table, *, by_file: bool) -> Longs:
    """A number for each replica's folder, or each of its files, that batches were read from."""
    files = batches["file"]
    named = files if by_file else pc.replace_substring_regex(files, r"[^/]*$", "")
    broker = batches["broker_id"].cast(pa.string())
    places = pc.binary_join_element_wise(broker, named, "/").combine_chunks().dictionary_encode()
    return longs(places.indices.cast(pa.int64()))


def _between(batches: pa.Table, order: Longs, begins: Longs, ends: Longs) -> pa.Table:
    """One row for each piece of batches: ``begins`` and ``ends`` are indexes into ``order``."""
    span = np.stack([begins, ends], axis=1).reshape(-1)
    in_order = batches.take(pa.array(order))
    ms, counts = longs(in_order["max_timestamp_ms"]), pc.fill_null(in_order["batches"], UNKNOWN)
    dated = longs(in_order["attributes"]) & LOG_APPEND_TIME != 0
    newest = _reduce(np.maximum, ms, span)
    newest_dated = _reduce(np.maximum, np.where(dated, ms, UNKNOWN), span)
    known = _reduce(np.minimum, longs(counts), span) >= 0
    sums = {name: _reduce(np.add, longs(in_order[name]), span) for name in ("record_count", "size")}
    computed = {
        "last_offset": pa.array(_reduce(np.maximum, longs(in_order["last_offset"]), span)),
        "attributes": pa.array(np.where(newest_dated == UNKNOWN, 0, LOG_APPEND_TIME)),
        "max_timestamp_ms": pa.array(np.where(newest_dated == UNKNOWN, newest, newest_dated)),
        **{name: pa.array(values) for name, values in sums.items()},
        "batches": pa.array(_reduce(np.add, longs(counts), span), mask=~known),
    }
    rows = in_order.take(pa.array(begins))
    columns = [computed.get(name, rows[name]) for name in _SCHEMA.names]
    return pa.table(columns, names=_SCHEMA.names).cast(_SCHEMA)


def _reduce(reduction: np.ufunc, values: Longs, span: Longs) -> Longs:
    """The reduction of each piece; ``span`` has the begin and the end of each piece in turn."""
    # reduceat also reduces what lies between the pieces; a begin behind the last value is none
    padded = np.append(values, values[-1:])
    reduced: Longs = reduction.reduceat(padded, span)[::2]
    return reduced
